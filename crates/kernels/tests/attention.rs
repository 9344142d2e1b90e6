//! Attention and decode attention: every config builds, and computes the reference.

#![allow(clippy::unwrap_used, reason = "a test stops at its first fault")]

mod common;

use common::{agree, all_agree, all_held, build, inputs, machine, problem};
use tilewright_dtype::Tensor;
use tilewright_kernels::Config;

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

const BLOCKS: &[&[(&str, usize)]] =
    &[&[("bq", 1), ("bk", 1)], &[("bq", 64), ("bk", 64)], &[("bq", 5), ("bk", 7)], &[("bq", 8), ("bk", 3)]];

#[test]
fn every_block_size_computes_the_reference() {
    for sizes in [
        "batch=1 heads=1 kv_heads=1 q_len=1 kv_len=1 head_dim=4",
        "batch=2 heads=4 kv_heads=2 q_len=11 kv_len=11 head_dim=8",
        "batch=2 heads=3 kv_heads=1 q_len=5 kv_len=23 head_dim=5",
        "batch=3 heads=2 kv_heads=2 q_len=19 kv_len=6 head_dim=8",
    ] {
        for flags in ["", "causal", "window=1", "window=4", "causal window=100"] {
            for rest in ["dtype=f32", "dtype=bf16 lengths"] {
                all_agree(format!("attention {sizes} {rest} {flags}").trim_end(), BLOCKS);
            }
        }
    }
}

#[test]
fn derived_bounds_decide_attention() {
    for dtype in ["f32", "bf16", "f16"] {
        for flags in ["causal", "window=4 lengths"] {
            let sizes = "batch=2 heads=2 kv_heads=1 q_len=9 kv_len=20 head_dim=16";
            all_held(&format!("attention {sizes} dtype={dtype} {flags}"), BLOCKS);
        }
        let sizes = "batch=2 heads=4 kv_heads=2 kv_len=50 head_dim=16";
        all_held(&format!("decode_attention {sizes} dtype={dtype} lengths"), &[&[("bk", 6), ("splits", 3)]]);
    }
}

#[test]
fn decode_computes_the_reference_however_it_is_split() {
    for sizes in [
        "batch=1 heads=1 kv_heads=1 kv_len=1 head_dim=4",
        "batch=2 heads=6 kv_heads=2 kv_len=33 head_dim=8",
        "batch=5 heads=3 kv_heads=3 kv_len=10 head_dim=5",
    ] {
        for flags in ["dtype=f32", "dtype=f16 lengths"] {
            let splits: &[&[(&str, usize)]] = &[
                &[("bk", 4), ("splits", 1)],
                &[("bk", 4), ("splits", 3)],
                &[("bk", 1), ("splits", 7)],
                &[("bk", 64), ("splits", 8)],
            ];
            all_agree(&format!("decode_attention {sizes} {flags}"), splits);
        }
    }
}

/// What lies past a sequence's end is not touched: not a NaN there, nor a block that is not there.
#[test]
fn keys_past_a_sequences_end_do_not_count() {
    for words in [
        "attention batch=3 heads=2 kv_heads=1 q_len=4 kv_len=20 head_dim=8 lengths",
        "attention batch=3 heads=2 kv_heads=1 q_len=4 kv_len=20 head_dim=8 causal lengths",
        "decode_attention batch=3 heads=2 kv_heads=1 kv_len=20 head_dim=8 lengths",
    ] {
        let (family, p) = problem(words);
        let c = Config::of(&[("bq", 3), ("bk", 6), ("splits", 2)]);
        let program = build(family, &p, &c);
        let mut given = inputs(family, &p, &program, 1);
        let lens = [0, 7, 20];
        given.insert(
            "lens".to_string(),
            Tensor::from_f64(tilewright_ir::DType::I32, &[3], &[0.0, 7.0, 20.0]).unwrap(),
        );
        for name in ["k", "v"] {
            let tensor = given.get_mut(name).unwrap();
            for (n, len) in lens.into_iter().enumerate() {
                (n * 20 * 8 + len * 8..(n + 1) * 20 * 8).for_each(|e| tensor.set(e, f64::NAN));
            }
        }
        agree(family, &p, &c, &program, &given);
        assert!(family.reference(&p, &given).unwrap()["o"].iter().all(|o| o.is_finite()), "{words}");
    }
}

/// Infinite and NaN queries and keys: rows of NaN where the formula says so, and only there.
#[test]
fn unusual_queries_and_keys_compute_the_reference() {
    let (family, p) = problem("attention batch=1 heads=1 kv_heads=1 q_len=9 kv_len=9 head_dim=2 causal");
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for name in ["q", "k"] {
            for c in BLOCKS.iter().map(|c| Config::of(c)) {
                let program = build(family, &p, &c);
                let mut given = inputs(family, &p, &program, 3);
                given.get_mut(name).unwrap().set(8, value);
                agree(family, &p, &c, &program, &given);
            }
        }
    }
}

#[test]
fn the_work_counts_the_pairs_that_a_query_sees() {
    for (flags, sees) in [
        ("", (|_, _| true) as fn(i64, i64) -> bool),
        ("causal", |t, j| j <= t),
        ("window=3", |t, j| j <= t && j > t - 3),
    ] {
        for (q_len, kv_len) in [(1, 1), (5, 9), (9, 5), (7, 7)] {
            let words = format!(
                "attention batch=2 heads=3 kv_heads=1 q_len={q_len} kv_len={kv_len} head_dim=8 {flags}"
            );
            let (family, p) = problem(words.trim_end());
            let queries = kv_len - q_len..kv_len;
            let pairs = queries.map(|t| (0..kv_len).filter(|&j| sees(t, j)).count()).sum::<usize>();
            assert_eq!(family.work(&p).transcendentals, 6.0 * pairs as f64, "{words}");
            assert_eq!(family.work(&p).flops, 6.0 * 4.0 * 8.0 * pairs as f64, "{words}");
        }
    }
}

#[test]
fn heads_that_share_no_key_head_are_refused() {
    let keys = tilewright_kernels::family("attention").unwrap();
    let words = ["batch=1", "heads=5", "kv_heads=2", "q_len=1", "kv_len=1", "head_dim=4"];
    let p = tilewright_kernels::Problem::parse("attention", keys.keys(), &words).unwrap();
    assert_eq!(keys.validate(&p).unwrap_err().code, "kernel/heads");
}
