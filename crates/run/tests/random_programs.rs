//! Random programs on every instruction set that this machine has: what the CPU computes is what some legal execution of
//! the tile IR may yield.
//!
//! `TILEWRIGHT_RANDOM_PROGRAMS` sets how many programs are tried, `TILEWRIGHT_RANDOM_SEED` the first one's seed.
#![allow(clippy::unwrap_used, reason = "in a test's helpers too")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use tilewright_dtype::{DType, Tensor};
use tilewright_interp::testing::{Limits, wide};
use tilewright_interp::{self as interp, Accuracy, Domain, Inputs, Verdict};
use tilewright_ir::{Program, print};
use tilewright_run::cache::Cache;
use tilewright_run::compile::Compiler;
use tilewright_run::testing::clang_or_skip;
use tilewright_run::{Compiled, Pool};
use tilewright_target_cpu as cpu;
use tilewright_target_cpu::features::CpuFeatures;
use tilewright_target_cpu::math::Math;

/// Programs that are compiled as one: clang's start is most of the time that a small one takes.
const TOGETHER: usize = 16;

/// A CPU, and how clang optimises.
type Target = (CpuFeatures, &'static str);

/// One random program.
struct Case {
    seed: u64,
    program: Program,
    inputs: Inputs,
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|t| t.parse().ok()).unwrap_or(otherwise)
}

fn case(seed: u64, poison: bool) -> Case {
    let dtypes =
        DType::ALL.into_iter().filter(|d| cpu::REFUSED_DTYPES.iter().all(|(r, ..)| r != d)).collect();
    let steps = number("TILEWRIGHT_RANDOM_STEPS", 8) as usize;
    let limits = Limits { dtypes, prefix: format!("p{seed}_"), poison, steps, ..Limits::default() };
    let (program, inputs) = wide(seed, &limits).unwrap_or_else(|d| panic!("seed {seed}: {d}"));
    Case { seed, program, inputs }
}

/// The instruction sets to compile for.
fn levels() -> Vec<CpuFeatures> {
    let all = [CpuFeatures::AVX512_BF16_VNNI, CpuFeatures::AVX512, CpuFeatures::AVX2, CpuFeatures::BASELINE];
    let host = CpuFeatures::detect();
    all.into_iter().filter(|f| f.supported_by(host)).collect()
}

fn accuracy(features: CpuFeatures) -> Accuracy {
    let ulp = |f: Math| f.fact().max_ulp;
    Accuracy {
        exp: ulp(Math::Exp),
        log: ulp(Math::Log),
        tanh: ulp(Math::Tanh),
        erf: ulp(Math::Erf),
        sqrt: ulp(Math::Sqrt),
        rsqrt: ulp(Math::Rsqrt),
        dot_flushes_denormals: features.bf16,
        ..Accuracy::ieee()
    }
}

/// Runs the cases as one program and returns its outputs.
fn run(
    cases: &[&Case],
    (features, level): Target,
    compiler: &Compiler,
    pool: &Pool,
) -> Result<BTreeMap<String, Tensor>, String> {
    let program = Program { kernels: cases.iter().flat_map(|c| c.program.kernels.clone()).collect() };
    let lowered = cpu::lower(&program, cpu::Options::new(features)).map_err(|d| d.to_string())?;
    let flags: Vec<String> = features.clang_flags().into_iter().chain([level]).map(String::from).collect();
    let compiled = Compiled::with(compiler, &program, &lowered, &flags).map_err(|d| d.to_string())?;
    let inputs: Inputs = cases.iter().flat_map(|c| c.inputs.clone()).collect();
    let mut outputs = BTreeMap::new();
    for o in program.operands().iter().filter(|o| o.returned) {
        let mut tensor = Tensor::zeros(o.operand.dtype, o.operand.shape.dims()).unwrap();
        tensor.fill_poison();
        outputs.insert(o.operand.name.clone(), tensor);
    }
    compiled.run(pool, &inputs, &mut outputs).map_err(|d| d.to_string())?;
    Ok(outputs)
}

