//! Conversions against the bit-exact element types: every decode of 8 and 16 bits, encodes over all exponents.
#![allow(unsafe_code, reason = "calls the compiled conversions")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a fault of the run ends it")]

mod leaf_common;

use leaf_common::{Aligned, clang, levels, load};
use tilewright_dtype::DType;
use tilewright_target_cpu::features::CpuFeatures;
use tilewright_target_cpu::runtime::{Runtime, storage_type};

type Map = unsafe extern "C" fn(*const u8, *mut u8, i64);

const TYPES: [DType; 11] = DType::ALL;

fn bytes(dtype: DType) -> usize {
    (dtype.bits() as usize).div_ceil(8)
}

/// Loops over arrays in steps of `lanes`, one exported function a conversion.
fn module(features: CpuFeatures, lanes: usize) -> String {
    let mut rt = Runtime::new(features);
    let mut maps = String::new();
    for dtype in TYPES {
        let (s, f) = (format!("<{lanes} x {}>", storage_type(dtype)), format!("<{lanes} x float>"));
        let (decode, encode) = (rt.decode(dtype, lanes), rt.encode(dtype, lanes));
        maps += &map(&format!("decode_{dtype}"), &decode, &s, &f, lanes * bytes(dtype), lanes * 4);
        maps += &map(&format!("encode_{dtype}"), &encode, &f, &s, lanes * 4, lanes * bytes(dtype));
    }
    if lanes > 1 {
        let (whole, half) = (format!("<{lanes} x i8>"), format!("<{} x i8>", lanes / 2));
        let (unpack, pack) = (rt.unpack_i4(lanes), rt.pack_i4(lanes));
        maps += &map("unpack", &unpack, &half, &whole, lanes / 2, lanes);
        maps += &map("pack", &pack, &whole, &half, lanes, lanes / 2);
    }
    rt.text() + &maps
}

fn map(name: &str, function: &str, from: &str, to: &str, from_step: usize, to_step: usize) -> String {
    format!(
        "define void @{name}(ptr %in, ptr %out, i64 %steps) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %a = mul i64 %i, {from_step}
  %b = mul i64 %i, {to_step}
  %pa = getelementptr i8, ptr %in, i64 %a
  %pb = getelementptr i8, ptr %out, i64 %b
  %x = load {from}, ptr %pa, align 1
  %y = call {to} {function}({from} %x)
  store {to} %y, ptr %pb, align 1
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %steps
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"
    )
}

fn run(library: &libloading::Library, name: &str, input: &[u8], out_len: usize, steps: usize) -> Vec<u8> {
    let input = Aligned::of(input);
    let mut output = Aligned::new(out_len);
    // SAFETY: the function is one of `map`, and both buffers hold `steps` vectors.
    unsafe {
        library.get::<Map>(name.as_bytes()).unwrap()(
            input.ptr(),
            output.bytes_mut().as_mut_ptr(),
            steps as i64,
        )
    };
    output.bytes().to_vec()
}

/// f32 values of every exponent and both signs: all patterns a prime apart, and the neighbourhoods where targets round,
/// overflow and turn subnormal.
fn floats() -> Vec<f32> {
    let mut all: Vec<f32> = (0..=u32::MAX).step_by(20_011).map(f32::from_bits).collect();
    let mut edges = vec![0.0, 1.0, 0.5, 1.5, 2.5, 127.0, 128.0, 255.0, 256.0, 7.0, 8.0, 448.0, 464.0, 480.0];
    edges.extend([57344.0, 61440.0, 65504.0, 65520.0, 65536.0, 2147483648.0, f32::MAX, f32::INFINITY]);
    edges.extend((-160..128).map(|e| 2f64.powi(e) as f32));
    edges.extend((-160..128).map(|e| (1.5 * 2f64.powi(e)) as f32));
    for edge in edges {
        let bits = edge.to_bits();
        for near in bits.saturating_sub(3)..=bits.saturating_add(3) {
            all.extend([f32::from_bits(near), -f32::from_bits(near)]);
        }
    }
    for small in 0..=255u64 {
        // Every 8-bit float, and the halfway points between neighbours.
        for dtype in [DType::F8E4M3, DType::F8E5M2] {
            let (a, b) = (dtype.decode(small) as f32, dtype.decode(small + 1) as f32);
            let middle = (a + b) / 2.0;
            all.extend([
                a,
                middle,
                f32::from_bits(middle.to_bits() ^ 1),
                f32::from_bits(middle.to_bits() + 1),
            ]);
        }
    }
    all.resize(all.len().next_multiple_of(64), 0.0);
    all
}

