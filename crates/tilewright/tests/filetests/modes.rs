//! What the tests do with a file.

use std::fmt;

use tilewright_interp::{Domain, Options, run};
use tilewright_ir::{Program, Role, parse, print};
use tilewright_target_cpu::features::CpuFeatures;
use tilewright_target_cpu::lower;

use crate::file::{Case, File, program};
use crate::inputs::inputs;
use crate::{native, show};

/// A test that a file's header may name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Parses, prints, parses and prints: the second text is the first. Yields the text where it is not the file's.
    Parse,
    /// Parses and verifies. Yields the diagnostic.
    Verify,
    /// Runs in the interpreter with exact dtypes. Yields outputs and reports.
    Interp,
    /// Lowers for AVX2. Yields LLVM IR, or the diagnostic.
    Lower,
    /// Compiles and runs for each instruction set of this machine. Yields what lies outside the interpreter's bounds.
    Run,
}

impl Mode {
    /// Every mode, in the order of the sections in a file.
    pub const ALL: [Mode; 5] = [Mode::Parse, Mode::Verify, Mode::Interp, Mode::Lower, Mode::Run];

    /// Its name in headers and sections.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Parse => "parse",
            Mode::Verify => "verify",
            Mode::Interp => "interp",
            Mode::Lower => "lower(cpu)",
            Mode::Run => "run(cpu)",
        }
    }

    /// The mode of a name.
    pub fn parse(name: &str) -> Result<Mode, String> {
        Mode::ALL.into_iter().find(|m| m.name() == name).ok_or(format!("unknown test `{name}`"))
    }

    /// Whether its section may be taken from what it yields.
    pub fn can_bless(self) -> bool {
        self != Mode::Run
    }

    /// Why it cannot run here.
    pub fn missing_tool(self) -> Option<String> {
        if self == Mode::Run && tilewright_run::testing::clang_or_skip().is_none() {
            return Some("clang missing".to_string());
        }
        None
    }

    /// What the mode yields, or why the file is wrong however its sections read.
    pub fn run(self, file: &File) -> Result<String, String> {
        match self {
            Mode::Parse => file.of_cases("as it stands", |case| parsed(file, case)),
            Mode::Verify => {
                let fault = |case: &Case| parse(&case.text, &file.name).err().map(lines).unwrap_or_default();
                file.of_cases("accepted", |case| Ok(fault(case)))
            }
            Mode::Interp => file.of_cases("nothing", |case| interpreted(file, case)),
            Mode::Lower => file.of_cases("nothing", |case| lowered(file, case)),
            Mode::Run => native::in_child(file),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The verified program of a case.
pub fn verified(file: &File, case: &Case) -> Result<Program, String> {
    parse(&case.text, &file.name).map_err(|d| d.to_string())
}

fn parsed(file: &File, case: &Case) -> Result<String, String> {
    let text = print(&verified(file, case)?);
    let again =
        parse(&text, "printed").map_err(|d| format!("the printed text does not parse: {d}\n{text}"))?;
    if print(&again) != text {
        return Err(format!("printing what was printed gives another text:\n{text}\n{}", print(&again)));
    }
    let text = program(&text);
    Ok(if text == program(&case.text) { String::new() } else { text })
}

fn interpreted(file: &File, case: &Case) -> Result<String, String> {
    let program = verified(file, case)?;
    let outcome = match run(&program, &inputs(&program, case)?, Domain::Exact, &Options::default()) {
        Ok(outcome) => outcome,
        Err(d) => return Ok(lines(d)),
    };
    let mut text = String::new();
    for (name, values) in &outcome.outputs {
        text += &show::array(name, values, combines(&program, name))?;
    }
    for d in outcome.report {
        text += &lines(d);
    }
    Ok(text)
}

/// Whether several writes of one element of an output combine.
pub fn combines(program: &Program, name: &str) -> bool {
    let role = program.kernels.iter().find_map(|k| k.operand_named(name)).map(|(_, o)| &o.role);
    matches!(role, Some(Role::Output { combine: Some(_) }))
}

fn lowered(file: &File, case: &Case) -> Result<String, String> {
    let options = tilewright_target_cpu::Options::new(CpuFeatures::AVX2);
    Ok(lower(&verified(file, case)?, options).map_or_else(lines, |l| l.text))
}

fn lines(d: impl fmt::Display) -> String {
    format!("{d}\n")
}
