//! Random programs on every instruction set that this machine has: what the CPU computes is what some legal execution of
//! the tile IR may yield, on any number of threads, launch after launch.
//!
//! `TILEWRIGHT_RANDOM_PROGRAMS` sets how many programs are tried, `TILEWRIGHT_RANDOM_SEED` the first one's seed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use common::{Case, case, compiler, joined, levels, lower, seeds, turned};
use tilewright_dtype::Tensor;
use tilewright_interp::{self as interp, Accuracy, Domain, Inputs, Outcome, Verdict};
use tilewright_ir::{Program, print};
use tilewright_run::compile::Compiler;
use tilewright_run::{Compiled, Pool};
use tilewright_target_cpu::features::CpuFeatures;
use tilewright_target_cpu::math::Math;

/// Programs that are compiled as one.
const TOGETHER: usize = 16;

/// A CPU, and how clang optimises.
type Target = (CpuFeatures, &'static str);
type Outputs = BTreeMap<String, Tensor>;
type Bound = Result<Outcome, String>;

#[test]
fn every_result_is_a_legal_one_and_follows_from_the_inputs_alone() {
    let Some((compiler, _folder)) = compiler() else { return };
    let cases: Vec<Case> = seeds(160).map(|s| case(s, false)).collect();
    let bounds: BTreeMap<u64, [OnceLock<Bound>; 2]> =
        cases.iter().map(|c| (c.seed, Default::default())).collect();
    let decided = Mutex::new([0, 0]);
    let failures = each_batch(&cases, &|cases, target| {
        let outputs = run(cases, target, &compiler)?;
        let mut counts = [0, 0];
        for case in cases {
            let flushes = target.0.bf16;
            let bound = bounds[&case.seed][usize::from(flushes)].get_or_init(|| bound(case, flushes));
            let n = bound.as_ref().map_err(String::clone).and_then(|bound| judge(bound, &outputs));
            let n = n.map_err(|what| told(case, target, &what))?;
            counts = [counts[0] + n[0], counts[1] + n[1]];
        }
        let mut decided = decided.lock().unwrap();
        *decided = [decided[0] + counts[0], decided[1] + counts[1]];
        Ok(())
    });
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n\n"));
    let [decided, all] = decided.into_inner().unwrap();
    assert!(decided * 2 > all, "only {decided} of {all} elements are decided");
}

/// Runs `job` on batches of the cases for every level, on all processors; returns what failed. A batch that fails is
/// taken apart.
/// What is done with a batch of programs on one target.
type Job<'a> = &'a (dyn Fn(&[&Case], Target) -> Result<(), String> + Sync);

fn each_batch(cases: &[Case], job: Job<'_>) -> Vec<String> {
    let levels = levels();
    // Of every second batch one level in turn is optimised as kernels are: to compile plainly takes a fifth of the time.
    let optimised = |batch: usize, i: usize| batch.is_multiple_of(2) && batch / 2 % levels.len() == i;
    let target = |batch: usize, i: usize| (levels[i], if optimised(batch, i) { "-O2" } else { "-O0" });
    let batches = cases.chunks(TOGETHER).enumerate();
    let target = &target;
    let jobs: Vec<(&[Case], Target)> =
        batches.flat_map(|(n, c)| (0..levels.len()).map(move |i| (c, target(n, i)))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut failures = Vec::new();
        while let Some(&(cases, target)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let all: Vec<&Case> = cases.iter().collect();
            if job(&all, target).is_ok() {
                continue;
            }
            for case in cases {
                // clang 19 overflows its stack at -O0 where a block holds many equal values, which no other level leaves.
                let plain = job(&[case], target).or_else(|_| job(&[case], (target.0, "-O2")));
                failures.extend(plain.err().map(|what| told(case, target, &what)));
            }
        }
        failures
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().unwrap()).collect()
    })
}

/// Runs the cases as one program and returns its outputs, which must be the same, bit for bit, after a launch with other
/// inputs and on any number of threads.
fn run(cases: &[&Case], target: Target, compiler: &Compiler) -> Result<Outputs, String> {
    let (program, inputs) = joined(cases);
    let compiled = compiled(&program, target, compiler)?;
    let once = Pool::new(1).unwrap();
    let outputs = run_on(&compiled, &program, &inputs, &once)?;
    run_on(&compiled, &program, &turned(&program, &inputs), &once)?;
    for threads in [1, 2, 3, 7] {
        let more = Pool::new(threads).unwrap();
        let again = run_on(&compiled, &program, &inputs, if threads == 1 { &once } else { &more })?;
        if let Some((name, _)) = outputs.iter().find(|(name, tensor)| tensor.bytes() != again[*name].bytes())
        {
            let case = cases.iter().find(|c| name.starts_with(&format!("p{}_", c.seed))).unwrap();
            return Err(told(case, target, &format!("`{name}` differs on {threads} threads")));
        }
    }
    Ok(outputs)
}

fn compiled(program: &Program, (features, level): Target, compiler: &Compiler) -> Result<Compiled, String> {
    let (lowered, flags) = lower(program, features, level)?;
    Compiled::with(compiler, program, &lowered, &flags).map_err(|d| d.to_string())
}

fn run_on(compiled: &Compiled, program: &Program, inputs: &Inputs, pool: &Pool) -> Result<Outputs, String> {
    let mut outputs = BTreeMap::new();
    for o in program.operands().iter().filter(|o| o.returned) {
        let mut tensor = Tensor::zeros(o.operand.dtype, o.operand.shape.dims()).unwrap();
        tensor.fill_poison();
        outputs.insert(o.operand.name.clone(), tensor);
    }
    compiled.run(pool, inputs, &mut outputs).map_err(|d| d.to_string())?;
    Ok(outputs)
}

/// What the outputs of a case may be.
fn bound(case: &Case, flushes: bool) -> Bound {
    let domain = Domain::Bound(accuracy(flushes));
    let bound = interp::run(&case.program, &case.inputs, domain, &interp::Options { parallel: false });
    let bound = bound.map_err(|d| d.to_string())?;
    match bound.report.iter().find(|d| d.code != "interp/unwritten") {
        Some(d) => Err(format!("the generator made a program with a fault: {d}")),
        None => Ok(bound),
    }
}

/// Holds the outputs of one case against its bounds; returns the elements that were decided, and all.
fn judge(bound: &Outcome, outputs: &Outputs) -> Result<[usize; 2], String> {
    let mut counts = [0, 0];
    for (name, expected) in &bound.outputs {
        for (i, x) in outputs[name].to_f64().into_iter().enumerate() {
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

fn accuracy(flushes: bool) -> Accuracy {
    let ulp = |f: Math| f.fact().max_ulp;
    Accuracy {
        exp: ulp(Math::Exp),
        log: ulp(Math::Log),
        tanh: ulp(Math::Tanh),
        erf: ulp(Math::Erf),
        sqrt: ulp(Math::Sqrt),
        rsqrt: ulp(Math::Rsqrt),
        dot_flushes_denormals: flushes,
        ..Accuracy::ieee()
    }
}

/// A failure: what, where, and the program.
fn told(case: &Case, (features, level): Target, what: &str) -> String {
    if what.starts_with("seed ") {
        return what.to_string();
    }
    format!("seed {} on {features} with {level}: {what}\n{}", case.seed, print(&case.program))
}
