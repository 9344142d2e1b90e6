//! Dot micro-kernels and packing against sums over the decoded elements: all operand pairs, layouts and edges.
#![allow(unsafe_code, reason = "calls the compiled kernels")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a fault of the run ends it")]

mod leaf_common;

use std::rc::Rc;

use leaf_common::{Aligned, DOT_ARGS, Dot, PACK_ARGS, Pack, clang, export, levels, load};
use tilewright_dtype::DType;
use tilewright_target_cpu::features::CpuFeatures;
use tilewright_target_cpu::micro::{MicroSpec, Rows, Unit};
use tilewright_target_cpu::runtime::Runtime;

const PAIRS: [(DType, DType); 12] = [
    (DType::F32, DType::F32),
    (DType::BF16, DType::BF16),
    (DType::F16, DType::F16),
    (DType::F8E4M3, DType::F8E4M3),
    (DType::F8E5M2, DType::F8E4M3),
    (DType::F32, DType::BF16),
    (DType::I8, DType::I8),
    (DType::U8, DType::I8),
    (DType::I8, DType::U8),
    (DType::U8, DType::U8),
    (DType::I8, DType::I4),
    (DType::I4, DType::I4),
];

/// A matrix of small values, exact in every dtype that holds them, at a row stride with garbage between the rows.
struct Matrix {
    rows: usize,
    columns: usize,
    stride: usize,
    data: Aligned,
    values: Vec<f64>,
}

impl Matrix {
    fn random(rows: usize, columns: usize, dtype: DType, seed: u64) -> Matrix {
        let width = dtype.storage_bytes(columns).unwrap();
        let stride = width + 6;
        // The last row ends where the buffer ends.
        let mut data = Aligned::new((rows * stride).saturating_sub(6));
        // NaN or a large integer wherever nothing may be read.
        data.bytes_mut().fill(0xff);
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut values = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let random = (state >> 33) as i64;
                let value = match dtype.int_range() {
                    Some((low, high)) => (low + random.rem_euclid(high - low + 1)) as f64,
                    // Multiples of 1/4 below 4 in magnitude: exact in 4 significant bits, and so are their sums in f32.
                    None => (random % 8) as f64 * 0.25,
                };
                values.push(value);
                let bits = dtype.encode(value);
                let at = row * stride + dtype.storage_bytes(column + 1).unwrap()
                    - (dtype.bits() as usize).div_ceil(8);
                if dtype == DType::I4 {
                    let byte = &mut data.bytes_mut()[at];
                    let shift = column % 2 * 4;
                    *byte = *byte & !(15 << shift) | (bits as u8) << shift;
                } else {
                    let size = dtype.bits() as usize / 8;
                    data.bytes_mut()[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
                }
            }
        }
        Matrix { rows, columns, stride, data, values }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }
}

struct Kernel {
    spec: MicroSpec,
    dot: Dot,
    pack_a: [Pack; 2],
    pack_b: [Pack; 2],
    _library: Rc<libloading::Library>,
}

/// Compiles one module with the functions of all `specs`, which are for one CPU.
fn compile(clang: &str, specs: Vec<MicroSpec>) -> Vec<Kernel> {
    let features = specs[0].features;
    let mut rt = Runtime::new(features);
    let layouts = [Rows::K, Rows::Width];
    let mut exports = String::new();
    for (s, spec) in specs.iter().enumerate() {
        exports += &export(&format!("dot{s}"), &rt.dot(spec), DOT_ARGS);
        for (index, rows) in layouts.into_iter().enumerate() {
            exports += &export(&format!("pack_a{s}_{index}"), &rt.pack(&spec.pack_a(rows)), PACK_ARGS);
            exports += &export(&format!("pack_b{s}_{index}"), &rt.pack(&spec.pack_b(rows)), PACK_ARGS);
        }
    }
    let library = Rc::new(load(clang, &(rt.text() + &exports), features));
    let kernel = |(s, spec): (usize, MicroSpec)| {
        // SAFETY: the names and types are those of the exports.
        let (dot, pack_a, pack_b) = unsafe {
            let pack = |name: String| *library.get::<Pack>(name.as_bytes()).unwrap();
            (
                *library.get::<Dot>(format!("dot{s}").as_bytes()).unwrap(),
                [0, 1].map(|index| pack(format!("pack_a{s}_{index}"))),
                [0, 1].map(|index| pack(format!("pack_b{s}_{index}"))),
            )
        };
        Kernel { spec, dot, pack_a, pack_b, _library: Rc::clone(&library) }
    };
    specs.into_iter().enumerate().map(kernel).collect()
}

