//! Running an entry over its grid, on the threads of a pool.
//!
//! The calling thread always takes part, and a launch ends when the last cell ends: a helper thread that wakes up only
//! after that finds nothing to claim and costs the caller nothing. Which thread runs a cell never changes its result,
//! since every cell writes blocks of its own.
#![allow(unsafe_code, reason = "calls compiled code with raw pointers")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::thread::Thread;

use tilewright_diag::{Diagnostic, Result};

use crate::arena::with_arena;
use crate::module::{Entry, EntryFn};

/// The alignment in bytes that [`Pool::run`] asks of every operand: the largest element's.
pub const OPERAND_ALIGN: usize = 8;

/// From this many cells a thread on, cells are handed out in small portions, so that uneven ones balance.
const PORTIONS: i64 = 8;

/// Looks at the count this often, some 10 µs, before a thread that waits for others goes to sleep.
const SPINS: usize = 200;

/// What one operand must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgSpec {
    /// Its exact length in bytes.
    pub bytes: usize,
    /// Whether it is an output.
    pub writable: bool,
}

/// One operand.
#[derive(Debug)]
pub enum Arg<'a> {
    /// An input or a table.
    Read(&'a [u8]),
    /// An output.
    Write(&'a mut [u8]),
}

/// What an entry takes, as its lowering states it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Inputs then outputs, in declaration order.
    pub args: Vec<ArgSpec>,
    /// How many i32 scalars.
    pub scalars: usize,
    /// Scratch per thread, in bytes.
    pub arena_bytes: usize,
}

/// Threads that run the cells of a launch.
///
/// The threads are `rayon`'s and the calling thread; their arenas are kept from launch to launch. A pool may be shared
/// by several calling threads.
pub struct Pool {
    threads: usize,
    /// One fewer than `threads`, since the calling thread works too; none for a single thread.
    workers: Option<rayon::ThreadPool>,
    /// Calls for help that no worker has answered yet.
    unanswered: Arc<AtomicUsize>,
}

/// Gives this process's other parallel work (the interpreter's grid cells, the compiles of a check) `threads` threads; 0 for
/// as many as this process has cores. The first call decides.
///
/// Errors: `run/no-threads` (class tool) where the system refuses them.
pub fn work_on(threads: usize) -> Result<()> {
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    match built {
        // The system's refusal has a source; that the pool was built before has none.
        Err(e) if std::error::Error::source(&e).is_some() => {
            Err(Diagnostic::tool("run/no-threads", format!("no threads to work on: {e}"))
                .help("fewer `--threads`, or a higher limit of processes (`ulimit -u`)"))
        }
        _ => Ok(()),
    }
}

