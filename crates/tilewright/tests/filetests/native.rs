//! `run(cpu)`: what compiled programs compute, held against the interpreter's bounds, between guards, in a child process.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use tilewright_check::{Cpu, Executor};
use tilewright_diag::Diagnostic;
use tilewright_dtype::Tensor;
use tilewright_interp::{Domain, Inputs, Options, Values, Verdict, run};
use tilewright_ir::Program;
use tilewright_run::isolate::{ChildOutcome, Isolated, serve};
use tilewright_target_cpu::features::CpuFeatures;

use crate::file::{Case, File};
use crate::inputs::inputs;
use crate::modes::{combines, verified};

/// The argument that makes this executable the child.
pub const CHILD_COMMAND: &str = "run-cpu-file";

/// No file may take longer.
const LIMIT: Duration = Duration::from_secs(120);
const THREADS: usize = 2;

const LEVELS: [CpuFeatures; 4] =
    [CpuFeatures::BASELINE, CpuFeatures::AVX2, CpuFeatures::AVX512, CpuFeatures::AVX512_BF16_VNNI];

/// Runs the file in a child process. Yields what failed; a crash or a hang is an error.
pub fn in_child(file: &File) -> Result<String, String> {
    match Isolated::new(&[CHILD_COMMAND, &file.name]).spawn(&json!(null), LIMIT).map_err(|d| d.to_string())? {
        ChildOutcome::Ok(answer) => {
            answer["failed"].as_str().map(str::to_string).ok_or(format!("answered {answer}"))
        }
        ChildOutcome::Crashed { status, stderr_tail } => Err(format!("crashed: {status}\n{stderr_tail}")),
        ChildOutcome::Hung => Err(format!("hung for {LIMIT:?}")),
        ChildOutcome::BadOutput(text) => Err(format!("answered `{text}`")),
    }
}

/// The child's side.
pub fn child(file: &File) -> ExitCode {
    let job = |_: Value| {
        let failed = file.of_cases("held", |case| case_on_all_levels(file, case)).unwrap_or_else(|e| e);
        Ok(json!({ "failed": failed }))
    };
    match serve(job) {
        Ok(()) => ExitCode::SUCCESS,
        Err(d) => {
            eprintln!("{d}");
            ExitCode::FAILURE
        }
    }
}

fn case_on_all_levels(file: &File, case: &Case) -> Result<String, String> {
    let program = verified(file, case)?;
    let inputs = inputs(&program, case)?;
    let mut failed = String::new();
    for features in LEVELS.into_iter().filter(|f| f.supported_by(CpuFeatures::detect())) {
        if let Err(e) = on_level(&program, &inputs, features) {
            failed += &format!("{features}: {e}\n");
        }
    }
    Ok(failed)
}

fn on_level(program: &Program, inputs: &Inputs, features: CpuFeatures) -> Result<(), String> {
    let fault = |d: Box<Diagnostic>| d.to_string();
    let cpu = Cpu::new(features, THREADS).map_err(fault)?;
    let domain = Domain::Bound(cpu.accuracy());
    let expected = run(program, inputs, domain, &Options::default()).map_err(fault)?;
    let ran = cpu.run(program, inputs).map_err(fault)?;
    if let Some(d) = ran.faults.first() {
        return Err(d.to_string());
    }
    for (name, values) in &expected.outputs {
        let mut before = Tensor::try_new(values.dtype, &values.shape).map_err(fault)?;
        before.fill_poison();
        judge(name, values, combines(program, name), &before, &ran.outputs[name])?;
    }
    Ok(())
}

fn judge(
    name: &str,
    expected: &Values,
    combines: bool,
    before: &Tensor,
    actual: &Tensor,
) -> Result<(), String> {
    // Where nothing is decided a test proves nothing.
    let mut decided = false;
    for i in 0..actual.len() {
        let x = actual.get(i);
        if !expected.written.iter().any(|r| r.contains(&i)) {
            let left = if combines { expected.v[i] } else { before.get(i) };
            if x != left && !(x.is_nan() && left.is_nan()) {
                return Err(format!("`{name}` element {i} is {x}, which no cell writes"));
            }
            decided = true;
            continue;
        }
        match expected.judge(i, x) {
            Verdict::Held => decided = true,
            Verdict::Undecided => {}
            Verdict::Failed => {
                return Err(format!(
                    "`{name}` element {i} is {x}, not {} within {}",
                    expected.v[i],
                    expected.bound(i)
                ));
            }
        }
    }
    if decided { Ok(()) } else { Err(format!("no element of `{name}` is decided: its bounds are infinite")) }
}
