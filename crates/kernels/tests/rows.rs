//! Row kernels: every config of every shape builds, and computes the reference.

#![allow(clippy::unwrap_used, reason = "a test stops at its first fault")]

mod common;

use common::{agree, all_agree, all_held, build, inputs, machine, problem};
use tilewright_dtype::Tensor;
use tilewright_ir::print;
use tilewright_kernels::Config;

const KERNELS: &[&str] = &[
    "softmax",
    "logsumexp",
    "cross_entropy",
    "rmsnorm",
    "rmsnorm residual",
    "layernorm",
    "layernorm residual",
];

/// A kernel's name and flags with sizes and dtype.
fn with(kernel: &str, rows: usize, cols: usize, dtype: &str) -> String {
    let (name, flags) = kernel.split_once(' ').unwrap_or((kernel, ""));
    format!("{name} rows={rows} cols={cols} dtype={dtype} {flags}").trim_end().to_string()
}

#[test]
fn every_config_of_every_shape_builds_and_prints_back() {
    for kernel in KERNELS {
        for (rows, cols) in [(1, 1), (1, 7), (5, 1), (17, 33), (3, 5000), (1, 393_216), (100_000, 3)] {
            for dtype in ["f32", "bf16", "f16"] {
                let (family, p) = problem(&with(kernel, rows, cols, dtype));
                let space = family.space(&p, &machine());
                assert!(space.configs.contains(&family.default_config(&p, &machine())), "{p}");
                for c in &space.configs {
                    build(family, &p, c);
                }
            }
        }
    }
}

#[test]
fn rotary_builds() {
    for (batch, heads, seq, d) in [(1, 1, 1, 2), (2, 3, 5, 6), (1, 32, 1, 128), (1, 7, 1000, 64)] {
        for dtype in ["f32", "bf16", "f16"] {
            let words = format!("rotary batch={batch} heads={heads} seq={seq} head_dim={d} dtype={dtype}");
            let (family, p) = problem(&words);
            for c in &family.space(&p, &machine()).configs {
                build(family, &p, c);
            }
        }
    }
}

#[test]
fn a_config_of_a_larger_problem_is_cut_down() {
    let (family, p) = problem("softmax rows=3 cols=5");
    let text = |br, bc| print(&build(family, &p, &Config::of(&[("br", br), ("bc", bc)])));
    assert_eq!(text(8, 4096), text(3, 5));
}

/// Whole rows, blocks that divide neither size, single elements.
const CUTS: &[&[(&str, usize)]] = &[
    &[("br", 1), ("bc", 1000)],
    &[("br", 4), ("bc", 1000)],
    &[("br", 3), ("bc", 7)],
    &[("br", 2), ("bc", 16)],
    &[("br", 8), ("bc", 1)],
];

#[test]
fn every_cut_computes_the_reference() {
    for kernel in KERNELS {
        for (rows, cols) in [(1, 1), (5, 1), (1, 33), (10, 48), (3, 257)] {
            for dtype in ["f32", "bf16", "f16"] {
                all_agree(&with(kernel, rows, cols, dtype), CUTS);
            }
        }
    }
}

#[test]
fn derived_bounds_decide_row_kernels() {
    for kernel in KERNELS {
        for dtype in ["f32", "bf16", "f16"] {
            all_held(&with(kernel, 5, 100, dtype), CUTS);
        }
    }
    all_held("rotary batch=1 heads=2 seq=9 head_dim=16 dtype=bf16", &[&[("bh", 2), ("bs", 4)]]);
}

/// Infinities and NaN early, late and everywhere, and the greatest finite numbers.
#[test]
fn rows_of_unusual_values_compute_the_reference() {
    let (inf, max, cols) = (f64::INFINITY, f64::from(f32::MAX), 20);
    let mut rows = vec![vec![0.0; cols], vec![-inf; cols], vec![max; cols], vec![-max; cols]];
    for (place, value) in
        [0, 9, cols - 1].into_iter().flat_map(|at| [inf, -inf, f64::NAN, max, -max].map(|v| (at, v)))
    {
        for other in [1.0, -inf] {
            let mut row = vec![other; cols];
            row[place] = value;
            rows.push(row);
        }
    }
    for kernel in ["softmax", "logsumexp", "cross_entropy"] {
        let (family, p) = problem(&with(kernel, rows.len(), cols, "f32"));
        for c in CUTS.iter().map(|c| Config::of(c)) {
            let program = build(family, &p, &c);
            let mut given = inputs(family, &p, &program, 0);
            let x = Tensor::from_f64(p.dtype(), &[rows.len(), cols], &rows.concat()).unwrap();
            given.insert("x".to_string(), x);
            agree(family, &p, &c, &program, &given);
        }
    }
}

#[test]
fn rotary_computes_the_reference() {
    let cuts: &[&[(&str, usize)]] =
        &[&[("bh", 1), ("bs", 1)], &[("bh", 2), ("bs", 3)], &[("bh", 8), ("bs", 64)]];
    all_agree("rotary batch=2 heads=3 seq=5 head_dim=6 dtype=f32", cuts);
    all_agree("rotary batch=1 heads=4 seq=17 head_dim=32 dtype=bf16", cuts);
    all_agree("rotary batch=3 heads=1 seq=1 head_dim=2 dtype=f16", cuts);
}

#[test]
fn a_space_gives_a_reason_for_each_config_it_leaves_out() {
    let (family, p) = problem("softmax rows=64 cols=50000");
    let space = family.space(&p, &machine());
    assert!(!space.pruned.is_empty());
    for (c, why) in &space.pruned {
        assert!(!space.configs.contains(c) && !why.is_empty(), "{c}: {why}");
    }
    // 32 KiB of L2 do not hold a row of 50000 f32: every config cuts it.
    assert!(space.configs.iter().all(|c| c.get("bc").unwrap() < 50_000), "{:?}", space.configs);
}