/// One product: shapes, which layouts the operands lie in, and how much of the block is real.
#[derive(Clone, Copy, Debug)]
struct Case {
    m: usize,
    n: usize,
    k: usize,
    a_transposed: bool,
    b_transposed: bool,
    in_place: bool,
    /// Columns and depth beyond the operands that packing fills with zeros.
    extra: usize,
    zero: bool,
}

impl Kernel {
    fn check(&self, case: Case) {
        let Case { m, n, k, .. } = case;
        let spec = &self.spec;
        let seed = (m * 1000 + n * 100 + k) as u64;
        let a = if case.a_transposed {
            Matrix::random(k, m, spec.a, seed)
        } else {
            Matrix::random(m, k, spec.a, seed)
        };
        let b = if case.b_transposed {
            Matrix::random(n, k, spec.b, seed + 7)
        } else {
            Matrix::random(k, n, spec.b, seed + 7)
        };
        let (n_all, k_all) = (n + case.extra, if case.in_place { k } else { k + case.extra });
        let (n64, k64) = (n_all as i64, k_all as i64);

        let panels = n_all.div_ceil(spec.nr());
        let b_ps = spec.b_panel_bytes(k_all).next_multiple_of(64);
        let mut b_packed = Aligned::new(panels * b_ps);
        b_packed.bytes_mut().fill(0xff);
        let pack_b = self.pack_b[usize::from(case.b_transposed)];
        // SAFETY (here and below): sizes and strides are those of the buffers.
        unsafe {
            let to = b_packed.bytes_mut().as_mut_ptr();
            pack_b(b.data.ptr(), b.stride as i64, k64, n64, k as i64, n as i64, to, b_ps as i64);
        }
        let a_ts = spec.a_panel_bytes(k_all);
        let mut a_packed = Aligned::new(m.div_ceil(spec.mr) * a_ts);
        a_packed.bytes_mut().fill(0xff);
        let (a_ptr, a_ts, a_rs, a_ks) = if case.in_place {
            (a.data.ptr(), (spec.mr * a.stride) as i64, a.stride as i64, 4)
        } else {
            let pack_a = self.pack_a[usize::from(!case.a_transposed)];
            unsafe {
                let to = a_packed.bytes_mut().as_mut_ptr();
                pack_a(a.data.ptr(), a.stride as i64, k64, m as i64, k as i64, m as i64, to, a_ts as i64);
            }
            (a_packed.ptr(), a_ts as i64, 4, 4 * spec.mr as i64)
        };

        let columns = panels * spec.nr();
        let c_rs = columns * 4 + 64;
        let mut c = Aligned::new(m * c_rs);
        let integer = spec.acc() == DType::I32;
        for (index, word) in c.bytes_mut().chunks_exact_mut(4).enumerate() {
            let old = (index % 5) as i32;
            word.copy_from_slice(&if integer { old.to_le_bytes() } else { (old as f32).to_le_bytes() });
        }
        let before = c.bytes().to_vec();
        unsafe {
            let c_ptr = c.bytes_mut().as_mut_ptr();
            (self.dot)(
                a_ptr,
                a_ts,
                a_rs,
                a_ks,
                b_packed.ptr(),
                b_ps as i64,
                k64,
                c_ptr,
                c_rs as i64,
                m as i64,
                n64,
                case.zero,
            );
        }
        for row in 0..m {
            for column in 0..c_rs / 4 {
                let at = row * c_rs + column * 4;
                let word = |bytes: &[u8]| -> f64 {
                    let four: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
                    if integer { i32::from_le_bytes(four).into() } else { f32::from_le_bytes(four).into() }
                };
                let old = if case.zero && column < columns { 0.0 } else { word(&before) };
                let product: f64 = if column >= n {
                    0.0
                } else {
                    (0..k)
                        .map(|e| {
                            let x = if case.a_transposed { a.at(e, row) } else { a.at(row, e) };
                            let y = if case.b_transposed { b.at(column, e) } else { b.at(e, column) };
                            x * y
                        })
                        .sum()
                };
                assert_eq!(
                    word(c.bytes()),
                    old + product,
                    "{} {}·{} {case:?}: row {row}, column {column}",
                    spec.features,
                    spec.a,
                    spec.b
                );
            }
        }
        assert_eq!((a.rows, b.rows), if case.a_transposed { (k, b.rows) } else { (m, b.rows) });
    }
}

