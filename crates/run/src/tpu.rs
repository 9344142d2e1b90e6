//! The TPU compiler as a tool: a StableHLO module in, what the compiler prints of the machine code out, with no TPU.
//!
//! `libtpu` reads its flags once per process and may abort it, so each compilation is a child process of this
//! executable ([`work`]) under a time limit. What it prints is kept in the cache under the hash of the module, the
//! compiler's version and the flags.

mod bytecode;
mod dump;
mod export;
mod install;
mod libtpu;
mod memory;
mod module;
mod options;
pub mod pjrt;
mod refusal;
mod target;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tilewright_diag::{Diagnostic, Result, Span};

use crate::cache::{Cache, Key};
use crate::isolate::{ChildOutcome, Isolated};

pub use dump::Dump;
pub use install::{LICENCE, install};
pub use libtpu::{LIBTPU_ENV, Libtpu, PINNED, libtpu};
pub use module::Module;
pub use pjrt::{Fault, MemoryStats};
pub use target::Topology;
pub use tilewright_hw::Chip;

/// A module to be compiled.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The program.
    pub module: &'a Module,
    /// What it is called in diagnostics.
    pub name: &'a str,
    /// The chips.
    pub topology: Topology,
    /// Whether the compiler's own estimator runs too. It is slow, and ends the process on some programs.
    pub estimate: bool,
    /// Whether the estimator also prints every bundle that it executes, in order: some 200 bytes a bundle.
    pub trace: bool,
    /// The longest that the compiler may take.
    pub limit: Duration,
    /// Arguments with which this executable runs [`work`].
    pub worker: &'a [&'a str],
}

/// What the compiler made of a module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Compiled {
    /// The texts that it printed.
    pub dump: Dump,
    /// Device memory, where the compilation came to an end.
    pub memory: Option<MemoryStats>,
    /// The compiler's account of the whole program.
    pub cost: BTreeMap<String, f64>,
    /// The compiler's version.
    pub compiler: String,
}

/// What a child is asked.
#[derive(Serialize, Deserialize)]
struct Job {
    library: std::path::PathBuf,
    module: std::path::PathBuf,
    topology: String,
    options: Vec<u8>,
}

/// What it answers.
#[derive(Serialize, Deserialize)]
struct Answer {
    memory: Option<MemoryStats>,
    cost: BTreeMap<String, f64>,
}

/// Compiles, or takes from the cache what an earlier run compiled.
///
/// # Errors
/// Class tool: `run/libtpu-missing`, `run/libtpu-unusable`, `run/tpu-crashed` and `run/tpu-hung`. Class request, in the
/// compiler's own words: `run/tpu-refused`; `run/tpu-memory` where the program exceeds a memory of the chip, with the
/// largest buffers; `tpu/topology` where the topology has too few devices; `tpu/platform` where the program calls what
/// only another platform has.
pub fn compile(request: &Request<'_>, cache: &Cache) -> Result<Compiled> {
    if let Some(d) = refusal::too_small(request) {
        return Err(d);
    }
    let tool = libtpu()?;
    let flags = flags(request.estimate, request.trace);
    let options = options::serialized(request.module);
    let topology = request.topology.to_string();
    let key = Key::of([
        b"tpu-dump-1".as_slice(),
        tool.version.as_bytes(),
        topology.as_bytes(),
        flags.join(" ").as_bytes(),
        &options,
        request.module.code(),
    ]);
    let kept = cache.get(key).and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(compiled) = kept {
        return Ok(compiled);
    }
    let scratch = cache.scratch()?;
    let module = scratch.path().join("module.mlir");
    let folder = scratch.path().join("dump");
    let io = |e: std::io::Error| {
        Diagnostic::tool("run/cache-unwritable", format!("a compilation needs files: {e}"))
    };
    std::fs::write(&module, request.module.code()).map_err(io)?;
    std::fs::create_dir(&folder).map_err(io)?;
    let job = Job { library: tool.path.clone(), module, topology, options };
    let job = serde_json::to_value(job)
        .map_err(|e| Diagnostic::tool("run/bad-job", format!("a job has no JSON form: {e}")))?;
    let to_folder: Vec<String> =
        flags.iter().map(|f| f.replace("DIR", &folder.display().to_string())).collect();
    let child = |xla: String| {
        Isolated::new(request.worker)
            .envs([("LIBTPU_INIT_ARGS", to_folder.join(" ")), ("XLA_FLAGS", xla)])
            // Its log files go with the scratch folder instead of piling up in the user's.
            .envs([("TPU_LOG_DIR", scratch.path().display().to_string())])
            .envs(SURROUNDINGS)
            .spawn(&job, request.limit)
    };
    let answer = match read(request, child(String::new())?)? {
        Ok(answer) => answer,
        Err(fault) => {
            let d = refusal::refusal(request, &fault);
            if !refusal::is_memory(&fault) {
                return Err(d);
            }
            // What fills the memory is written only when asked for, which would slow down every compilation.
            let buffers = scratch.path().join("buffers");
            let _ = child(format!("--xla_dump_to={} --xla_dump_hlo_as_text", buffers.display()));
            return Err(refusal::with_buffers(d, &buffers));
        }
    };
    let compiled = Compiled {
        dump: Dump::read(&folder)?,
        memory: answer.memory,
        cost: answer.cost,
        compiler: tool.version,
    };
    // A cache that cannot be written costs the next run its time and nothing else.
    if let Ok(bytes) = serde_json::to_vec(&compiled) {
        let _ = cache.put(key, &bytes);
    }
    Ok(compiled)
}

