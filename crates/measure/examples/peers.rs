//! Lists the peers found and races them on a matrix product: `peers [m n k [dtype [threads]]]`, 1024³ of f32 by default.

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;
use tilewright_measure::compare::ratio;
use tilewright_measure::peers::{self, Data, Epilogue, Found, Work};
use tilewright_measure::timing::{Plan, interleave};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: usize| args.get(i).map_or(Some(default), |a| a.parse().ok());
    let all = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (Some(m), Some(n), Some(k), Some(threads)) =
        (number(0, 1024), number(1, 1024), number(2, 1024), number(4, all))
    else {
        return Err(Diagnostic::request("example/usage", "peers [m n k [dtype [threads]]]"));
    };
    let dtype = args.get(3).map_or(Ok(DType::F32), |name| DType::parse(name))?;
    let work = Work::Matmul { batch: 1, m, n, k, dtype, ta: false, tb: false, epilogue: Epilogue::default() };

    let mut contestants = Vec::new();
    for found in peers::find() {
        println!("{found}");
        if let Found::Ready(peer) = found
            && peer.supports(&work).is_ok()
        {
            match peer.prepare(&work, threads, Data { seed: 1, sets: 4 }) {
                Ok(prepared) => {
                    println!("  runs {}", prepared.kernel);
                    contestants.push(prepared.contestant);
                }
                Err(e) => println!("  {e}"),
            }
        }
    }
    println!("\n{dtype} {m}x{n}x{k}, {threads} threads");
    let series = interleave(&mut contestants, &Plan { max_seconds: 8.0, ..Plan::default() });
    for s in &series {
        match (s.summary(), &s.failure) {
            (Some(t), None) => {
                let against = ratio(s, &series[0]).map_or(String::new(), |r| {
                    format!("{:.3} [{:.3}, {:.3}] of {}'s time", r.value, r.ci.lo, r.ci.hi, series[0].name)
                });
                let rate = 2.0 * (m * n * k) as f64 / t.median / 1e9;
                let (median, lo, hi) = (t.median * 1e3, t.ci.lo * 1e3, t.ci.hi * 1e3);
                println!(
                    "{:<10} {median:9.4} ms [{lo:.4}, {hi:.4}] {rate:8.1} GFLOP/s  n={} x{}  {against}",
                    s.name, t.n, t.inner_repeats
                );
            }
            (_, failure) => println!("{:<10} {failure:?}", s.name),
        }
    }
    Ok(())
}