fn check_all(clang: &str, specs: Vec<MicroSpec>) {
    for kernel in compile(clang, specs) {
        let (mr, nr) = (kernel.spec.mr, kernel.spec.nr());
        // Two i4 share a byte, and a panel of an odd number of rows would begin inside one.
        let odd_i4 = kernel.spec.a == DType::I4 && mr % 2 == 1;
        let shapes = [
            (1, 1, 1),
            (mr, nr, 16),
            (mr + 1, nr + 1, 17),
            (2 * mr - 1, 2 * nr - 1, 35),
            (3, 5, 2),
            (2, 3, 3),
            (2 * mr + 2, nr / 2, 64),
            (5, 2 * nr, 70),
        ];
        for (index, (m, n, k)) in shapes.into_iter().enumerate() {
            for (a_transposed, b_transposed) in [(false, false), (!odd_i4, true)] {
                let case = Case {
                    m,
                    n,
                    k,
                    a_transposed,
                    b_transposed,
                    in_place: false,
                    extra: index % 3 * 9,
                    zero: index % 2 == 0,
                };
                kernel.check(case);
                if kernel.spec.a_in_place() && !a_transposed {
                    kernel.check(Case { in_place: true, ..case });
                }
            }
        }
        kernel.check(Case {
            m: 0,
            n: 3,
            k: 4,
            a_transposed: false,
            b_transposed: false,
            in_place: false,
            extra: 0,
            zero: true,
        });
    }
}

#[test]
fn products_of_every_pair_are_exact() {
    let Some(clang) = clang() else { return };
    for features in levels() {
        check_all(clang, PAIRS.map(|(a, b)| MicroSpec::new(a, b, features).unwrap()).to_vec());
    }
}

#[test]
fn other_tiles_are_exact_too() {
    let Some(clang) = clang() else { return };
    let features = CpuFeatures::detect();
    for (mr, nr_vectors) in [(1, 4), (5, 3)] {
        let pairs = [PAIRS[0], PAIRS[1], PAIRS[6], PAIRS[11]];
        let specs =
            pairs.map(|(a, b)| MicroSpec { mr, nr_vectors, ..MicroSpec::new(a, b, features).unwrap() });
        check_all(clang, specs.to_vec());
    }
}

#[test]
fn fixed_strides_and_depth_change_nothing() {
    let Some(clang) = clang() else { return };
    for features in levels() {
        let pairs = [(DType::F32, DType::F32), (DType::BF16, DType::BF16), (DType::I8, DType::I8)];
        let specs = pairs.map(|(a, b)| {
            let mut spec = MicroSpec::new(a, b, features).unwrap();
            let m = 2 * spec.mr + 1;
            spec = spec.for_rows(m);
            (spec.a_rs, spec.a_ks, spec.k, spec.m) =
                (Some(4), Some(4 * spec.mr as i64), Some(37), Some(m as i64));
            spec
        });
        for kernel in compile(clang, specs.to_vec()) {
            kernel.check(Case {
                m: kernel.spec.m.unwrap_or(0) as usize,
                n: kernel.spec.nr() + 3,
                k: 37,
                a_transposed: false,
                b_transposed: false,
                in_place: false,
                extra: 0,
                zero: false,
            });
        }
    }
}

#[test]
fn few_rows_and_widened_products_are_exact() {
    let Some(clang) = clang() else { return };
    for features in levels() {
        let specs: Vec<MicroSpec> = [1, 2, 5, 13]
            .map(|m| MicroSpec {
                m: Some(m as i64),
                ..MicroSpec::new(DType::BF16, DType::BF16, features).unwrap().widened().for_rows(m)
            })
            .to_vec();
        for kernel in compile(clang, specs) {
            assert_eq!(MicroSpec::column_multiple(features) % kernel.spec.nr(), 0);
            assert!(!kernel.spec.flushes_subnormals());
            kernel.check(Case {
                m: kernel.spec.m.unwrap_or(0) as usize,
                n: kernel.spec.nr() + 1,
                k: 9,
                a_transposed: false,
                b_transposed: false,
                in_place: false,
                extra: 1,
                zero: true,
            });
        }
    }
}