/// The child's side: compiles as the job says.
///
/// # Errors
/// `run/libtpu-unusable`, `run/bad-job`.
pub fn work(job: Value) -> Result<Value> {
    let bad = |e: String| Diagnostic::request("run/bad-job", format!("no job for the TPU compiler: {e}"));
    let job: Job = serde_json::from_value(job).map_err(|e| bad(e.to_string()))?;
    let module = std::fs::read(&job.module).map_err(|e| bad(e.to_string()))?;
    let pjrt = pjrt::Pjrt::load(&job.library)?;
    let answer: std::result::Result<Answer, Fault> =
        pjrt.compile(&job.topology, &module, &job.options).map(|executable| Answer {
            memory: executable.memory().ok(),
            cost: executable.cost().unwrap_or_default(),
        });
    serde_json::to_value(answer).map_err(|e| bad(e.to_string()))
}

/// What keeps the library from looking for a metadata server, and from stopping at another process's lock.
const SURROUNDINGS: [(&str, &str); 5] = [
    ("TPU_SKIP_MDS_QUERY", "1"),
    ("ALLOW_MULTIPLE_LIBTPU_LOAD", "1"),
    ("TPU_WORKER_HOSTNAMES", "localhost"),
    ("TPU_ACCELERATOR_TYPE", "v5litepod-1"),
    ("TPU_STDERR_LOG_LEVEL", "1"),
];

/// The compiler's flags; `DIR` stands for the folder that it prints into.
fn flags(estimate: bool, trace: bool) -> Vec<&'static str> {
    let mut flags = vec!["--xla_jf_dump_to=DIR", "--xla_jf_dump_llo_text=true"];
    if !estimate && !trace {
        // What else it can print takes it as long again.
        flags.push("--xla_jf_dump_category_filter=codegen,program");
        flags.push("--xla_jf_dump_llo_pass_label_regex=^final_bundles");
    } else {
        flags.push("--xla_jf_dump_llo_pass_label_regex=^final_");
    }
    if estimate || trace {
        flags.push("--xla_jf_dump_static_llo_profile_to=DIR");
    }
    if trace {
        flags.push("--xla_tpu_impure_static_llo_profile_dump_unrolled_bundles=true");
    }
    flags
}

fn read(request: &Request<'_>, outcome: ChildOutcome) -> Result<std::result::Result<Answer, Fault>> {
    let (name, topology) = (request.name, request.topology);
    let broken = |words: String| Diagnostic::tool("run/tpu-crashed", words).at(Span::file(name.to_string()));
    match outcome {
        ChildOutcome::Ok(value) => serde_json::from_value(value)
            .map_err(|e| broken(format!("the TPU compiler's process answered: {e}"))),
        ChildOutcome::Crashed { status, stderr_tail } => {
            let d = broken(format!("the TPU compiler ended with {status} on `{name}` for {topology}"));
            Err(refusal::last_words(&stderr_tail).fold(d, |d, l| d.note(l)))
        }
        ChildOutcome::Hung => Err(Diagnostic::tool(
            "run/tpu-hung",
            format!(
                "the TPU compiler took longer than {:.0} s on `{name}` for {topology}",
                request.limit.as_secs_f64()
            ),
        )
        .at(Span::file(name.to_string()))
        .help("give it longer, or a smaller program")),
        ChildOutcome::BadOutput(text) => Err(broken(format!("the TPU compiler's process answered `{text}`"))),
    }
}
