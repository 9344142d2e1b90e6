//! The real model against derived bounds: each linear layer through the checker, each kernel on what it was really given,
//! and the bound of the whole chain.

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use tilewright_check::{Cpu, Options, Verdict, check};
use tilewright_interp as interp;
use tilewright_ir::Program;
use tilewright_kernels::{Problem, family};
use tilewright_models::Target;
use tilewright_models::minilm::linear_layers;
use tilewright_run::Pool;
use tilewright_target_cpu::features::CpuFeatures;

use common::{SENTENCES, bound, chain, encoded, given};

#[test]
fn every_linear_layer_holds_its_bound_on_real_weights_and_activations() {
    let Some(model) = common::model() else { return };
    let pool = Pool::new(2).unwrap();
    let encoder = encoded(model, &pool, &SENTENCES[1..2]);
    let layers = linear_layers(encoder.shape());
    let executor = Cpu::new(CpuFeatures::detect(), 2).unwrap();
    let matmul = family("matmul").unwrap();
    let machine = Target::here(2).machine;
    let mut worst = 0.0f64;
    for layer in &layers {
        let array = |name: &str| encoder.array(&name.replace('.', "_")).unwrap().clone();
        let (a, b) = (array(&layer.from), array(&format!("{}.weight", layer.name)));
        let epilogue = if layer.gelu { "bias+gelu_erf" } else { "bias" };
        let words =
            format!("m={} n={} k={} tb epilogue={epilogue}", a.shape()[0], layer.outputs, layer.inputs);
        let problem = Problem::parse("matmul", matmul.keys(), &words.split(' ').collect::<Vec<_>>()).unwrap();
        let given = [("a", a), ("b", b), ("bias", array(&format!("{}.bias", layer.name)))];
        let given = given.map(|(name, tensor)| (name.to_string(), tensor)).into();
        // The case of the given operands, and no other.
        let options = Options { given, derived: 0, budget: Duration::ZERO, ..Options::default() };
        let config = matmul.default_config(&problem, &machine);
        let report = check(matmul, &problem, &config, &executor, &options).unwrap();
        assert_eq!(report.verdict, Verdict::Held, "{}: {:?}", layer.name, report.failure);
        let case = &report.cases[0];
        assert_eq!((case.case.as_str(), case.undecided), ("given", 0), "{}", layer.name);
        assert!(case.tight > 0, "{}: no bound says anything", layer.name);
        worst = worst.max(case.margin.unwrap_or(0.0));
    }
    assert_eq!(layers.len(), 36);
    println!("36 linear layers: at most {worst:.4} of the bound");
}

#[test]
fn every_kernel_of_the_encoder_holds_its_bound_on_what_it_was_given() {
    let Some(model) = common::model() else { return };
    let pool = Pool::new(2).unwrap();
    // Two lengths, so that one sentence is padded.
    let encoder = encoded(model, &pool, &SENTENCES[..2]);
    let mut worst: BTreeMap<&str, f64> = BTreeMap::new();
    for kernel in &encoder.program().kernels {
        let program = Program::single(kernel.clone());
        let cells = [0, kernel.cells() / 2, kernel.cells() - 1];
        let options = interp::Options::default();
        let outcome =
            interp::run_cells(&program, &given(&encoder, &program), bound(), &options, &cells).unwrap();
        assert!(outcome.report.is_empty(), "{}: {}", kernel.name, outcome.report[0]);
        for (name, values) in &outcome.outputs {
            let actual = encoder.array(name).unwrap();
            for i in values.written.iter().cloned().flatten() {
                let (x, v, e) = (actual.get(i), values.v[i], values.bound(i));
                assert_eq!(
                    values.judge(i, x),
                    interp::Verdict::Held,
                    "{name}[{i}] = {x}, not {v} within {e:e}"
                );
                let most = worst.entry(role(&kernel.name)).or_default();
                *most = most.max(if e > 0.0 { (x - v).abs() / e } else { 0.0 });
            }
        }
    }
    println!("{} kernels, largest parts of the bound: {worst:.4?}", encoder.program().kernels.len());
}

/// What a rigorous bound says of a whole forward pass. Each linear layer widens it by the sum of a row's magnitudes, and
/// each softmax by the width of its scores, as if all errors conspired: it decides nothing from the first layer on,
/// where the error itself does not grow. The links of the chain are what the other tests hold.
#[test]
fn the_bound_of_the_whole_chain_holds_as_far_as_it_decides() {
    let Some(model) = common::model() else { return };
    let pool = Pool::new(2).unwrap();
    let encoder = encoded(model, &pool, &SENTENCES[..1]);
    let kernels = &encoder.program().kernels;
    let stations = kernels.iter().enumerate().filter(|(_, k)| k.name.ends_with("norm") || k.name == "pool");
    for (station, (last, _)) in stations.enumerate() {
        let chained = chain(&encoder, last + 1);
        let (error, bound) = (chained.largest_error(), chained.largest_bound());
        println!("{:16} error {error:9.2e} bound {bound:9.2e}", chained.name);
        for (i, &x) in chained.actual.iter().enumerate() {
            assert_ne!(chained.bounded.judge(i, x), interp::Verdict::Failed, "{}[{i}] = {x}", chained.name);
        }
        assert!(station > 0 || bound < 1e-3, "the embeddings' bound decides");
    }
}

/// A kernel's name without its layer.
fn role(name: &str) -> &str {
    match name.strip_prefix("layer") {
        Some(rest) => rest.split_once('_').map_or(rest, |(_, role)| role),
        None => name,
    }
}
