//! Every peer that is present computes what our kernels compute: each problem it supports is held against a float64
//! loop. Peers are optional, so an absent one is named as skipped and fails nothing.

#![allow(clippy::panic, clippy::expect_used, reason = "a test's failure is a panic")]

use tilewright_dtype::{DType, Tensor};
use tilewright_measure::peers::{self, Activation, Data, Epilogue, Found, Peer, Work};
use tilewright_measure::timing::{Plan, interleave};

#[test]
fn openblas_computes_what_is_asked() {
    holds("openblas", 6);
}

#[test]
fn onednn_computes_what_is_asked() {
    holds("onednn", 20);
}

#[test]
#[cfg(feature = "peer-gemm")]
fn gemm_computes_what_is_asked() {
    holds("gemm", 8);
}

#[test]
fn torch_computes_what_is_asked() {
    holds("torch", 30);
}

#[test]
fn jax_computes_what_is_asked() {
    holds("jax", 30);
}

#[test]
fn unsupported_work_is_refused_with_a_reason() {
    for found in peers::find() {
        let Found::Ready(peer) = found else { continue };
        let work = Work::Softmax { rows: 2, cols: 2, dtype: DType::F8E4M3 };
        assert!(peer.supports(&work).is_err_and(|reason| !reason.is_empty()), "{}", peer.name());
        let refusal = peer.evaluate(&work, 1, &work.random_inputs(1).expect("small")).expect_err("refused");
        assert_eq!((refusal.code, refusal.class.exit_status()), ("peer/unsupported", 2));
    }
}

#[test]
fn unknown_names_are_not_peers() {
    assert!(peers::find_one("cublas").is_none());
    let found: Vec<String> = peers::find().iter().map(|f| f.name().to_owned()).collect();
    assert_eq!(found, peers::NAMES);
}

/// Checks a peer on every work that it supports, which must be `least` at least, and times one of them.
fn holds(name: &str, least: usize) {
    let Some(Found::Ready(peer)) = peers::find_one(name) else {
        let found = peers::find_one(name).map(|f| f.to_string());
        eprintln!("skipped: {}", found.unwrap_or_default());
        return;
    };
    let mut checked = 0;
    for (i, work) in works().iter().enumerate() {
        if peer.supports(work).is_ok() {
            let threads = 1 + i % 2;
            match verdict(peer.as_ref(), work, threads) {
                Ok(()) => checked += 1,
                // An instruction set that this processor lacks is the peer's limit, not its fault.
                Err(text) if text.contains("not implemented") => {
                    eprintln!("skipped: {name} {work:?}: {text}")
                }
                Err(text) => panic!("{name}, {threads} threads, {work:?}: {text}"),
            }
        }
    }
    assert!(checked >= least || cfg!(not(target_arch = "x86_64")), "{name} ran only {checked} problems");

    let data = Data { seed: 3, sets: 2 };
    let prepared = peer.prepare(&matmul(64, 64, 64, DType::F32), 1, data).expect("prepares");
    assert!(!prepared.kernel.is_empty());
    let plan = Plan { warmup_rounds: 1, min_rounds: 3, max_rounds: 3, ..Plan::default() };
    let series = &interleave(&mut [prepared.contestant], &plan)[0];
    assert_eq!(series.failure, None);
    assert!(series.seconds.iter().all(|&s| s > 1e-7 && s < 10.0), "{series:?}");
}

fn matmul(m: usize, n: usize, k: usize, dtype: DType) -> Work {
    Work::Matmul { batch: 1, m, n, k, dtype, ta: false, tb: false, epilogue: Epilogue::default() }
}

fn works() -> Vec<Work> {
    let mut works = Vec::new();
    for dtype in [DType::F64, DType::F32, DType::BF16, DType::F16, DType::I8] {
        works.push(matmul(1, 1, 1, dtype));
        for (batch, ta, tb) in [(1, false, false), (1, true, false), (1, false, true), (3, true, true)] {
            let epilogue = Epilogue::default();
            works.push(Work::Matmul { batch, m: 37, n: 29, k: 53, dtype, ta, tb, epilogue });
        }
    }
    let activations = [
        None,
        Some(Activation::Relu),
        Some(Activation::Gelu),
        Some(Activation::GeluErf),
        Some(Activation::Silu),
    ];
    for activation in activations {
        for (batch, dtype) in [(1, DType::F32), (2, DType::BF16)] {
            let epilogue = Epilogue { bias: true, activation };
            works.push(Work::Matmul { batch, m: 17, n: 33, k: 20, dtype, ta: false, tb: true, epilogue });
        }
    }
    for dtype in [DType::F32, DType::BF16] {
        let (rows, cols) = (5, 77);
        works.push(Work::Softmax { rows, cols, dtype });
        works.push(Work::RmsNorm { rows, cols, dtype });
        works.push(Work::LayerNorm { rows, cols, dtype });
        for (kv_heads, q_len, causal) in [(4, 19, false), (2, 19, true), (1, 7, true), (1, 1, false)] {
            let (batch, heads, kv_len, head_dim) = (2, 4, 19, 16);
            works.push(Work::Attention { batch, heads, kv_heads, q_len, kv_len, head_dim, dtype, causal });
        }
    }
    works
}

