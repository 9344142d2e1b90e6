//! The command line's declarations: every command and option once, with its sentence.

mod fault;

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use tilewright::diag::{Diagnostic, Result};
use tilewright::kernels::{Config, Family, Problem, family};
use tilewright::{PEERS_HERE, Session, Settings, memory};

/// The workbench of an accelerator kernel engineer: write a kernel once, prove it right, make it fast.
#[derive(Parser, Debug)]
#[command(name = "tilewright", version, disable_help_subcommand = true, arg_required_else_help = true)]
#[command(
    after_help = "Start with `tilewright tour`. Exit status: 0 held, 1 a verdict failed, 2 the request was wrong, 3 a tool is missing."
)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Print one JSON object on standard output: stable keys, SI units.
    #[arg(long, global = true)]
    pub json: bool,
    /// The store of results [default: $TILEWRIGHT_STORE, else in the user's data folder].
    #[arg(long, global = true, value_name = "FILE")]
    pub store: Option<String>,
    /// Threads that run kernels, at most 1024 [default: all cores].
    #[arg(long, global = true, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// The CPU to make code for: `native`, or `baseline`, `avx2`, `avx512` and extensions (`avx512,bf16,vnni`).
    #[arg(long, global = true, value_name = "LIST")]
    pub cpu_features: Option<String>,
    /// How to cut the kernel up, instead of the tuned config: `bm=64,bn=128`.
    #[arg(long, global = true, value_name = "NAME=N,…", value_parser = config)]
    pub config: Option<Config>,
    /// Decides inputs and orders; the same seed gives the same run.
    #[arg(long, global = true, value_name = "N", allow_negative_numbers = true, default_value_t = 1)]
    pub seed: u64,
    /// No progress and no remarks on standard error; warnings stay.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Kernel families, their problems and targets; with a name, that family's in full.
    Kernels(KernelsArgs),
    /// This machine, its measured ceilings, and which toolchains are present.
    Targets(TargetsArgs),
    /// A kernel at one stage of its way to machine code.
    Show(ShowArgs),
    /// A kernel against its reference, on adversarial inputs, within derived bounds.
    Check(CheckArgs),
    /// A kernel's time beside its peers', against this machine's ceilings.
    Bench(BenchArgs),
    /// The fastest config of a kernel that is right, kept for the next time.
    Tune(TuneArgs),
    /// What a TPU program's machine code will do, and what holds it back; needs no TPU.
    Explain(ExplainArgs),
    /// Installs a vendor's compiler for you, after saying whose it is.
    Setup(SetupArgs),
    /// The five-minute walk through all of it.
    Tour,
    /// A job of this program's own in a process of its own.
    #[command(hide = true)]
    Worker {
        /// Which.
        #[arg(value_enum)]
        job: WorkerJob,
    },
}

/// The jobs of `worker`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorkerJob {
    /// Candidates of a tuning run.
    Tune,
    /// A compilation by the TPU compiler.
    Tpu,
}

/// A problem of a kernel family on a target.
#[derive(Args, Clone, Debug)]
pub struct ProblemArgs {
    /// The kernel family; `tilewright kernels` lists them.
    #[arg(value_name = "KERNEL")]
    pub kernel: String,
    /// The problem: sizes and choices such as `m=512 dtype=bf16`; `tilewright kernels KERNEL` lists them.
    #[arg(value_name = "NAME=VALUE")]
    pub words: Vec<String>,
    /// The machine to make code for.
    #[arg(long, value_name = "TARGET", default_value = "cpu")]
    pub target: String,
}

/// `kernels`.
#[derive(Args, Debug)]
pub struct KernelsArgs {
    /// One family.
    #[arg(value_name = "KERNEL")]
    pub kernel: Option<String>,
}

/// `targets`.
#[derive(Args, Debug)]
pub struct TargetsArgs {
    /// Measure the ceilings anew.
    #[arg(long)]
    pub remeasure: bool,
}

/// `show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// Which problem.
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// How far on its way.
    #[arg(long, value_enum, default_value_t = Stage::Ir)]
    pub stage: Stage,
    /// End each op of the IR with the source line that it was written on.
    #[arg(long)]
    pub locations: bool,
    /// Say on standard error how long each pass took.
    #[arg(long)]
    pub time_passes: bool,
}

/// `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Which problem; the target `interp` checks the source in the interpreter, without a compiler.
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// Real data for an operand, in a case of its own: NAME=FILE.safetensors:TENSOR or NAME=FILE.npy. May be repeated.
    #[arg(long, value_name = "NAME=FILE:TENSOR")]
    pub input: Vec<String>,
    /// No case begins after this time: `20s`, `2m`, `500ms`.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration)]
    pub budget: Duration,
    /// Also hold that a row's result does not depend on the other rows, bit for bit.
    #[arg(long)]
    pub batch_invariant: bool,
}

