//! What a launch costs: a kernel that does nothing, over grids of 1 and more cells, on 1 and more threads.
//!
//!     cargo run --release --example launch_overhead

use std::time::Instant;

use tilewright_diag::Result;
use tilewright_run::launch::{Arg, ArgSpec, Pool, Signature};
use tilewright_run::{Module, compile_llvm};

const KERNEL: &str = "define void @nothing(ptr %args, ptr %scalars, i64 %begin, i64 %end, ptr %arena) {
  %o = load ptr, ptr %args
  %cell = getelementptr i8, ptr %o, i64 %begin
  store i8 1, ptr %cell
  ret void
}";

fn main() -> Result<()> {
    let object = compile_llvm(KERNEL, &[])?;
    println!("compile: {:.1} ms, cached: {}", object.seconds * 1e3, object.cached);
    let entry = Module::load(&object)?.entry("nothing")?;
    for threads in [1, 2] {
        let pool = Pool::new(threads)?;
        for cells in [1, 2, 16, 256] {
            let mut output = [0u64; 32];
            let bytes = output.len() * 8;
            let signature =
                Signature { args: vec![ArgSpec { bytes, writable: true }], scalars: 0, arena_bytes: 1 << 16 };
            let mut best = f64::INFINITY;
            let mut seconds = Vec::new();
            for _ in 0..20 {
                let repeats = 2000;
                let start = Instant::now();
                for _ in 0..repeats {
                    let mut args = [Arg::Write(as_bytes(&mut output))];
                    pool.run(&entry, &signature, &mut args, &[], cells, 0)?;
                }
                let each = start.elapsed().as_secs_f64() / f64::from(repeats);
                best = best.min(each);
                seconds.push(each);
            }
            seconds.sort_by(f64::total_cmp);
            let median = seconds[seconds.len() / 2];
            println!(
                "{threads} threads, {cells:3} cells: {:8.0} ns a launch (median; best {:.0})",
                median * 1e9,
                best * 1e9
            );
        }
    }
    Ok(())
}

#[allow(unsafe_code, reason = "a byte view of integers, aligned as operands must be")]
fn as_bytes(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: u8 has no alignment and no invalid pattern, and neither has u64.
    unsafe { words.align_to_mut::<u8>().1 }
}
