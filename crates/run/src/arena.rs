//! Per-thread scratch memory: kept for the thread's life, grown on demand.
#![allow(unsafe_code, reason = "allocates with an alignment that no collection offers")]

use std::alloc::Layout;
use std::cell::RefCell;
use std::ptr::NonNull;

use rustix::mm::{Advice, madvise};
use tilewright_diag::{Diagnostic, Result};

/// Small arenas start on a page, so that where their blocks fall in the cache's sets does not vary from run to run.
const PAGE: usize = 4096;
/// Larger ones are whole huge pages: a packed panel then costs one translation, not hundreds.
const HUGE: usize = 2 << 20;

/// Calls `job` with this thread's arena of at least `bytes`, aligned to 64 bytes or more and not initialised. The
/// pointer is valid during the call only; its content persists between calls until a larger arena is asked for.
///
/// Errors: `run/out-of-memory` (class request), naming the bytes.
pub(crate) fn with_arena<T>(bytes: usize, job: impl FnOnce(*mut u8) -> T) -> Result<T> {
    thread_local! {
        static ARENA: RefCell<Arena> = const { RefCell::new(Arena { memory: None }) };
    }
    ARENA.with_borrow_mut(|arena| Ok(job(arena.at_least(bytes)?)))
}

struct Arena {
    memory: Option<(NonNull<u8>, Layout)>,
}

impl Arena {
    fn at_least(&mut self, bytes: usize) -> Result<*mut u8> {
        match self.memory {
            Some((memory, layout)) if layout.size() >= bytes => Ok(memory.as_ptr()),
            _ => self.grow(bytes),
        }
    }

    #[cold]
    fn grow(&mut self, bytes: usize) -> Result<*mut u8> {
        let refused = || {
            Diagnostic::request(
                "run/out-of-memory",
                format!("a thread's scratch of {bytes} bytes cannot be had"),
            )
            .help("a configuration with smaller tiles, or fewer threads")
        };
        let align = if bytes >= HUGE { HUGE } else { PAGE };
        let size = bytes.max(1).checked_next_multiple_of(align).ok_or_else(refused)?;
        let layout = Layout::from_size_align(size, align).map_err(|_| refused())?;
        self.free();
        // SAFETY: the layout's size is not zero.
        let memory = NonNull::new(unsafe { std::alloc::alloc(layout) }).ok_or_else(refused)?;
        if align == HUGE {
            // SAFETY: the range was allocated above; the advice changes how it is backed, not what it holds. Where
            // huge pages are switched off the advice fails, and ordinary pages serve.
            let _ = unsafe { madvise(memory.as_ptr().cast(), size, Advice::LinuxHugepage) };
        }
        self.memory = Some((memory, layout));
        Ok(memory.as_ptr())
    }

    fn free(&mut self) {
        if let Some((memory, layout)) = self.memory.take() {
            // SAFETY: `grow` allocated the memory with this layout, and it is given back once.
            unsafe { std::alloc::dealloc(memory.as_ptr(), layout) };
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.free();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_is_kept_and_grows() {
        let small = with_arena(100, |p| p.addr()).unwrap();
        assert_eq!(small % PAGE, 0);
        assert_eq!(with_arena(4096, |p| p.addr()).unwrap(), small);
        let large = with_arena(3 << 20, |p| {
            // SAFETY: the arena holds 3 MiB.
            unsafe { p.write_bytes(7, 3 << 20) };
            p.addr()
        });
        assert_eq!(large.as_ref().unwrap() % HUGE, 0);
        let kept = with_arena(64, |p| {
            // SAFETY: written by the call before, on this thread.
            (p.addr(), unsafe { p.add((3 << 20) - 1).read() })
        });
        assert_eq!(kept.unwrap(), (large.unwrap(), 7));
    }

    #[test]
    fn too_much_is_refused_with_the_bytes() {
        let d = with_arena(usize::MAX - 5, |_| ()).unwrap_err();
        assert_eq!(d.code, "run/out-of-memory");
        assert!(d.message.contains(&(usize::MAX - 5).to_string()));
    }
}
