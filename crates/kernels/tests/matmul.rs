//! Matrix products, transposes and casts: every config of every shape builds, and computes the reference.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at its first fault")]

mod common;

use common::{agree, all_agree, build, inputs, machine, problem};
use tilewright_dtype::Tensor;
use tilewright_interp::{Accuracy, Domain, Options, Verdict, run};
use tilewright_ir::{DType, print};
use tilewright_kernels::{Config, Gemm, Inputs, Machine, epilogue, family, matmul_program};

/// A server's core: 16 lanes, 48 KiB, 2 MiB.
fn server(cores: usize) -> Machine {
    Machine { lanes: 16, l1_bytes: 48 << 10, l2_bytes: 2 << 20, l3_bytes: 64 << 20, cores }
}

const VARIANTS: &[&str] = &[
    "dtype=f32",
    "dtype=bf16 ta",
    "dtype=f16 tb",
    "dtype=f8e4m3fn ta tb",
    "dtype=f8e5m2 out=f32",
    "dtype=i8",
    "dtype=u8 tb out=i32",
    "dtype=u8 weights=i4 epilogue=row_scale+bias+gelu",
    "dtype=f32 epilogue=bias+gelu+residual",
    "dtype=bf16 epilogue=gated prologue=row_scale+col_scale",
    "dtype=f16 epilogue=scale+col_scale+row_scale+silu prologue=relu",
];

#[test]
fn every_config_of_every_shape_builds_and_prints_back() {
    for variant in VARIANTS {
        for (m, n, k, batch) in
            [(1, 1, 1, 1), (1, 300, 17, 1), (70, 1, 300, 3), (33, 65, 129, 2), (1000, 1000, 1000, 1)]
        {
            let (family, p) = problem(&format!("matmul m={m} n={n} k={k} batch={batch} {variant}"));
            let space = family.space(&p, &machine());
            assert_eq!(space.configs[0], family.default_config(&p, &machine()), "{p}");
            for c in &space.configs {
                build(family, &p, c);
            }
        }
    }
    for words in [
        "transpose rows=1 cols=1",
        "transpose rows=300 cols=77 dtype=i8",
        "cast rows=9 cols=1000 from=f32 to=i8",
    ] {
        let (family, p) = problem(words);
        let space = family.space(&p, &machine());
        assert!(space.configs.contains(&family.default_config(&p, &machine())), "{p}");
        for c in &space.configs {
            build(family, &p, c);
        }
    }
}

#[test]
fn spaces_are_of_a_size_to_be_measured_and_say_why_the_rest_is_not() {
    for (words, cores) in [
        ("m=1024 n=1024 k=1024 dtype=f32", 2),
        ("m=4096 n=4096 k=4096 dtype=bf16", 64),
        ("m=128 n=3072 k=768 dtype=f32 epilogue=bias+gelu tb", 2),
        ("m=512 n=11008 k=4096 dtype=bf16 epilogue=gated", 16),
    ] {
        let (family, p) = problem(&format!("matmul {words}"));
        let space = family.space(&p, &server(cores));
        assert!((20..=60).contains(&space.configs.len()), "{p}: {}", space.configs.len());
        assert!(space.pruned.iter().all(|(c, why)| !space.configs.contains(c) && !why.is_empty()));
    }
}

#[test]
fn the_split_of_the_sums_does_not_depend_on_the_rows() {
    let bk = |m: usize| {
        let (family, p) = problem(&format!("matmul m={m} n=768 k=3000 dtype=f32"));
        family.default_config(&p, &server(2)).get("bk").unwrap()
    };
    assert!([2, 7, 64, 5000].into_iter().all(|m| bk(m) == bk(1)));
}

#[test]
fn a_config_of_a_larger_problem_is_cut_down() {
    let (family, p) = problem("matmul m=3 n=5 k=7");
    let text = |bm, bn, bk| print(&build(family, &p, &Config::of(&[("bm", bm), ("bn", bn), ("bk", bk)])));
    assert_eq!(text(64, 64, 64), text(3, 5, 7));
}

#[test]
fn the_order_of_the_grid_is_the_configs() {
    let (family, p) = problem("matmul m=64 n=64 k=64 batch=3");
    let grid = |order| {
        let c = Config::of(&[("bm", 32), ("bn", 16), ("bk", 64), ("order", order)]);
        let program = build(family, &p, &c);
        program.kernels[0].grid.iter().map(|g| (g.name.clone(), g.extent)).collect::<Vec<_>>()
    };
    let named = |dims: [(&str, usize); 3]| dims.map(|(n, e)| (n.to_string(), e)).to_vec();
    assert_eq!(grid(1), named([("batch", 3), ("j", 4), ("i", 2)]));
    assert_eq!(grid(2), named([("batch", 3), ("i", 2), ("j", 4)]));
    let third = Config::of(&[("bm", 32), ("bn", 16), ("bk", 64), ("order", 3)]);
    assert_eq!(family.build(&p, &third).unwrap_err().code, "config/value");
}

