//! The real model against derived bounds: each linear layer through the checker, each kernel on what it was really given,
//! and the bound of the whole chain.

mod common;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tilewright_check::{Cpu, Options, Verdict, check, cpu_accuracy};
use tilewright_interp::{self as interp, Domain};
use tilewright_ir::Program;
use tilewright_kernels::{Problem, family};
use tilewright_models::Target;
use tilewright_models::minilm::{Encoder, linear_layers};
use tilewright_run::Pool;
use tilewright_target_cpu::features::CpuFeatures;

use common::{SENTENCES, encoded};

#[test]
fn every_linear_layer_holds_its_bound_on_real_weights_and_activations() {
    let Some(model) = common::model() else { return };
    let pool = Pool::new(2).unwrap();
    let encoder = encoded(model, &pool, &SENTENCES[1..2]);
    let layers = linear_layers(encoder.shape());
    let executor = Cpu::new(CpuFeatures::detect(), 2).unwrap();
    let matmul = family("matmul").unwrap();
    let machine = Target::here(2).machine;
    let start = Instant::now();
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
    println!("36 linear layers: at most {worst:.4} of the bound, {:.1} s", start.elapsed().as_secs_f64());
}

#[test]
fn every_kernel_of_the_encoder_holds_its_bound_on_what_it_was_given() {
    let Some(model) = common::model() else { return };
    let pool = Pool::new(2).unwrap();
    let encoder = encoded(model, &pool, &SENTENCES[..1]);
    let accuracy = Domain::Bound(cpu_accuracy(CpuFeatures::detect()));
    let mut worst: BTreeMap<String, f64> = BTreeMap::new();
    for kernel in &encoder.program().kernels {
        let program = Program::single(kernel.clone());
        let cells = [0, kernel.cells() / 2, kernel.cells() - 1];
        let inputs = given(&encoder, &program);
        let bound =
            interp::run_cells(&program, &inputs, accuracy, &interp::Options::default(), &cells).unwrap();
        assert!(bound.report.is_empty(), "{}: {}", kernel.name, bound.report[0]);
        for (name, values) in &bound.outputs {
            let actual = encoder.array(name).unwrap();
            for i in values.written.iter().cloned().flatten() {
                let x = actual.get(i);
                let verdict = values.judge(i, x);
                assert_eq!(
                    verdict,
                    interp::Verdict::Held,
                    "{name}[{i}] = {x}, not {} within {:e}",
                    values.v[i],
                    values.bound(i)
                );
                let part =
                    if values.bound(i) > 0.0 { (x - values.v[i]).abs() / values.bound(i) } else { 0.0 };
                let family = kernel.name.trim_start_matches(|c: char| c != '_').trim_start_matches('_');
                let most = worst.entry(family.to_string()).or_default();
                *most = most.max(part);
            }
        }
    }
    println!("largest parts of the bound: {worst:.4?}");
}

/// What a rigorous bound says of a whole forward pass: it grows by the sum of a row of weights with each linear layer.
#[test]
fn the_bound_of_the_whole_chain_holds_as_far_as_it_decides() {
    let Some(model) = common::model() else { return };
    let pool = Pool::new(2).unwrap();
    let encoder = encoded(model, &pool, &SENTENCES[..1]);
    let accuracy = Domain::Bound(cpu_accuracy(CpuFeatures::detect()));
    let kernels = &encoder.program().kernels;
    let start = Instant::now();
    for (last, kernel) in
        kernels.iter().enumerate().filter(|(_, k)| k.name.ends_with("norm") || k.name == "pool")
    {
        let program = Program { kernels: kernels[..=last].to_vec() };
        let outcome =
            interp::run(&program, &given(&encoder, &program), accuracy, &interp::Options::default()).unwrap();
        let output = kernel.operands.iter().find(|o| o.is_output()).unwrap();
        let values = &outcome.outputs[&output.name];
        let bound = (0..values.v.len()).fold(0.0f64, |m, i| m.max(values.bound(i)));
        let actual = encoder.array(&output.name).unwrap();
        let error = (0..values.v.len()).fold(0.0f64, |m, i| m.max((actual.get(i) - values.v[i]).abs()));
        let largest = values.v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        println!(
            "{:24} largest {largest:8.3} error {error:9.2e} bound {bound:9.2e} {:?}",
            output.name,
            start.elapsed()
        );
    }
}

/// The inputs of a part of the encoder's program, as the last run left them.
fn given(encoder: &Encoder, program: &Program) -> interp::Inputs {
    let operands = program.operands();
    let given = operands.iter().filter(|o| o.given).map(|o| o.operand.name.clone());
    given.map(|name| (name.clone(), encoder.array(&name).unwrap().clone())).collect()
}
