//! The text that small kernels are lowered to: a change of code is a change of these files.
//!
//! `TILEWRIGHT_BLESS=1` writes what is emitted now. Only entry points are kept: the functions that they call have tests
//! of their own.
#![allow(clippy::unwrap_used, reason = "in a test's helpers too")]

use std::path::Path;

use tilewright_dtype::DType;
use tilewright_ir::{Builder, Kernel, Program};
use tilewright_target_cpu::features::CpuFeatures;
use tilewright_target_cpu::{Options, lower};

fn vector_add() -> Kernel {
    let k = Builder::new("vector_add");
    let [x, y] = ["x", "y"].map(|name| k.input_padded(name, DType::F32, &[1000], 0.0));
    let o = k.output("o", DType::F32, &[1000]);
    let [i] = k.grid([("i", 4)]);
    o.store((i,), x.load((i,), &[256]) + y.load((i,), &[256]));
    k.finish().unwrap()
}

fn row_softmax() -> Kernel {
    let k = Builder::new("row_softmax");
    let x = k.input("x", DType::F32, &[64, 100]);
    let o = k.output("o", DType::F32, &[64, 100]);
    let [i] = k.grid([("i", 16)]);
    let x = x.load((i, 0), &[4, 100]);
    let e = (x - x.max_along(1)).exp();
    o.store((i, 0), e / e.sum(1));
    k.finish().unwrap()
}

fn matmul() -> Kernel {
    let k = Builder::new("matmul");
    let [a, b] = ["a", "b"].map(|name| k.input(name, DType::F32, &[64, 64]));
    let o = k.output("o", DType::F32, &[64, 64]);
    let [j, i] = k.grid([("j", 2), ("i", 2)]);
    let zero = k.splat(0.0, DType::F32, &[32, 32]);
    let [acc] =
        k.fold("k", 0, 2, [zero], |k, [acc]| [a.load((i, k), &[32, 32]).dot(b.load((k, j), &[32, 32]), acc)]);
    o.store((i, j), acc);
    k.finish().unwrap()
}

#[test]
fn small_kernels_are_lowered_to_the_text_on_file() {
    let kernels = [vector_add(), row_softmax(), matmul()];
    for (kernel, features) in
        kernels.into_iter().flat_map(|k| [CpuFeatures::AVX512, CpuFeatures::BASELINE].map(|f| (k.clone(), f)))
    {
        let name = format!("{}.{features}.ll", kernel.name);
        let program = Program::single(kernel);
        let text = || lower(&program, Options::new(features)).unwrap().text;
        let entries = entries(&text());
        assert_eq!(entries, self::entries(&text()), "{name} is emitted in two ways");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(&name);
        if std::env::var_os("TILEWRIGHT_BLESS").is_some_and(|v| v == "1") {
            std::fs::write(&file, entries).unwrap();
            continue;
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        if let Some((n, was, is)) = difference(&kept, &entries) {
            panic!(
                "{name}:{n}: was\n{was}\nis\n{is}\n`TILEWRIGHT_BLESS=1 cargo test -p tilewright-target-cpu --test golden` keeps what is emitted now"
            );
        }
    }
}

/// What comes before the leaf functions.
fn entries(text: &str) -> String {
    let lines =
        text.lines().take_while(|line| !line.starts_with("declare") && !line.starts_with("define internal"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The first line that differs: its number, and both forms.
fn difference<'a>(kept: &'a str, new: &'a str) -> Option<(usize, &'a str, &'a str)> {
    let end = "(the end)";
    let (mut a, mut b) = (kept.lines(), new.lines());
    for n in 1.. {
        match (a.next(), b.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => return Some((n, a.unwrap_or(end), b.unwrap_or(end))),
        }
    }
    None
}
