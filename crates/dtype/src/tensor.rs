//! Host tensors.

use std::fs;

use tilewright_diag::{Diagnostic, Result};
use xxhash_rust::xxh3::xxh3_64;

use crate::{AlignedBytes, DType};

/// A dense host tensor: row major (the last dimension varies fastest), contiguous, little-endian, 64-byte aligned.
///
/// Two tensors are equal when type, shape and every byte are: NaN equals the same NaN, and -0 differs from +0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    dtype: DType,
    shape: Vec<usize>,
    len: usize,
    data: AlignedBytes,
}

/// What [`Tensor::fill_poison`] writes into integers and `bool`; floats take `0xFF`, which is NaN in each of them.
const INT_POISON: u8 = 0x5A;

/// Requests below this many bytes are not held against the free memory: reading its amount costs more than they do.
const SMALL_BYTES: usize = 64 << 20;

impl Tensor {
    /// A tensor of zeros. A shape whose elements or bytes overflow, or need more memory than is available, is refused
    /// with `dtype/too-large`.
    pub fn try_new(dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let bytes = required_bytes(dtype, shape)?;
        if bytes >= SMALL_BYTES
            && let Some(available) = available_memory()
            && bytes as u64 > available
        {
            return Err(too_large(dtype, shape, &format!("needs {bytes} bytes, {available} are available")));
        }
        let data = AlignedBytes::try_zeroed(bytes).ok_or_else(|| {
            too_large(dtype, shape, &format!("needs {bytes} bytes, which the system refuses"))
        })?;
        Ok(Tensor { dtype, shape: shape.to_vec(), len: shape.iter().product(), data })
    }

    /// A tensor of zeros; another name of [`try_new`](Tensor::try_new) for where the zeros matter.
    pub fn zeros(dtype: DType, shape: &[usize]) -> Result<Tensor> {
        Tensor::try_new(dtype, shape)
    }

    /// A tensor of `values` in row-major order, each rounded as by [`DType::round`]. `dtype/length-mismatch` where
    /// their number is not the shape's.
    pub fn from_f64(dtype: DType, shape: &[usize], values: &[f64]) -> Result<Tensor> {
        let mut tensor = Tensor::try_new(dtype, shape)?;
        if values.len() != tensor.len {
            return Err(length_mismatch(dtype, shape, &format!("{} values", values.len())));
        }
        dtype.encode_slice(values, tensor.bytes_mut());
        Ok(tensor)
    }

    /// A tensor of stored bytes, as [`bytes`](Tensor::bytes) yields them. `dtype/length-mismatch` where their number
    /// is not the shape's.
    pub fn from_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Tensor> {
        let mut tensor = Tensor::try_new(dtype, shape)?;
        if bytes.len() != tensor.data.len() {
            return Err(length_mismatch(dtype, shape, &format!("{} bytes", bytes.len())));
        }
        tensor.bytes_mut().copy_from_slice(bytes);
        Ok(tensor)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The dimensions; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Every element, in row-major order.
    pub fn to_f64(&self) -> Vec<f64> {
        let mut values = vec![0.0; self.len];
        self.dtype.decode_slice(self.bytes(), &mut values);
        values
    }

    /// The same values as another type, each rounded as by [`DType::round`].
    pub fn cast(&self, dtype: DType) -> Result<Tensor> {
        Tensor::from_f64(dtype, &self.shape, &self.to_f64())
    }

    /// Element `i` in row-major order.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    pub fn get(&self, i: usize) -> f64 {
        let (start, end) = self.place(i);
        let stored = &self.bytes()[start..end];
        let mut bits = [0; 8];
        bits[..stored.len()].copy_from_slice(stored);
        let bits = u64::from_le_bytes(bits);
        self.dtype.decode(if self.is_high_nibble(i) { bits >> 4 } else { bits })
    }

    /// Sets element `i` in row-major order to `x`, rounded as by [`DType::round`].
    ///
    /// # Panics
    ///
    /// If there is no such element.
    pub fn set(&mut self, i: usize, x: f64) {
        let bits = self.dtype.encode(x);
        let (start, end) = self.place(i);
        let high = self.is_high_nibble(i);
        let packed = self.dtype == DType::I4;
        let stored = &mut self.bytes_mut()[start..end];
        if packed {
            let (kept, shift) = if high { (0x0F, 4) } else { (0xF0, 0) };
            stored[0] = stored[0] & kept | (bits as u8) << shift;
        } else {
            stored.copy_from_slice(&bits.to_le_bytes()[..end - start]);
        }
    }

    /// The stored bytes.
    pub fn bytes(&self) -> &[u8] {
        self.data.as_slice()
    }

    /// The stored bytes, to write. Every pattern is a value of every type.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.data.as_mut_slice()
    }

    /// The address of element 0, at a multiple of 64.
    pub fn as_ptr(&self) -> *const u8 {
        self.data.as_ptr()
    }

    /// The address of element 0, to write.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.data.as_mut_ptr()
    }

    /// Overwrites every element so that one that a kernel leaves unwritten shows: NaN in floats, bytes `0x5A` in
    /// integers and `bool`.
    pub fn fill_poison(&mut self) {
        let poison = if self.dtype.is_float() { 0xFF } else { INT_POISON };
        self.bytes_mut().fill(poison);
    }

    /// A hash (XXH3, 64 bits) of the stored bytes. It shows an accidental change, not a forged one.
    pub fn checksum(&self) -> u64 {
        xxh3_64(self.bytes())
    }

    /// The bytes that hold element `i`.
    fn place(&self, i: usize) -> (usize, usize) {
        assert!(i < self.len, "element {i} of {}", self.len);
        if self.dtype == DType::I4 {
            return (i / 2, i / 2 + 1);
        }
        let width = self.dtype.bits() as usize / 8;
        (i * width, (i + 1) * width)
    }

    fn is_high_nibble(&self, i: usize) -> bool {
        self.dtype == DType::I4 && i % 2 == 1
    }
}

/// The bytes of a tensor; `dtype/too-large` where the elements or their bytes overflow.
pub(crate) fn required_bytes(dtype: DType, shape: &[usize]) -> Result<usize> {
    // An allocation holds at most `isize::MAX` bytes.
    shape
        .iter()
        .try_fold(1, |product: usize, &n| product.checked_mul(n))
        .and_then(|n| dtype.storage_bytes(n))
        .filter(|&bytes| isize::try_from(bytes).is_ok_and(|b| b < isize::MAX - 64))
        .ok_or_else(|| {
            let elements: f64 = shape.iter().map(|&n| n as f64).product();
            let bytes = elements * f64::from(dtype.bits()) / 8.0;
            too_large(dtype, shape, &format!("needs {bytes:.3e} bytes, beyond the address space"))
        })
}

fn too_large(dtype: DType, shape: &[usize], why: &str) -> Box<Diagnostic> {
    Diagnostic::request("dtype/too-large", format!("{dtype}{shape:?} {why}"))
        .rule("a host tensor fits the memory that is available")
        .help("make a dimension smaller, or choose a narrower element type")
}

fn length_mismatch(dtype: DType, shape: &[usize], given: &str) -> Box<Diagnostic> {
    Diagnostic::request("dtype/length-mismatch", format!("{given} for {dtype}{shape:?}"))
        .rule("the data of a tensor are exactly its shape's elements")
}

/// Bytes that can be used without swapping; `None` where the system does not say.
fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    kib.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