#[test]
fn decodes_are_exact() {
    let Some(clang) = clang() else { return };
    for features in levels() {
        let lanes = features.lanes(DType::F32);
        let library = load(clang, &module(features, lanes), features);
        for dtype in TYPES {
            let patterns: Vec<u64> = match dtype {
                DType::I4 => (0..16).chain(0..48).collect(),
                _ if dtype.bits() <= 16 => (0..1 << dtype.bits()).collect(),
                DType::F64 => floats().iter().map(|x| (f64::from(*x) * 1.000_000_01).to_bits()).collect(),
                _ => floats().iter().map(|x| u64::from(x.to_bits())).collect(),
            };
            let size = bytes(dtype);
            // An unpacked i4 is sign-extended.
            let stored = |p: u64| if dtype == DType::I4 { dtype.decode(p) as i64 as u64 } else { p };
            let input: Vec<u8> =
                patterns.iter().flat_map(|p| stored(*p).to_le_bytes()[..size].to_vec()).collect();
            let name = format!("decode_{dtype}");
            let output = run(&library, &name, &input, patterns.len() * 4, patterns.len() / lanes);
            for (pattern, got) in patterns.iter().zip(output.chunks_exact(4)) {
                let got = f32::from_le_bytes(got.try_into().unwrap());
                let want = dtype.decode(*pattern) as f32;
                assert!(
                    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                    "{features} {dtype} {pattern:#x}: {got} for {want}"
                );
            }
        }
    }
}

#[test]
fn encodes_round_once() {
    let Some(clang) = clang() else { return };
    let values = floats();
    let input: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    for features in levels() {
        // One register, more than one, and a narrow vector.
        let full = features.lanes(DType::F32);
        for lanes in [full, 2 * full, 2] {
            let library = load(clang, &module(features, lanes), features);
            for dtype in TYPES {
                let size = bytes(dtype);
                let name = format!("encode_{dtype}");
                let output = run(&library, &name, &input, values.len() * size, values.len() / lanes);
                for (value, got) in values.iter().zip(output.chunks_exact(size)) {
                    let mut word = [0; 8];
                    word[..size].copy_from_slice(got);
                    let got = u64::from_le_bytes(word);
                    let want = dtype.encode(f64::from(*value));
                    let keep = if dtype == DType::I4 { 15 } else { u64::MAX };
                    let nan = dtype.is_float() && dtype.decode(want).is_nan() && dtype.decode(got).is_nan();
                    let extended = dtype != DType::I4 || (got as i8) == dtype.decode(want) as i8;
                    assert!(
                        (got & keep == want || nan) && extended,
                        "{features} {lanes} lanes: {dtype} of {value:e} ({:#010x}) is {got:#x}, not {want:#x}",
                        value.to_bits()
                    );
                }
            }
        }
    }
}

#[test]
fn nan_stays_quiet_and_keeps_its_sign() {
    let Some(clang) = clang() else { return };
    let nans = [
        0x7f80_0001_u32,
        0xff80_0001,
        0x7fff_ffff,
        0xffff_ffff,
        0x7fc0_0000,
        0xffc0_0000,
        0x7f81_2345,
        0xffa0_0000,
    ];
    let input: Vec<u8> = nans.iter().cycle().take(16).flat_map(|v| v.to_le_bytes()).collect();
    for features in levels() {
        let library = load(clang, &module(features, 4), features);
        for dtype in [DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2] {
            let size = bytes(dtype);
            let output = run(&library, &format!("encode_{dtype}"), &input, 16 * size, 4);
            for (nan, got) in nans.iter().zip(output.chunks_exact(size)) {
                let top = got[size - 1];
                assert_eq!(top >> 7, (nan >> 31) as u8, "{features} {dtype} {nan:#x}");
                let mut word = [0; 8];
                word[..size].copy_from_slice(got);
                assert!(dtype.decode(u64::from_le_bytes(word)).is_nan(), "{features} {dtype} {nan:#x}");
            }
        }
    }
}

#[test]
fn nibbles_go_low_first() {
    let Some(clang) = clang() else { return };
    let packed: Vec<u8> = (0..=255).collect();
    for features in levels() {
        let lanes = features.lanes(DType::I8);
        let library = load(clang, &module(features, lanes), features);
        let unpacked = run(&library, "unpack", &packed, 512, 512 / lanes);
        for (byte, pair) in packed.iter().zip(unpacked.chunks_exact(2)) {
            let want = [byte << 4, byte & 0xf0].map(|b| (b as i8 >> 4) as u8);
            assert_eq!(pair, want, "{features} {byte:#x}");
        }
        assert_eq!(run(&library, "pack", &unpacked, 256, 512 / lanes), packed, "{features}");
    }
}