#[test]
fn a_fused_kernel_is_a_closure() {
    let config = Config::of(&[("bm", 8), ("bn", 16), ("bk", 32)]);
    let program = matmul_program(
        &Gemm { tb: true, ..Gemm::new(10, 20, 40, DType::BF16) },
        &config,
        &|block, x| (x.cast(DType::F32) * block.per_row("inverse_rms", DType::F32)).cast(DType::BF16),
        &|block, [gate, up]| epilogue::swiglu(gate, up) + block.same("residual", DType::F32),
    );
    let text = print(&program.unwrap());
    let head = text.lines().next().unwrap();
    assert_eq!(
        head,
        "kernel matmul(a: bf16[10,40] pad 0.0, b: bf16[20,40] pad 0.0, b2: bf16[20,40] pad 0.0, \
         inverse_rms: f32[10,1] pad 0.0, residual: f32[10,20]) -> (o: bf16[10,20])"
    );
}

#[test]
fn conflicts_in_a_problem_are_named() {
    for (words, what) in [
        ("dtype=f32 out=i32", "out=i32"),
        ("dtype=bf16 weights=i4", "weights=i4"),
        ("dtype=i8 out=i32 epilogue=bias", "out=i32 with an epilogue"),
        ("dtype=f8e5m2 prologue=relu", "prologue"),
        ("dtype=u8 epilogue=gated", "epilogue=gated"),
        ("dtype=u8 k=65794", "so large a k"),
    ] {
        let size = if words.contains("k=6") { "m=1 n=1" } else { "m=1 n=1 k=1" };
        let words: Vec<&str> = size.split(' ').chain(words.split(' ')).collect();
        let matmul = family("matmul").unwrap();
        let p = tilewright_kernels::Problem::parse("matmul", matmul.keys(), &words).unwrap();
        let fault = matmul.validate(&p).unwrap_err();
        assert_eq!(fault.code, "problem/conflict");
        assert!(fault.message.starts_with(&format!("no kernel has {what} in")), "{fault}");
    }
}

/// Tiles that divide the sizes, that do not, of one element, and that are larger.
const CONFIGS: &[&[(&str, usize)]] = &[
    &[("bm", 4), ("bn", 8), ("bk", 4)],
    &[("bm", 7), ("bn", 3), ("bk", 5), ("order", 2)],
    &[("bm", 1), ("bn", 64), ("bk", 1), ("order", 1)],
    &[("bm", 64), ("bn", 64), ("bk", 64)],
];

#[test]
fn products_agree_with_the_reference() {
    for variant in VARIANTS {
        for (m, n, k, batch) in [(1, 1, 1, 1), (8, 16, 12, 1), (9, 13, 11, 3), (1, 20, 70, 2), (17, 1, 6, 1)]
        {
            all_agree(&format!("matmul m={m} n={n} k={k} batch={batch} {variant}"), CONFIGS);
        }
    }
}

#[test]
fn every_step_agrees_alone_and_in_any_order() {
    let epilogues = "bias relu gelu gelu_erf silu residual scale row_scale col_scale gated";
    for word in epilogues.split(' ') {
        for batch in [1, 2] {
            all_agree(&format!("matmul m=5 n=9 k=7 batch={batch} epilogue={word}"), CONFIGS);
            all_agree(
                &format!("matmul m=5 n=9 k=7 batch={batch} epilogue=residual+{word}")
                    .replace("residual+residual", "residual"),
                CONFIGS,
            );
        }
    }
    for word in "relu gelu gelu_erf silu scale row_scale col_scale".split(' ') {
        all_agree(&format!("matmul m=5 n=9 k=7 batch=2 ta prologue={word}"), CONFIGS);
    }
    all_agree(
        "matmul m=6 n=6 k=6 epilogue=gelu+bias+scale+gated+row_scale+residual prologue=scale+silu",
        CONFIGS,
    );
    all_agree("matmul m=6 n=6 k=6 epilogue=relu+residual+scale+bias prologue=silu+scale", CONFIGS);
}

#[test]
fn steps_agree_far_from_zero() {
    let extremes =
        [0.0, -0.0, 1e-30, 0.3, -0.3, 9.9, -9.9, 10.1, -10.1, 88.0, -90.0, 1e4, -1e4, 1e20, -1e20, f64::NAN];
    for word in ["relu", "gelu", "gelu_erf", "silu"] {
        let (family, p) = problem(&format!("matmul m=16 n=1 k=1 epilogue={word}"));
        let c = Config::of(&[("bm", 16), ("bn", 1), ("bk", 1)]);
        let program = build(family, &p, &c);
        let mut given = inputs(family, &p, &program, 0);
        given.insert("a".into(), Tensor::from_f64(DType::F32, &[16, 1], &extremes).unwrap());
        given.insert("b".into(), Tensor::from_f64(DType::F32, &[1, 1], &[1.0]).unwrap());
        agree(family, &p, &c, &program, &given);
    }
}

