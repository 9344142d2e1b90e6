//! Row kernels: every config of every shape builds, and computes the reference.

mod common;

use common::{build, machine, problem};
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
