//! Many values at a time: between `f64` and the stored bytes, little-endian.

use crate::DType;
use crate::float::{F8E4M3, F8E4M3_VALUES, F8E5M2, F8E5M2_VALUES, F16};
use crate::value::{bf16_bits, bf16_value, f32_bits};

impl DType {
    /// Stores `values` as this type, each rounded as by [`round`](DType::round).
    ///
    /// # Panics
    ///
    /// If `bytes` is not [`storage_bytes`](DType::storage_bytes)`(values.len())` long.
    pub fn encode_slice(self, values: &[f64], bytes: &mut [u8]) {
        assert_eq!(self.storage_bytes(values.len()), Some(bytes.len()), "{self}: length of the byte slice");
        match self {
            DType::F64 => encode_each(values, bytes, |x| self.encode(x).to_le_bytes()),
            DType::F32 => encode_each(values, bytes, |x| f32_bits(x).to_le_bytes()),
            DType::BF16 => encode_each(values, bytes, |x| bf16_bits(x).to_le_bytes()),
            DType::F16 => {
                encode_each(values, bytes, |x| (F16.encode_exact(F16.round(x)) as u16).to_le_bytes())
            }
            DType::I32 => encode_each(values, bytes, |x| (x as i32).to_le_bytes()),
            DType::I8 => encode_each(values, bytes, |x| (x as i8).to_le_bytes()),
            DType::U8 => encode_each(values, bytes, |x| [x as u8]),
            DType::F8E4M3 => encode_each(values, bytes, |x| [F8E4M3.encode_exact(F8E4M3.round(x)) as u8]),
            DType::F8E5M2 => encode_each(values, bytes, |x| [F8E5M2.encode_exact(F8E5M2.round(x)) as u8]),
            DType::Bool => {
                encode_each(values, bytes, |x| [self.encode(x) as u8]);
            }
            DType::I4 => {
                for (pair, byte) in values.chunks(2).zip(bytes) {
                    let nibble = |i: usize| pair.get(i).map_or(0, |&x| self.encode(x) as u8);
                    *byte = nibble(0) | nibble(1) << 4;
                }
            }
        }
    }

    /// Reads `values.len()` stored elements of this type.
    ///
    /// # Panics
    ///
    /// If `bytes` is not [`storage_bytes`](DType::storage_bytes)`(values.len())` long.
    pub fn decode_slice(self, bytes: &[u8], values: &mut [f64]) {
        assert_eq!(self.storage_bytes(values.len()), Some(bytes.len()), "{self}: length of the byte slice");
        match self {
            DType::F64 => decode_each(bytes, values, f64::from_le_bytes),
            DType::F32 => decode_each(bytes, values, |b| f64::from(f32::from_le_bytes(b))),
            DType::BF16 => decode_each(bytes, values, |b| bf16_value(u16::from_le_bytes(b))),
            DType::F16 => decode_each(bytes, values, |b| F16.decode(u16::from_le_bytes(b).into())),
            DType::I32 => decode_each(bytes, values, |b| f64::from(i32::from_le_bytes(b))),
            DType::I8 => decode_each(bytes, values, |b| f64::from(i8::from_le_bytes(b))),
            DType::U8 => decode_each(bytes, values, |[b]| f64::from(b)),
            DType::F8E4M3 => decode_each(bytes, values, |[b]| F8E4M3_VALUES[usize::from(b)]),
            DType::F8E5M2 => decode_each(bytes, values, |[b]| F8E5M2_VALUES[usize::from(b)]),
            DType::Bool => decode_each(bytes, values, |[b]| self.decode(b.into())),
            DType::I4 => {
                for (pair, &byte) in values.chunks_mut(2).zip(bytes) {
                    for (x, nibble) in pair.iter_mut().zip([byte, byte >> 4]) {
                        *x = self.decode(nibble.into());
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn encode_each<const N: usize>(values: &[f64], bytes: &mut [u8], encode: impl Fn(f64) -> [u8; N]) {
    for (x, stored) in values.iter().zip(bytes.as_chunks_mut::<N>().0) {
        *stored = encode(*x);
    }
}

#[inline(always)]
fn decode_each<const N: usize>(bytes: &[u8], values: &mut [f64], decode: impl Fn([u8; N]) -> f64) {
    for (stored, x) in bytes.as_chunks::<N>().0.iter().zip(values) {
        *x = decode(*stored);
    }
}