fn verdict(peer: &dyn Peer, work: &Work, threads: usize) -> Result<(), String> {
    let inputs = work.random_inputs(7).map_err(|e| e.to_string())?;
    let output = peer.evaluate(work, threads, &inputs).map_err(|e| e.to_string())?;
    assert_eq!((output.dtype(), output.shape()), (work.output().dtype, work.output().shape.as_slice()));
    let values: Vec<Vec<f64>> = inputs.iter().map(Tensor::to_f64).collect();
    for (i, (got, (want, scale))) in output.to_f64().into_iter().zip(reference(work, &values)).enumerate() {
        // Integers are exact. For floats: one rounding of the result, and sums and functions within a few dozen roundings
        // of the operands' type (frameworks round between the steps of bf16 chains) relative to the terms' magnitude.
        let allowed = match work.output().dtype {
            DType::I32 => 0.0,
            dtype => {
                dtype.unit_roundoff() * (16.0 * want.abs() + scale)
                    + 64.0 * DType::F32.unit_roundoff() * scale
            }
        };
        let within = (got - want).abs() <= allowed;
        if !within {
            return Err(format!("element {i} is {got}, should be {want} within {allowed:e}"));
        }
    }
    Ok(())
}

/// Each output and the magnitude that its rounding errors scale with.
fn reference(work: &Work, inputs: &[Vec<f64>]) -> Vec<(f64, f64)> {
    match *work {
        Work::Matmul { batch, m, n, k, ta, tb, epilogue, .. } => {
            let mut out = Vec::new();
            for (p, i, j) in indices(batch, m, n) {
                let a = |l: usize| inputs[0][p * m * k + if ta { l * m + i } else { i * k + l }];
                let b = |l: usize| inputs[1][p * k * n + if tb { j * k + l } else { l * n + j }];
                let bias = if epilogue.bias { inputs[2][j] } else { 0.0 };
                let sum = (0..k).map(|l| a(l) * b(l)).sum::<f64>() + bias;
                let scale = (0..k).map(|l| (a(l) * b(l)).abs()).sum::<f64>() + bias.abs();
                out.push((activate(epilogue.activation, sum), scale));
            }
            out
        }
        Work::Softmax { cols, .. } => by_row(&inputs[0], cols, |row| {
            let sum: f64 = row.iter().map(|x| x.exp()).sum();
            row.iter().map(|x| (x.exp() / sum, 1.0 / cols as f64)).collect()
        }),
        Work::RmsNorm { cols, .. } => by_row(&inputs[0], cols, |row| {
            let mean = row.iter().map(|x| x * x).sum::<f64>() / cols as f64;
            row.iter().zip(&inputs[1]).map(|(x, w)| (x / (mean + 1e-6).sqrt() * w, 1.0)).collect()
        }),
        Work::LayerNorm { cols, .. } => by_row(&inputs[0], cols, |row| {
            let mean = row.iter().sum::<f64>() / cols as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / cols as f64;
            let y = |j: usize| (row[j] - mean) / (variance + 1e-5).sqrt() * inputs[1][j] + inputs[2][j];
            (0..cols).map(|j| (y(j), 2.0)).collect()
        }),
        Work::Attention { batch, heads, kv_heads, q_len, kv_len, head_dim: d, causal, .. } => {
            let mut out = Vec::new();
            for (b, h, i) in indices(batch, heads, q_len) {
                let q = &inputs[0][((b * heads + h) * q_len + i) * d..][..d];
                let kv = |input: usize, j: usize| {
                    &inputs[input][((b * kv_heads + h / (heads / kv_heads)) * kv_len + j) * d..][..d]
                };
                let keys = if causal { kv_len - q_len + i + 1 } else { kv_len };
                let dot = |j| q.iter().zip(kv(1, j)).map(|(x, y)| x * y).sum::<f64>();
                let weights: Vec<f64> = (0..keys).map(|j| (dot(j) / (d as f64).sqrt()).exp()).collect();
                let sum: f64 = weights.iter().sum();
                for e in 0..d {
                    let o = weights.iter().enumerate().map(|(j, w)| w * kv(2, j)[e]).sum::<f64>() / sum;
                    out.push((o, 4.0));
                }
            }
            out
        }
    }
}

fn indices(a: usize, b: usize, c: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a * b * c).map(move |i| (i / (b * c), i / c % b, i % c))
}

fn by_row(x: &[f64], cols: usize, f: impl Fn(&[f64]) -> Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    x.chunks(cols).flat_map(f).collect()
}

fn activate(activation: Option<Activation>, x: f64) -> f64 {
    match activation {
        None => x,
        Some(Activation::Relu) => x.max(0.0),
        Some(Activation::Gelu) => {
            0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)).tanh())
        }
        Some(Activation::GeluErf) => x * normal_distribution(x),
        Some(Activation::Silu) => x / (1.0 + (-x).exp()),
    }
}

/// By Simpson's rule from 0, within 1e-10 for the arguments met here.
fn normal_distribution(x: f64) -> f64 {
    const STEPS: usize = 2000;
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let h = x / STEPS as f64;
    let weight = |i: usize| match i {
        0 | STEPS => 1.0,
        i if i % 2 == 1 => 4.0,
        _ => 2.0,
    };
    0.5 + h / 3.0 * (0..=STEPS).map(|i| weight(i) * density(i as f64 * h)).sum::<f64>()
}