#[test]
fn integer_sums_wrap_and_do_not_saturate() {
    let Some(clang) = clang() else { return };
    for features in levels() {
        // The extremes of every product, long enough that a saturating 16-bit pair would show.
        let extremes = [
            (DType::U8, DType::I8, 255.0, -128.0),
            (DType::I8, DType::I8, -128.0, -128.0),
            (DType::I8, DType::I8, -128.0, 127.0),
            (DType::U8, DType::U8, 255.0, 255.0),
            (DType::I8, DType::U8, -128.0, 255.0),
        ];
        let specs = extremes.map(|(a, b, ..)| {
            let spec = MicroSpec::new(a, b, features).unwrap();
            MicroSpec { m: Some(spec.mr as i64), ..spec }
        });
        for (kernel, (a, b, x, y)) in compile(clang, specs.to_vec()).into_iter().zip(extremes) {
            let spec = &kernel.spec;
            let (m, n, k) = (spec.mr, spec.nr(), 1024);
            let a_data = Aligned::of(&vec![a.encode(x) as u8; m * k]);
            let b_data = Aligned::of(&vec![b.encode(y) as u8; n * k]);
            let mut a_packed = Aligned::new(spec.a_panel_bytes(k));
            let mut b_packed = Aligned::new(spec.b_panel_bytes(k));
            let mut c = Aligned::new(m * n * 4);
            let (m64, n64, k64) = (m as i64, n as i64, k as i64);
            let (a_ts, b_ps) = (a_packed.len as i64, b_packed.len as i64);
            // SAFETY: sizes and strides are those of the buffers.
            unsafe {
                kernel.pack_a[1](
                    a_data.ptr(),
                    k64,
                    k64,
                    m64,
                    k64,
                    m64,
                    a_packed.bytes_mut().as_mut_ptr(),
                    a_ts,
                );
                kernel.pack_b[1](
                    b_data.ptr(),
                    k64,
                    k64,
                    n64,
                    k64,
                    n64,
                    b_packed.bytes_mut().as_mut_ptr(),
                    b_ps,
                );
                let c_ptr = c.bytes_mut().as_mut_ptr();
                let a_ks = 4 * m64;
                (kernel.dot)(
                    a_packed.ptr(),
                    a_ts,
                    4,
                    a_ks,
                    b_packed.ptr(),
                    b_ps,
                    k64,
                    c_ptr,
                    n64 * 4,
                    m64,
                    n64,
                    true,
                );
            }
            let want = (x * y) as i32 * k as i32;
            for word in c.bytes().chunks_exact(4) {
                assert_eq!(i32::from_le_bytes(word.try_into().unwrap()), want, "{features} {a}·{b} {x}·{y}");
            }
        }
    }
}

#[test]
fn operands_that_do_not_mix_are_refused() {
    for (a, b) in [(DType::F32, DType::I8), (DType::I32, DType::I32), (DType::F64, DType::F64)] {
        assert_eq!(MicroSpec::new(a, b, CpuFeatures::BASELINE).unwrap_err().code, "cpu/dot-dtypes");
    }
}

#[test]
fn the_text_is_the_same_whatever_the_order_of_requests() {
    let features = CpuFeatures::AVX512_BF16_VNNI;
    let specs = PAIRS.map(|(a, b)| MicroSpec::new(a, b, features).unwrap());
    let text = |order: &mut dyn Iterator<Item = &MicroSpec>| {
        let mut rt = Runtime::new(features);
        for spec in order {
            rt.dot(spec);
            rt.pack(&spec.pack_b(Rows::K));
            rt.dot(spec);
        }
        rt.text()
    };
    assert_eq!(text(&mut specs.iter()), text(&mut specs.iter().rev()));
    let units: Vec<Unit> = specs.iter().map(|s| s.unit).collect();
    assert!(units.contains(&Unit::Bf16x2) && units.contains(&Unit::I8x4) && units.contains(&Unit::I16x2));
}