/// Holds the outputs of one case against its bounds; returns the elements that were decided, and all.
fn judge(
    case: &Case,
    features: CpuFeatures,
    outputs: &BTreeMap<String, Tensor>,
) -> Result<[usize; 2], String> {
    let bound = interp::run(
        &case.program,
        &case.inputs,
        Domain::Bound(accuracy(features)),
        &interp::Options { parallel: false },
    );
    let bound = bound.map_err(|d| d.to_string())?;
    let foul = bound.report.iter().find(|d| d.code != "interp/unwritten");
    if let Some(d) = foul {
        return Err(format!("the generator made a program with a fault: {d}"));
    }
    let mut counts = [0, 0];
    for (name, expected) in &bound.outputs {
        // An output that a later program of the batch happens to read would not come back.
        let Some(got) = outputs.get(name) else { return Err(format!("`{name}` was not returned")) };
        for (i, x) in got.to_f64().into_iter().enumerate() {
            match expected.judge(i, x) {
                Verdict::Failed => {
                    let (v, e) = (expected.v[i], expected.bound(i));
                    return Err(format!(
                        "`{name}`[{i}] of {:?} is {x:e}, not {v:e} give or take {e:e}",
                        expected.shape
                    ));
                }
                Verdict::Held => counts[0] += 1,
                Verdict::Undecided => {}
            }
            counts[1] += 1;
        }
    }
    Ok(counts)
}

/// What to do about a failure: the program, and how to get it again.
fn told(case: &Case, (features, level): Target, what: &str) -> String {
    format!("seed {} on {features} with {level}: {what}\n{}", case.seed, print(&case.program))
}

/// Compiles, runs and judges every seed on every level; returns failures and what was decided.
fn try_all(seeds: std::ops::Range<u64>, poison: bool) -> (Vec<String>, [usize; 2]) {
    let Some(clang) = clang_or_skip() else { return (Vec::new(), [1, 1]) };
    let folder = tempfile::tempdir().unwrap();
    let compiler = Compiler::new(clang, Cache::open(folder.path(), 1 << 30).unwrap());
    let cases: Vec<Case> = seeds.map(|s| case(s, poison)).collect();
    let levels = levels();
    // One level in turn is optimised as kernels are; to compile the others plainly takes a fifth of the time.
    let target = &|batch: usize, i: usize| (levels[i], if batch % levels.len() == i { "-O2" } else { "-O0" });
    let batches = cases.chunks(TOGETHER).enumerate();
    let jobs: Vec<(&[Case], Target)> =
        batches.flat_map(|(n, c)| (0..levels.len()).map(move |i| (c, target(n, i)))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let pool = Pool::new(1).unwrap();
        let (mut failures, mut decided) = (Vec::new(), [0, 0]);
        while let Some(&(cases, target)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let all: Vec<&Case> = cases.iter().collect();
            let together = run(&all, target, &compiler, &pool);
            for case in cases {
                // A batch that fails as a whole is taken apart, and optimised: clang 19 overflows its stack at -O0 where a
                // block holds many equal values, which no other level leaves there.
                let own = match &together {
                    Ok(_) => None,
                    Err(_) => Some(run(&[case], (target.0, "-O2"), &compiler, &pool)),
                };
                let outputs = match own.as_ref().unwrap_or(&together) {
                    Ok(outputs) => outputs,
                    Err(d) => {
                        failures.push(told(case, target, d));
                        continue;
                    }
                };
                if poison {
                    continue;
                }
                match judge(case, target.0, outputs) {
                    Ok(n) => decided = [decided[0] + n[0], decided[1] + n[1]],
                    Err(what) => failures.push(told(case, target, &what)),
                }
            }
        }
        (failures, decided)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut total = (Vec::new(), [0, 0]);
        for worker in workers {
            let (failures, decided) = worker.join().unwrap();
            total.0.extend(failures);
            total.1 = [total.1[0] + decided[0], total.1[1] + decided[1]];
        }
        total
    })
}

#[test]
fn every_result_is_a_legal_one() {
    let (first, count) = (number("TILEWRIGHT_RANDOM_SEED", 0), number("TILEWRIGHT_RANDOM_PROGRAMS", 160));
    let (failures, [decided, all]) = try_all(first..first + count, false);
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n\n"));
    assert!(decided * 2 > all, "only {decided} of {all} elements are decided");
    eprintln!("{decided} of {all} elements decided");
}
