//! Host tensors: storage, conversion in bulk, refusals.

use tilewright_dtype::{DType, Tensor};

/// Values that exercise every type: fractions, signs, specials, and beyond the range of the narrow ones.
fn values(n: usize) -> Vec<f64> {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e-7, 300.5, -1e9, 7.5];
    (0..n).map(|i| if i % 3 == 0 { special[i / 3 % 8] } else { (i as f64 - 20.0) * 0.37 }).collect()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }).collect()
}

#[test]
fn elements_and_bulk_agree_in_every_type() {
    let xs = values(61);
    for dtype in DType::ALL {
        let bulk = Tensor::from_f64(dtype, &[61], &xs).unwrap();
        let mut single = Tensor::zeros(dtype, &[61]).unwrap();
        // Downwards, so that a nibble written later must keep the one written before.
        (0..61).rev().for_each(|i| single.set(i, xs[i]));
        assert_eq!(bulk, single, "{dtype}");
        let read: Vec<f64> = (0..61).map(|i| bulk.get(i)).collect();
        assert_eq!(bits(&bulk.to_f64()), bits(&read), "{dtype}");
        let decoded: Vec<f64> = xs.iter().map(|x| dtype.decode(dtype.encode(*x))).collect();
        assert_eq!(bits(&read), bits(&decoded), "{dtype}");
        assert_eq!(Tensor::from_bytes(dtype, &[61], bulk.bytes()).unwrap(), bulk);
    }
}

#[test]
fn i4_packs_low_nibble_first() {
    let tensor = Tensor::from_f64(DType::I4, &[5], &[1.0, -2.0, 7.0, -8.0, 3.0]).unwrap();
    assert_eq!(tensor.bytes(), [0xE1, 0x87, 0x03]);
}

#[test]
fn bytes_are_little_endian() {
    assert_eq!(Tensor::from_f64(DType::BF16, &[2], &[1.0, -2.0]).unwrap().bytes(), [0x80, 0x3F, 0, 0xC0]);
    assert_eq!(Tensor::from_f64(DType::F32, &[], &[1.0]).unwrap().bytes(), [0, 0, 0x80, 0x3F]);
    assert_eq!(Tensor::from_f64(DType::Bool, &[3], &[0.0, 1.0, -3.0]).unwrap().bytes(), [0, 1, 1]);
}

#[test]
fn buffers_are_aligned_and_zero() {
    for shape in [&[0][..], &[], &[1], &[3, 7], &[1000]] {
        let mut tensor = Tensor::try_new(DType::F16, shape).unwrap();
        assert_eq!(tensor.as_ptr().align_offset(64), 0);
        assert_eq!(tensor.as_mut_ptr().align_offset(64), 0);
        assert_eq!(tensor.bytes().len(), 2 * tensor.len());
        assert!(tensor.bytes().iter().all(|b| *b == 0));
        if !tensor.is_empty() {
            assert_eq!(tensor.as_ptr(), tensor.bytes().as_ptr());
        }
        assert_eq!(tensor.clone().as_ptr().align_offset(64), 0);
    }
}

#[test]
fn poison_shows_and_checksums_notice() {
    for dtype in DType::ALL {
        let mut tensor = Tensor::zeros(dtype, &[9]).unwrap();
        let before = tensor.checksum();
        tensor.fill_poison();
        assert_ne!(tensor.checksum(), before, "{dtype}");
        if dtype.is_float() {
            assert!(tensor.to_f64().iter().all(|x| x.is_nan()), "{dtype}");
        } else {
            assert!(tensor.bytes().iter().all(|b| *b == 0x5A), "{dtype}");
        }
        let poisoned = tensor.checksum();
        tensor.set(8, 1.0);
        assert_ne!(tensor.checksum(), poisoned, "{dtype}");
    }
}

#[test]
fn casts_round_once() {
    let wide = Tensor::from_f64(DType::F64, &[2, 2], &[1.0 + 2f64.powi(-8) + 2f64.powi(-40), 0.1, -3.7, 1e9])
        .unwrap();
    let bf16 = wide.cast(DType::BF16).unwrap();
    assert_eq!(bf16.shape(), [2, 2]);
    assert_eq!(bf16.get(0), 1.0 + 2f64.powi(-7));
    assert_eq!(wide.cast(DType::I8).unwrap().to_f64(), [1.0, 0.0, -3.0, 127.0]);
}

#[test]
fn shapes_that_cannot_be_held_are_refused() {
    let overflow = Tensor::try_new(DType::F32, &[usize::MAX, 2]).unwrap_err();
    assert_eq!(overflow.code, "dtype/too-large");
    assert!(overflow.message.contains("1.476e20 bytes"), "{}", overflow.message);
    let bytes_overflow = Tensor::try_new(DType::F32, &[usize::MAX / 2]).unwrap_err();
    assert_eq!(bytes_overflow.code, "dtype/too-large");
    let isize_overflow = Tensor::try_new(DType::U8, &[isize::MAX as usize]).unwrap_err();
    assert_eq!(isize_overflow.code, "dtype/too-large");
    let beyond_memory = Tensor::try_new(DType::F32, &[1 << 22, 1 << 22]).unwrap_err();
    assert_eq!(beyond_memory.code, "dtype/too-large");
    assert!(beyond_memory.message.contains("70368744177664 bytes"), "{}", beyond_memory.message);
}

#[test]
fn data_of_another_length_are_refused() {
    let fault = Tensor::from_f64(DType::F32, &[2, 3], &[0.0; 5]).unwrap_err();
    assert_eq!(fault.code, "dtype/length-mismatch");
    assert_eq!(fault.message, "5 values for f32[2, 3]");
    assert_eq!(Tensor::from_bytes(DType::I4, &[3], &[0; 3]).unwrap_err().message, "3 bytes for i4[3]");
}