impl Pool {
    /// A pool of `threads` threads, the calling one included; 0 asks for as many as this process has cores.
    ///
    /// Errors: `run/no-threads` (class tool) where the system refuses them.
    pub fn new(threads: usize) -> Result<Pool> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, Into::into),
            n => n,
        };
        let workers = match threads {
            1 => None,
            n => Some(
                rayon::ThreadPoolBuilder::new()
                    .num_threads(n - 1)
                    .thread_name(|n| format!("tilewright-{}", n + 1))
                    .stack_size(8 << 20)
                    .build()
                    .map_err(|e| {
                        Diagnostic::tool("run/no-threads", format!("no pool of {n} threads: {e}"))
                    })?,
            ),
        };
        Ok(Pool { threads, workers, unanswered: Arc::default() })
    }

    /// How many threads, the calling one included.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs all `cells` of an entry's grid and returns when they are done. `args` are held to `signature`, in number,
    /// length, direction and alignment ([`OPERAND_ALIGN`]); that the compiled code keeps to it too is the condition
    /// stated at [`crate::Module`]. `chunk` as for [`Pool::launch`].
    ///
    /// Errors (class request): `run/wrong-operands`, `run/wrong-scalars`, `run/wrong-grid`, `run/out-of-memory`.
    pub fn run(
        &self,
        entry: &Entry,
        signature: &Signature,
        args: &mut [Arg<'_>],
        scalars: &[i32],
        cells: i64,
        chunk: i64,
    ) -> Result<()> {
        let pointers = check(signature, args, scalars, cells)?;
        // SAFETY: the operands and scalars are what the signature states, and the borrows in `args` keep them valid and
        // the outputs unshared until the launch returns; the rest is the condition stated at `Module`.
        unsafe { self.launch(entry, &pointers, scalars, cells, signature.arena_bytes, chunk) }
    }

    /// Runs all `cells` of an entry's grid and returns when they are done.
    ///
    /// Cells are run in contiguous ranges. With `chunk` 0 there is one range per thread, or, from eight cells a thread
    /// on, eight ranges per thread, taken in order by whichever thread is free; another `chunk` is the length of the
    /// ranges. A single range, or a pool of one thread, runs on the calling thread and touches nothing else.
    ///
    /// Errors: `run/out-of-memory` where the arena cannot be had.
    ///
    /// # Safety
    ///
    /// `args` and `scalars` must be what the entry takes (see [`EntryFn`]): valid for as many bytes as it reads or
    /// writes, aligned to their elements, the outputs disjoint from everything else and unused by other threads until
    /// this returns; `arena_bytes` must be at least what the entry uses.
    pub unsafe fn launch(
        &self,
        entry: &Entry,
        args: &[*mut u8],
        scalars: &[i32],
        cells: i64,
        arena_bytes: usize,
        chunk: i64,
    ) -> Result<()> {
        // SAFETY: the caller's promise, passed on; `entry` keeps the code loaded.
        unsafe { self.launch_function(entry.function, args, scalars, cells, arena_bytes, chunk) }
    }

    /// As [`Pool::launch`]; the caller also keeps the function's code loaded.
    unsafe fn launch_function(
        &self,
        function: EntryFn,
        args: &[*mut u8],
        scalars: &[i32],
        cells: i64,
        arena_bytes: usize,
        chunk: i64,
    ) -> Result<()> {
        if cells <= 0 {
            return Ok(());
        }
        let chunk = chunk_cells(cells, self.threads, chunk);
        let Some(workers) = self.workers.as_ref().filter(|_| chunk < cells) else {
            // SAFETY: the caller's promise.
            return with_arena(arena_bytes, |arena| unsafe {
                function(args.as_ptr(), scalars.as_ptr(), 0, cells, arena);
            });
        };
        with_arena(arena_bytes, |arena| {
            let launch = Arc::new(Launch {
                function,
                args: args.into(),
                scalars: scalars.into(),
                cells,
                chunk,
                next: AtomicI64::new(0),
                done: AtomicI64::new(0),
                caller: std::thread::current(),
            });
            let others = (cells - 1) / chunk;
            let helpers = workers.current_num_threads().min(usize::try_from(others).unwrap_or(usize::MAX));
            for _ in 0..helpers {
                self.call_for_help(workers, &launch, arena_bytes);
            }
            launch.work(arena);
            launch.wait();
        })
    }

    /// Asks one worker to join. While all are busy with other launches, calls pile up only so far: this one then goes
    /// unheard, and the caller does the work.
    fn call_for_help(&self, workers: &rayon::ThreadPool, launch: &Arc<Launch>, arena_bytes: usize) {
        if self.unanswered.load(Ordering::Relaxed) >= 64 * self.threads {
            return;
        }
        self.unanswered.fetch_add(1, Ordering::Relaxed);
        let (launch, unanswered) = (launch.clone(), self.unanswered.clone());
        workers.spawn(move || {
            unanswered.fetch_sub(1, Ordering::Relaxed);
            if launch.has_work() {
                // A worker without an arena does not help; the cells are left to those that have one.
                let _ = with_arena(arena_bytes, |arena| launch.work(arena));
            }
        });
    }
}

/// One launch, alive until the last thread that heard of it lets go.
struct Launch {
    function: EntryFn,
    args: Box<[*mut u8]>,
    scalars: Box<[i32]>,
    cells: i64,
    chunk: i64,
    /// The first cell that nobody has claimed.
    next: AtomicI64,
    /// How many cells have ended.
    done: AtomicI64,
    caller: Thread,
}