/// `bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Which problem.
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// Peers to race in the same run: openblas, onednn, gemm, torch, jax; `all` or `none`.
    #[arg(long, value_name = "PEER,…", value_delimiter = ',', default_values = PEERS_HERE)]
    pub vs: Vec<String>,
    /// Time for all contestants together.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub budget: Duration,
    /// Take only configs whose rows are known not to depend on each other.
    #[arg(long)]
    pub batch_invariant: bool,
}

/// `tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// Which problem.
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// No candidate begins after this time: `60s`, `5m`.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub budget: Duration,
    /// Keep only configs by which a row's result does not depend on the other rows, bit for bit.
    #[arg(long)]
    pub batch_invariant: bool,
}

/// `explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A StableHLO file, as `jax.jit(f).lower(…).as_text()` gives it, or a folder that libtpu printed its dumps into.
    #[arg(value_name = "FILE.mlir|DUMP-FOLDER")]
    pub program: String,
    /// The chips: tpu-v5e, tpu-v5p, tpu-v6e, tpu7x.
    #[arg(long, value_name = "TARGET,…", value_delimiter = ',', default_value = "tpu-v5e,tpu-v6e,tpu7x")]
    pub target: Vec<String>,
    /// How many chips, as `4x4` or `v5e:4x4` [default: the smallest that fits the program's partitions].
    #[arg(long, value_name = "SHAPE")]
    pub topology: Option<String>,
    /// How time is modelled: physically, or as the compiler's own estimator does.
    #[arg(long, value_enum, default_value_t = ModelChoice::Calibrated)]
    pub model: ModelChoice,
    /// Ops to show.
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub top: usize,
    /// Show the hottest bundles of an op: how often each ran and what it waited for.
    #[arg(long, value_name = "OP")]
    pub listing: Option<String>,
    /// Values that an op is given when the program runs (sizes, tables), by the number of the op's operand; may be repeated.
    #[arg(long, value_name = "OP:OPERAND=N,…")]
    pub scalars: Vec<String>,
    /// The longest that the compiler may take for a target.
    #[arg(long, value_name = "TIME", default_value = "300s", value_parser = duration)]
    pub limit: Duration,
}

/// Timing models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelChoice {
    /// One memory that all transfers share, real delay slots.
    Calibrated,
    /// The assumptions of the compiler's own estimator.
    Vendor,
}

/// `setup`.
#[derive(Args, Debug)]
pub struct SetupArgs {
    /// Which.
    #[arg(value_enum, value_name = "TOOLCHAIN")]
    pub toolchain: Toolchain,
}

/// Toolchains that are other people's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Toolchain {
    /// Google's TPU compiler, libtpu: needs no TPU.
    Tpu,
}

/// Where a kernel stands on its way to machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// The Rust source of its family.
    Source,
    /// The tile IR of this problem and config.
    Ir,
    /// The target's text before its compiler: LLVM IR for `cpu`.
    Lowered,
    /// The compiled object: its entries, what a launch needs, where it is kept.
    Code,
    /// The compiler's assembly.
    Asm,
}

impl Stage {
    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Source => "source",
            Stage::Ir => "ir",
            Stage::Lowered => "lowered",
            Stage::Code => "code",
            Stage::Asm => "asm",
        }
    }
}

/// The targets of this version.
pub const TARGETS: [&str; 1] = ["cpu"];

impl Global {
    /// The session that these options ask for.
    ///
    /// # Errors
    /// Those of [`Session::new`].
    pub fn session(&self, batch_invariant: bool) -> Result<Session> {
        Session::new(Settings {
            store: self.store.clone(),
            threads: self.threads.map_or(0, usize::from),
            features: self.cpu_features.clone(),
            config: self.config.clone(),
            batch_invariant,
        })
    }
}

impl ProblemArgs {
    /// The family and the problem, once the target is one of ours.
    ///
    /// # Errors
    /// `kernel/unknown`, `cli/unknown-target`, and those of [`Problem::parse`], [`Family::validate`] and
    /// [`memory::plausible`].
    pub fn resolve(&self) -> Result<(&'static dyn Family, Problem)> {
        self.resolve_with(&[])
    }

    /// As [`ProblemArgs::resolve`], where the target may also be one of `others`.
    pub fn resolve_with(&self, others: &[&'static str]) -> Result<(&'static dyn Family, Problem)> {
        let family = family(&self.kernel)?;
        let known = || TARGETS.into_iter().chain(others.iter().copied());
        if !known().any(|t| t == self.target) {
            let d = Diagnostic::unknown("cli/unknown-target", "target", &self.target, known());
            let other = ["tpu", "sm_"].iter().any(|t| self.target.starts_with(t));
            return Err(if other { d.note("this version compiles for the CPU only") } else { d });
        }
        let problem = Problem::parse(family.name(), family.keys(), &self.words)?;
        family.validate(&problem)?;
        memory::plausible(family.work(&problem), &tilewright::brief(family, &problem))?;
        Ok((family, problem))
    }
}

/// What the words on the command line ask for.
pub enum Request {
    /// A command.
    Run(Box<Cli>),
    /// Help or the version, to be printed.
    Print(String),
}

/// Reads the command line.
///
/// # Errors
/// One diagnostic of class request, `cli/…`, that names the nearest known option, command or value.
pub fn parse(words: Vec<OsString>) -> Result<Request> {
    match Cli::try_parse_from(&words) {
        Ok(cli) => Ok(Request::Run(Box::new(cli))),
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            Ok(Request::Print(e.render().to_string()))
        }
        Err(e) => Err(fault::explain(&e, &words)),
    }
}

