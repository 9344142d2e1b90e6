//! Memory whose placement does not spoil a measurement: page-aligned, on huge pages where the system grants them.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Zeroed words, aligned to 2 MiB when they are that large and to a page otherwise.
pub(crate) struct Buffer {
    start: NonNull<u64>,
    words: usize,
    layout: Layout,
}

// SAFETY: a `Buffer` owns its memory and hands it out under the usual borrow rules, like a `Vec<u64>`.
unsafe impl Send for Buffer {}

impl Buffer {
    /// `bytes` rounded up to whole words, one at least; `None` when the system refuses the memory.
    pub(crate) fn new(bytes: usize) -> Option<Buffer> {
        const PAGE: usize = 4096;
        const HUGE_PAGE: usize = 2 << 20;
        let words = bytes.div_ceil(size_of::<u64>()).max(1);
        let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { PAGE };
        let layout = Layout::from_size_align(words * size_of::<u64>(), align).ok()?;
        // SAFETY: the layout has a size above zero.
        let start: NonNull<u64> = NonNull::new(unsafe { alloc_zeroed(layout) })?.cast();
        #[cfg(target_os = "linux")]
        if align == HUGE_PAGE {
            // SAFETY: advice on a range that is ours; a refusal changes nothing and is of no consequence.
            let _ = unsafe { libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        Some(Buffer { start, words, layout })
    }

    /// All words.
    pub(crate) fn words(&mut self) -> &mut [u64] {
        // SAFETY: `start` points to `words` initialised words that only `self` reaches.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated by `alloc_zeroed` with this layout, and freed once.
        unsafe { dealloc(self.start.as_ptr().cast(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_zeroed_aligned_and_writable() {
        for bytes in [0, 100, 5 << 20] {
            let mut buffer = Buffer::new(bytes).expect("memory");
            let words = buffer.words();
            assert!(words.len() * 8 >= bytes && words.as_ptr().addr().is_multiple_of(4096));
            assert!(words.iter().all(|&w| w == 0));
            words.fill(7);
            assert!(words.iter().all(|&w| w == 7));
        }
    }
}