// SAFETY: the pointers are dereferenced only by code that runs a claimed range. The caller of `Pool::launch` keeps them
// valid, and lends them to other threads, until every claimed range has ended; after that no range can be claimed.
unsafe impl Send for Launch {}
// SAFETY: as above; the other fields are atomics or never change.
unsafe impl Sync for Launch {}

impl Launch {
    fn has_work(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.cells
    }

    /// Claims and runs ranges until none is left.
    fn work(&self, arena: *mut u8) {
        while self.has_work() {
            let begin = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if begin >= self.cells {
                return;
            }
            let end = self.cells.min(begin.saturating_add(self.chunk));
            // SAFETY: the promise made to `Pool::launch`, whose caller waits for this claimed range to end; the arena
            // is this thread's and has the size that was asked for.
            unsafe { (self.function)(self.args.as_ptr(), self.scalars.as_ptr(), begin, end, arena) };
            // Release: whoever sees the range counted sees what it wrote.
            let before = self.done.fetch_add(end - begin, Ordering::Release);
            if before + (end - begin) == self.cells {
                self.caller.unpark();
            }
        }
    }

    /// Returns when every cell has ended. The caller has claimed what it could, so what is left is running.
    fn wait(&self) {
        let ended = || self.done.load(Ordering::Acquire) == self.cells;
        for _ in 0..SPINS {
            if ended() {
                return;
            }
            std::hint::spin_loop();
        }
        while !ended() {
            std::thread::park();
        }
    }
}

/// How many cells a range has.
fn chunk_cells(cells: i64, threads: usize, chunk: i64) -> i64 {
    let threads = i64::try_from(threads).unwrap_or(i64::MAX);
    match chunk {
        1.. => chunk.min(cells),
        _ if cells / PORTIONS >= threads => cells / (PORTIONS * threads),
        _ => (cells - 1) / threads + 1,
    }
}

