//! Attention and decode attention: every config builds, and computes the reference.

mod common;

use common::{build, machine, problem};

const PREFILL: &[&str] = &[
    "attention batch=1 heads=1 kv_heads=1 q_len=1 kv_len=1 head_dim=32",
    "attention batch=2 heads=4 kv_heads=2 q_len=17 kv_len=33 head_dim=40 causal",
    "attention batch=1 heads=3 kv_heads=1 q_len=50 kv_len=20 head_dim=64 causal lengths",
    "attention batch=1 heads=2 kv_heads=2 q_len=100 kv_len=300 head_dim=256 window=37",
    "attention batch=1 heads=2 kv_heads=2 q_len=100 kv_len=300 head_dim=256 causal window=1 lengths",
    "attention batch=8 heads=32 kv_heads=8 q_len=4096 kv_len=100000 head_dim=128 causal window=4096 lengths",
];

const DECODE: &[&str] = &[
    "decode_attention batch=1 heads=1 kv_heads=1 kv_len=1 head_dim=32",
    "decode_attention batch=2 heads=6 kv_heads=2 kv_len=333 head_dim=40 lengths",
    "decode_attention batch=1 heads=71 kv_heads=1 kv_len=1000 head_dim=64",
    "decode_attention batch=8 heads=32 kv_heads=8 kv_len=131072 head_dim=128 lengths",
];

#[test]
fn every_config_of_every_shape_builds_and_prints_back() {
    for words in [PREFILL, DECODE].concat() {
        for dtype in ["f32", "bf16", "f16"] {
            let (family, p) = problem(&format!("{words} dtype={dtype}"));
            let space = family.space(&p, &machine());
            assert!(space.configs.contains(&family.default_config(&p, &machine())), "{p}");
            for c in &space.configs {
                build(family, &p, c);
            }
        }
    }
}
