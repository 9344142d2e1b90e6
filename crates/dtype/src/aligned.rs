//! A byte buffer at a cache line's boundary.

use std::fmt;

use bytemuck::{Pod, Zeroable};

/// Zero-initialised bytes whose first lies at a multiple of [`ALIGNMENT`](AlignedBytes::ALIGNMENT): enough for the
/// widest vector loads of a CPU and for the DMA engines of accelerators.
#[derive(Clone)]
pub struct AlignedBytes {
    lines: Vec<Line>,
    len: usize,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl AlignedBytes {
    /// The alignment in bytes.
    pub const ALIGNMENT: usize = align_of::<Line>();

    /// `len` zero bytes, which the system provides on first touch; `None` where it refuses.
    pub fn try_zeroed(len: usize) -> Option<Self> {
        let lines = bytemuck::allocation::try_zeroed_vec(len.div_ceil(size_of::<Line>())).ok()?;
        Some(AlignedBytes { lines, len })
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }

    /// The bytes, to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of the first byte, aligned even where there are none.
    pub fn as_ptr(&self) -> *const u8 {
        self.lines.as_ptr().cast()
    }

    /// The address of the first byte, to write.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }
}

impl PartialEq for AlignedBytes {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for AlignedBytes {}

impl fmt::Debug for AlignedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBytes({} bytes)", self.len)
    }
}