/// The operands' addresses, once they are what the signature states.
fn check(signature: &Signature, args: &mut [Arg<'_>], scalars: &[i32], cells: i64) -> Result<Vec<*mut u8>> {
    let wrong = |message: String| Diagnostic::request("run/wrong-operands", message);
    if args.len() != signature.args.len() {
        return Err(wrong(format!("{} operands given, {} taken", args.len(), signature.args.len())));
    }
    if scalars.len() != signature.scalars {
        let message = format!("{} scalars given, {} taken", scalars.len(), signature.scalars);
        return Err(Diagnostic::request("run/wrong-scalars", message));
    }
    // Far above any grid, and far enough below i64::MAX that claiming past the end cannot overflow.
    if !(0..=1 << 48).contains(&cells) {
        return Err(Diagnostic::request("run/wrong-grid", format!("a grid of {cells} cells"))
            .rule("a grid has between 0 and 2^48 cells"));
    }
    let mut pointers = Vec::with_capacity(args.len());
    for (n, (arg, spec)) in args.iter_mut().zip(&signature.args).enumerate() {
        let (pointer, bytes, writable) = match arg {
            Arg::Read(bytes) => (bytes.as_ptr().cast_mut(), bytes.len(), false),
            Arg::Write(bytes) => (bytes.as_mut_ptr(), bytes.len(), true),
        };
        if bytes != spec.bytes {
            return Err(wrong(format!("operand {n} has {bytes} bytes, {} are taken", spec.bytes)));
        }
        if writable != spec.writable {
            let name = |writable| if writable { "an output" } else { "an input" };
            return Err(wrong(format!(
                "operand {n} is given as {}, taken as {}",
                name(writable),
                name(spec.writable)
            )));
        }
        if bytes > 0 && !pointer.addr().is_multiple_of(OPERAND_ALIGN) {
            return Err(wrong(format!("operand {n} is at {pointer:p}"))
                .rule(format!("an operand starts at a multiple of {OPERAND_ALIGN} bytes")));
        }
        pointers.push(pointer);
    }
    Ok(pointers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// Adds 1 to the count of each of its cells, after a while that depends on the cell, and marks its arena.
    unsafe extern "C" fn count(
        args: *const *mut u8,
        scalars: *const i32,
        begin: i64,
        end: i64,
        arena: *mut u8,
    ) {
        // SAFETY: the tests pass one operand of a counter per cell, one scalar, and 64 bytes of arena.
        unsafe {
            assert!(begin < end && arena.addr().is_multiple_of(64));
            arena.write_bytes(1, 64);
            let counters = (*args).cast::<AtomicU64>();
            for cell in begin..end {
                for _ in 0..(cell % 7) * i64::from(*scalars) {
                    std::hint::spin_loop();
                }
                (*counters.add(cell as usize)).fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn every_cell_once(pool: &Pool, cells: usize, chunk: i64, delay: i32) {
        let mut counters = vec![0u64; cells];
        let args = [counters.as_mut_ptr().cast()];
        // SAFETY: what `count` takes.
        unsafe { pool.launch_function(count, &args, &[delay], cells as i64, 64, chunk).unwrap() };
        assert!(counters.iter().all(|&n| n == 1), "{cells} cells, chunk {chunk}: {counters:?}");
    }

    #[test]
    fn every_cell_runs_once() {
        for threads in 1..=4 {
            let pool = Pool::new(threads).unwrap();
            for cells in [0, 1, 2, 3, 7, 8, 31, 64, 1000] {
                for chunk in [0, 1, 5, 2000] {
                    every_cell_once(&pool, cells, chunk, 3);
                }
            }
        }
    }

    #[test]
    fn callers_may_share_a_pool() {
        let pool = Pool::new(3).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..300).for_each(|n| every_cell_once(&pool, 1 + n % 40, 0, 10)));
            }
        });
        // A worker of the pool may itself launch on it.
        pool.workers.as_ref().unwrap().install(|| every_cell_once(&pool, 100, 0, 1));
    }

    #[test]
    fn ranges_cover_the_grid_evenly() {
        assert_eq!(chunk_cells(3, 2, 0), 2);
        assert_eq!(chunk_cells(15, 2, 0), 8);
        assert_eq!(chunk_cells(16, 2, 0), 1);
        assert_eq!(chunk_cells(1600, 2, 0), 100);
        assert_eq!(chunk_cells(10, 2, 4), 4);
        assert_eq!(chunk_cells(1, 64, 0), 1);
    }

    #[test]
    fn operands_are_held_to_the_signature() {
        let signature = Signature {
            args: vec![ArgSpec { bytes: 8, writable: false }, ArgSpec { bytes: 16, writable: true }],
            scalars: 1,
            arena_bytes: 0,
        };
        let (input, mut output) = ([0u64; 2], [0u64; 3]);
        // SAFETY: any bytes are a u8.
        let input = unsafe { input.align_to::<u8>().1 };
        // SAFETY: as above, and every pattern of bytes is a u64.
        let output = unsafe { output.align_to_mut::<u8>().1 };
        let mut code = |a: &[u8], range: std::ops::Range<usize>, scalars: &[i32], cells| {
            let mut args = [Arg::Read(a), Arg::Write(&mut output[range])];
            check(&signature, &mut args, scalars, cells).map(|p| p.len()).map_err(|d| d.code)
        };
        assert_eq!(code(&input[..8], 0..16, &[1], 4), Ok(2));
        assert_eq!(code(&input[..7], 0..16, &[1], 4), Err("run/wrong-operands"));
        assert_eq!(code(&input[..8], 0..17, &[1], 4), Err("run/wrong-operands"));
        assert_eq!(code(&input[1..9], 0..16, &[1], 4), Err("run/wrong-operands"));
        assert_eq!(code(&input[..8], 0..16, &[], 4), Err("run/wrong-scalars"));
        assert_eq!(code(&input[..8], 0..16, &[1], -1), Err("run/wrong-grid"));
        let mut swapped = [Arg::Read(&input[..8]), Arg::Read(input)];
        assert!(check(&signature, &mut swapped, &[1], 4).unwrap_err().message.contains("given as an input"));
        assert!(check(&signature, &mut swapped[..1], &[1], 4).is_err());
    }
}