/// Whether a fault is to be told in JSON: also asked where the command line itself is the fault.
pub fn asks_for_json(words: &[OsString]) -> bool {
    words.iter().skip(1).take_while(|w| *w != "--").any(|w| w == OsStr::new("--json"))
}

/// `20s`, `2m`, `500ms`, `1h`; a bare number is seconds.
fn duration(text: &str) -> std::result::Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("a time is a number and `ms`, `s`, `m` or `h`".to_string()),
    };
    let seconds = digits.parse::<f64>().map_err(|_| format!("`{digits}` is no number"))? * unit;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|d| *d <= Duration::from_secs(7 * 86_400))
        .ok_or_else(|| "a time lies between 0 and a week".to_string())
}

fn config(text: &str) -> std::result::Result<Config, String> {
    Config::parse(text).map_err(|d| d.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use proptest::prelude::*;
    use tilewright::kernels::Kind;

    #[test]
    fn the_declarations_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_are_read() {
        for (text, seconds) in [("20s", 20.0), ("1.5", 1.5), ("500ms", 0.5), ("2m", 120.0), ("1h", 3600.0)] {
            assert_eq!(duration(text).unwrap().as_secs_f64(), seconds, "{text}");
        }
        for text in ["", "s", "-1s", "1e400", "nan", "5 days", "999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    /// A word that might stand on a command line: mostly what is known, bent a little.
    fn word() -> impl Strategy<Value = String> {
        let known = |words: &'static [&'static str]| proptest::sample::select(words).prop_map(String::from);
        let numbers = known(&[
            "0",
            "1",
            "7",
            "64",
            "2147483647",
            "2147483648",
            "-1",
            "99999999999999999999",
            "1e3",
            "",
        ]);
        let names = known(&[
            "m", "n", "k", "batch", "rows", "cols", "dtype", "heads", "kv_heads", "q_len", "kv_len",
            "head_dim", "seq",
        ]);
        prop_oneof![
            (names, numbers).prop_map(|(n, v)| format!("{n}={v}")),
            known(&[
                "show",
                "check",
                "kernels",
                "matmul",
                "softmax",
                "attention",
                "decode_attention",
                "rotary"
            ]),
            known(&[
                "dtype=bf16",
                "epilogue=bias+gelu",
                "epilogue=bias++",
                "ta",
                "causal",
                "window=3",
                "eps=1e-5",
                "=",
                "=="
            ]),
            known(&[
                "--json",
                "--config",
                "bm=1",
                "--target",
                "cpu",
                "--stage",
                "ir",
                "--threads",
                "--",
                "-q",
                "--seed"
            ]),
            any::<String>(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn whatever_the_words_there_is_a_request_or_a_diagnostic(words in proptest::collection::vec(word(), 0..10)) {
            let all = std::iter::once("tilewright".to_string()).chain(words).map(OsString::from).collect();
            match parse(all) {
                Ok(Request::Run(cli)) => {
                    if let Command::Show(ShowArgs { problem, .. }) | Command::Check(CheckArgs { problem, .. }) = cli.command
                        && let Err(d) = problem.resolve()
                    {
                        prop_assert_eq!(d.class.exit_status(), 2, "{}", d);
                    }
                }
                Ok(Request::Print(text)) => prop_assert!(!text.is_empty()),
                Err(d) => prop_assert_eq!(d.class.exit_status(), 2, "{}", d),
            }
        }

        #[test]
        fn whatever_the_problem_it_resolves_or_says_why(
            kernel in proptest::sample::select(tilewright::kernels::families().iter().map(|f| f.name()).collect::<Vec<_>>()),
            sizes in proptest::collection::vec(prop_oneof![Just(1usize), 2..300usize, Just(2147483647)], 8),
        ) {
            let family = family(kernel).unwrap();
            let sized = family.keys().iter().filter(|k| matches!(k.kind, Kind::Dim(_))).zip(&sizes);
            let words = sized.map(|(k, size)| format!("{}={size}", k.name)).collect();
            let args = ProblemArgs { kernel: kernel.to_string(), words, target: "cpu".to_string() };
            match args.resolve() {
                Err(d) => prop_assert_eq!(d.class.exit_status(), 2, "{}", d),
                Ok((family, problem)) => {
                    let session = Session::new(Settings::default()).unwrap();
                    let config = family.default_config(&problem, &session.machine);
                    let built = family.build(&problem, &config).and_then(|p| tilewright::ir::verify_program(&p));
                    // Sizes near 2^31 may overflow the scalars that masks are made of; that is refused, in words.
                    let refusal = built.err().map(|d| d.class.exit_status());
                    prop_assert!(matches!(refusal, None | Some(2)), "{kernel} {problem} {config}");
                }
            }
        }
    }
}
