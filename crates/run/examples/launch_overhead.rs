//! What a launch costs: a kernel whose cells do next to nothing, and one whose cells take some microseconds, over
//! several grids on one and two threads.
//!
//!     cargo run --release --example launch_overhead

use std::time::Instant;

use tilewright_diag::Result;
use tilewright_run::launch::{Arg, ArgSpec, Pool, Signature};
use tilewright_run::{Entry, Module, compile_llvm};

/// Each cell stores to its own byte as often as the scalar says.
const KERNEL: &str = "define void @touch(ptr %args, ptr %scalars, i64 %begin, i64 %end, ptr %arena) {
entry:
  %o = load ptr, ptr %args
  %times = load i32, ptr %scalars
  br label %cell
cell:
  %c = phi i64 [ %begin, %entry ], [ %c.next, %next ]
  %at = getelementptr i8, ptr %o, i64 %c
  br label %again
again:
  %n = phi i32 [ 0, %cell ], [ %n.next, %again ]
  store volatile i8 1, ptr %at
  %n.next = add i32 %n, 1
  %more = icmp slt i32 %n.next, %times
  br i1 %more, label %again, label %next
next:
  %c.next = add i64 %c, 1
  %more.cells = icmp slt i64 %c.next, %end
  br i1 %more.cells, label %cell, label %done
done:
  ret void
}";

fn main() -> Result<()> {
    let object = compile_llvm(KERNEL, &[])?;
    println!("compile: {:.1} ms, cached: {}", object.seconds * 1e3, object.cached);
    let entry = Module::load(&object)?.entry("touch")?;
    for (what, times, repeats) in [("empty cells", 1, 2000), ("cells of some microseconds", 10_000, 100)] {
        println!("{what}:");
        for threads in [1, 2] {
            let pool = Pool::new(threads)?;
            for cells in [1, 2, 16, 256] {
                let seconds = median_launch(&pool, &entry, cells, times, repeats)?;
                println!("  {threads} threads, {cells:3} cells: {:9.0} ns a launch", seconds * 1e9);
            }
        }
    }
    Ok(())
}

/// The median over 15 runs of the seconds per launch, averaged over `repeats` launches in a row.
fn median_launch(pool: &Pool, entry: &Entry, cells: i64, times: i32, repeats: u32) -> Result<f64> {
    let mut output = [0u64; 32];
    let args = vec![ArgSpec { bytes: size_of_val(&output), writable: true }];
    let signature = Signature { args, scalars: 1, arena_bytes: 1 << 16 };
    let mut seconds = Vec::new();
    for _ in 0..15 {
        let start = Instant::now();
        for _ in 0..repeats {
            let mut args = [Arg::Write(as_bytes(&mut output))];
            pool.run(entry, &signature, &mut args, &[times], cells, 0)?;
        }
        seconds.push(start.elapsed().as_secs_f64() / f64::from(repeats));
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

#[allow(unsafe_code, reason = "a byte view of integers, aligned as operands must be")]
fn as_bytes(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: u8 has no alignment and no invalid pattern, and neither has u64.
    unsafe { words.align_to_mut::<u8>().1 }
}
