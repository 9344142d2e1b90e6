//! Measures and prints the ceilings of this machine.

use std::time::{Duration, Instant};

use tilewright_measure::ceilings::{Ceilings, Rate};

fn main() -> tilewright_diag::Result<()> {
    let start = Instant::now();
    let c = Ceilings::measure(Duration::from_secs(3))?;
    println!("{}\n", c.host.key());
    println!(
        "{:<10} {:>20} {:>20}  instruction",
        "GFLOP/s",
        "1 thread",
        format!("{} threads", c.host.threads)
    );
    for p in &c.peaks {
        println!("{:<10} {:>20} {:>20}  {}", p.class.name(), giga(p.one), giga(p.all), p.isa);
    }
    println!("\n{:<10} {:>20} {:>20} {:>20} {:>20}", "GB/s", "read, 1", "read, all", "copy, 1", "copy, all");
    for l in &c.levels {
        let [a, b, d, e] = [l.read_one, l.read_all, l.copy_one, l.copy_all].map(giga);
        println!("{:<10} {a:>20} {b:>20} {d:>20} {e:>20}   {} bytes each", l.name, l.working_set);
    }
    println!("\nmeasured in {:.1} s, {} samples each", start.elapsed().as_secs_f64(), c.peaks[0].one.n);
    Ok(())
}

fn giga(rate: Rate) -> String {
    let spread = (rate.ci.hi - rate.ci.lo) / 2.0 / rate.median * 100.0;
    format!("{:.1} ±{:.1}% ({:.0})", rate.median / 1e9, spread, rate.best / 1e9)
}
