//! The real model and its independent implementation, where the tests' Python has them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at its first fault")]
#![allow(dead_code, reason = "no test uses all of it")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};
use tilewright_check::cpu_accuracy;
use tilewright_interp::{self as interp, Domain, Values};
use tilewright_ir::Program;
use tilewright_models::Target;
use tilewright_models::minilm::{Encoder, MiniLm};
use tilewright_run::Pool;
use tilewright_run::testing::{REQUIRE_ENV, clang_or_skip};
use tilewright_target_cpu::features::CpuFeatures;

/// Names the Python that has the packages of `scripts/test-requirements.txt`.
const PYTHON_ENV: &str = "TILEWRIGHT_TEST_PYTHON";

/// What the independent implementation says.
#[derive(Deserialize)]
pub struct Reference {
    pub folder: String,
    pub tokens: Vec<Vec<i32>>,
    pub embeddings: Vec<Vec<f64>>,
}

/// Sentences of one word to some sixty, of several kinds.
pub const SENTENCES: [&str; 20] = [
    "Hello",
    "A tile kernel is a pure function of one grid cell.",
    "The quick brown fox jumps over the lazy dog.",
    "The cat sat on the mat, and the dog lay by the fire.",
    "Rounding errors add up; bounds say by how much at most.",
    "How do I renew my passport before travelling abroad next month?",
    "Stocks fell 3.5% on Tuesday after the central bank raised its key rate to 4.25%.",
    "She said: \"I'll be there at eight\" - but nobody came.",
    "Café, naïve, Zürich, Ångström and piñata keep their meaning without their accents.",
    "GPU kernels, TPU kernels & CPU kernels",
    "def matmul(a, b): return [[sum(x * y for x, y in zip(r, c)) for c in zip(*b)] for r in a]",
    "The mitochondrion is the powerhouse of the cell.",
    "Il fait beau aujourd'hui à Paris.",
    "Der Hund läuft durch den verschneiten Wald.",
    "東京は日本の首都です。",
    "An unbelievably antidisestablishmentarianistic supercalifragilisticexpialidocious word",
    "no punctuation no capitals just words in a row that go on for a while without any particular aim or end in sight",
    "E = mc^2; a^2 + b^2 = c^2; e^(i*pi) + 1 = 0.",
    "To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer the slings and arrows of \
     outrageous fortune, or to take arms against a sea of troubles and by opposing end them.",
    "🙂 emoji, symbols ™ © and $5.00 prices!",
];

/// Runs the independent implementation; `None`, after a line that says so, where it is not installed.
pub fn reference(request: &Value) -> Option<Reference> {
    let Some(python) = std::env::var_os(PYTHON_ENV) else {
        assert!(
            std::env::var_os(REQUIRE_ENV).is_none_or(|v| v != "1"),
            "{REQUIRE_ENV}=1, but {PYTHON_ENV} is not set"
        );
        eprintln!("skipped: {PYTHON_ENV} names no Python with the packages of scripts/test-requirements.txt");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/encode.py");
    let mut child = Command::new(&python)
        .arg(&script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{} does not run: {e}", python.display()));
    child.stdin.take().unwrap().write_all(request.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{} failed", script.display());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The model, where it and clang are installed.
pub fn model() -> Option<MiniLm> {
    clang_or_skip()?;
    let folder = reference(&json!({}))?.folder;
    Some(MiniLm::open(folder).unwrap())
}

/// An encoder prepared for these sentences, after one run on them.
pub fn encoded(model: MiniLm, pool: &Pool, sentences: &[&str]) -> Encoder {
    let tokens = tokens(&model, sentences);
    let longest = tokens.iter().map(Vec::len).max().unwrap();
    let mut encoder = model.prepare(sentences.len(), longest, &Target::here(pool.threads())).unwrap();
    encoder.run(pool, &tokens).unwrap();
    encoder
}

/// The last kernel's output in the first `kernels` of an encoder's program: what the last run made, beside its value and
/// bound with all bounds since the weights chained.
pub struct Chained {
    pub name: String,
    pub actual: Vec<f64>,
    pub bounded: Values,
}

/// Chains the bounds of the first `kernels` kernels.
pub fn chain(encoder: &Encoder, kernels: usize) -> Chained {
    let program = Program { kernels: encoder.program().kernels[..kernels].to_vec() };
    let outcome =
        interp::run(&program, &given(encoder, &program), bound(), &interp::Options::default()).unwrap();
    assert!(outcome.report.is_empty(), "{}", outcome.report[0]);
    let last = program.kernels[kernels - 1].operands.iter().find(|o| o.is_output()).unwrap();
    let actual = encoder.array(&last.name).unwrap().to_f64();
    Chained { name: last.name.clone(), actual, bounded: outcome.outputs[&last.name].clone() }
}

impl Chained {
    pub fn largest_bound(&self) -> f64 {
        (0..self.actual.len()).fold(0.0, |m, i| m.max(self.bounded.bound(i)))
    }

    pub fn largest_error(&self) -> f64 {
        self.actual.iter().zip(&self.bounded.v).fold(0.0, |m, (x, v)| m.max((x - v).abs()))
    }
}

/// The inputs of a part of the encoder's program, as the last run left them.
pub fn given(encoder: &Encoder, program: &Program) -> interp::Inputs {
    let operands = program.operands();
    let given = operands.iter().filter(|o| o.given).map(|o| o.operand.name.clone());
    given.map(|name| (name.clone(), encoder.array(&name).unwrap().clone())).collect()
}

/// Values with bounds, at the accuracy of this machine's code.
pub fn bound() -> Domain {
    Domain::Bound(cpu_accuracy(CpuFeatures::detect()))
}

/// The tokens of sentences.
pub fn tokens(model: &MiniLm, sentences: &[&str]) -> Vec<Vec<i32>> {
    sentences.iter().map(|s| model.tokenizer.encode(s, model.shape.longest)).collect()
}