#[test]
fn transposes_and_casts_agree_with_the_reference() {
    let configs: &[&[(&str, usize)]] = &[
        &[("br", 3), ("bc", 4)],
        &[("br", 1), ("bc", 100)],
        &[("br", 5), ("bc", 1)],
        &[("br", 64), ("bc", 64)],
    ];
    for (rows, cols) in [(1, 1), (1, 9), (7, 1), (6, 8), (13, 5)] {
        for dtype in ["f32", "f8e5m2", "i8"] {
            all_agree(&format!("transpose rows={rows} cols={cols} dtype={dtype}"), configs);
        }
        for cast in
            ["from=f32 to=bf16", "from=f8e4m3fn to=f16", "from=f32 to=i8", "from=i8 to=u8", "from=i32 to=f32"]
        {
            all_agree(&format!("cast rows={rows} cols={cols} {cast}"), configs);
        }
    }
}

#[test]
fn integer_sums_reach_their_extremes_exactly() {
    for (dtype, b, least) in [("i8", -128.0, -128.0), ("u8", -128.0, 255.0)] {
        let (family, p) = problem(&format!("matmul m=3 n=5 k=700 dtype={dtype} out=i32"));
        let c = Config::of(&[("bm", 2), ("bn", 4), ("bk", 64)]);
        let program = build(family, &p, &c);
        let fill = |name: &str, dtype, dims: [usize; 2], x: f64| {
            (name.to_string(), Tensor::from_f64(dtype, &dims, &vec![x; dims[0] * dims[1]]).unwrap())
        };
        let given = Inputs::from([fill("a", p.dtype(), [3, 700], least), fill("b", DType::I8, [700, 5], b)]);
        agree(family, &p, &c, &program, &given);
        let made = run(&program, &given, Domain::Exact, &Options::default()).unwrap();
        assert!(made.outputs["o"].v.iter().all(|&x| x == 700.0 * b * least));
    }
}

#[test]
fn the_bound_covers_the_exact_result() {
    for variant in VARIANTS {
        let (family, p) = problem(&format!("matmul m=9 n=13 k=33 {variant}"));
        let c = Config::of(&[("bm", 4), ("bn", 8), ("bk", 16)]);
        let program = build(family, &p, &c);
        let given = inputs(family, &p, &program, 1);
        let exact = run(&program, &given, Domain::Exact, &Options::default()).unwrap();
        let bound = run(&program, &given, Domain::Bound(Accuracy::ieee()), &Options::default()).unwrap();
        for (i, &x) in exact.outputs["o"].v.iter().enumerate() {
            assert_eq!(bound.outputs["o"].judge(i, x), Verdict::Held, "{p}: element {i}");
        }
    }
}

#[test]
fn bounds_stay_finite_where_sums_are_large_or_cancel() {
    for word in ["relu", "gelu", "gelu_erf", "silu"] {
        let (family, p) = problem(&format!("matmul m=4 n=1 k=3 epilogue={word}"));
        let c = Config::of(&[("bm", 4), ("bn", 1), ("bk", 2)]);
        let program = build(family, &p, &c);
        let a = [1e9, -1e9, 3.0, 1e18, 1.0, -1e18, -1e30, 0.0, 1e10, 1e30, 1e30, 1e30];
        let a = Tensor::from_f64(DType::F32, &[4, 3], &a).unwrap();
        let b = Tensor::from_f64(DType::F32, &[3, 1], &[1.0, 1.0, 1.0]).unwrap();
        let given = Inputs::from([("a".to_string(), a), ("b".to_string(), b)]);
        let bound = run(&program, &given, Domain::Bound(Accuracy::ieee()), &Options::default()).unwrap();
        let e = bound.outputs["o"].e.clone().unwrap();
        assert!(e.iter().all(|e| e.is_finite()), "{word}: {e:?}");
    }
}

#[test]
fn work_counts_each_operand_once() {
    let work = |words: &str| {
        let (family, p) = problem(words);
        family.work(&p)
    };
    let plain = work("matmul m=2 n=3 k=5 batch=7 dtype=bf16");
    assert_eq!((plain.flops, plain.bytes, plain.transcendentals), (420.0, 7.0 * 62.0, 0.0));
    let fused =
        work("matmul m=2 n=3 k=5 batch=7 dtype=bf16 prologue=row_scale epilogue=gelu+bias+residual+gated");
    let added = 7.0 * 30.0 + 7.0 * 2.0 * 4.0 + 3.0 * 2.0 + 7.0 * 12.0;
    assert_eq!((fused.flops, fused.bytes, fused.transcendentals), (840.0, 7.0 * 62.0 + added, 2.0 * 42.0));
    let quantised = work("matmul m=2 n=4 k=6 dtype=u8 weights=i4 epilogue=scale");
    assert_eq!(quantised.bytes, 12.0 + 12.0 + 32.0 + 16.0 + 4.0);
    assert_eq!(work("transpose rows=3 cols=5 dtype=bf16").bytes, 60.0);
    assert_eq!(work("cast rows=3 cols=5 from=f32 to=i8").bytes, 75.0);
}
