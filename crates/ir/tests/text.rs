//! The parser and the verifier on random texts: no panic, a place in every fault, and what is accepted prints back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at its first fault")]

mod common;

use proptest::collection::vec;
use proptest::prelude::*;
use tilewright_ir::{Kernel, Program, parse, print};

use common::random;

/// Tokens of every kind.
const TOKENS: &[&str] = &[
    "kernel",
    "grid",
    "k",
    "a",
    "o",
    "x",
    "y",
    "i",
    "n",
    "t",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "=",
    "->",
    "..",
    "..=",
    "-",
    "0",
    "1",
    "2",
    "3",
    "-1",
    "2147483647",
    "2147483648",
    "9223372036854775807",
    "99999999999999999999",
    "0.5",
    "1e-45",
    "1e999",
    "5e-324",
    "nan",
    "inf",
    "true",
    "false",
    "f32",
    "bf16",
    "i32",
    "i4",
    "bool",
    "f64",
    "f8e4m3fn",
    "scalar",
    "table",
    "pad",
    "combine",
    "add",
    "max",
    "yield",
    "in",
    "else",
    "fold",
    "if",
    "splat",
    "iota",
    "load",
    "store",
    "lookup",
    "cast",
    "neg",
    "mul",
    "div",
    "rem",
    "lt",
    "select",
    "broadcast",
    "reshape",
    "transpose",
    "slice",
    "concat",
    "reduce_add",
    "dot",
    "// c\n",
    "\n",
    ";",
    "é",
    "0..1",
    "[0]",
    "f32[4]",
    "x = load a[0] : f32[4]",
    "store o[0], x",
    "kernel k(a: f32[4]) -> (o: f32[4])",
    "grid (i: 1) {",
];

/// Parses; a fault must have a place in the text, and an accepted program must print back.
fn hold(text: &str) -> Result<(), TestCaseError> {
    let program = match parse(text, "random.tw") {
        Ok(program) => program,
        Err(d) => {
            let span = d.span.clone().ok_or_else(|| TestCaseError::fail(format!("no place in {d}")))?;
            let lines = text.lines().count() as u32 + 1;
            prop_assert!((1..=lines).contains(&span.line) && span.col >= 1, "{d}");
            return Ok(());
        }
    };
    prints_back(&program)
}

fn prints_back(program: &Program) -> Result<(), TestCaseError> {
    let text = print(program);
    let again = parse(&text, "printed.tw").map_err(|d| TestCaseError::fail(format!("{d}\n{text}")))?;
    prop_assert_eq!(print(&again), text);
    prop_assert_eq!(again.operands(), program.operands());
    for (a, b) in again.kernels.iter().zip(&program.kernels) {
        prop_assert_eq!(kinds(a), kinds(b));
        prop_assert_eq!(&a.grid, &b.grid);
    }
    Ok(())
}

/// Every op but the integer constants, which are written where they are used.
fn kinds(kernel: &Kernel) -> Vec<String> {
    let mut all = Vec::new();
    kernel.walk(&mut |op| {
        let types: Vec<_> = op.operands.iter().chain(&op.results).map(|&v| kernel.ty(v)).collect();
        let text = format!("{:?} {types:?}", op.kind);
        if !text.starts_with("Splat(Int(") {
            all.push(text);
        }
    });
    all
}

/// Splits a text where tokens begin and end, roughly.
fn tokens(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let belongs = |c: char| c.is_alphanumeric() == first.is_alphanumeric() && first.is_alphanumeric();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len()).max(first.len_utf8());
        all.push(&rest[..end]);
        rest = &rest[end..];
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_the_builder_records_prints_back(bytes in vec(any::<u8>(), 0..400)) {
        if let Ok(program) = random::program(&bytes) {
            prints_back(&program)?;
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused_at_a_place(text in "\\PC*") {
        hold(&text)?;
    }

    #[test]
    fn any_tokens_are_parsed_or_refused_at_a_place(words in vec(prop::sample::select(TOKENS), 0..80)) {
        hold(&words.join(" "))?;
        let begun = format!("kernel k(a: f32[4], n: scalar 0..=3, t: table[4] 0..=3) -> (o: f32[4]) grid (i: 1) {{ {}", words.join(" "));
        hold(&begun)?;
    }

    #[test]
    fn a_program_with_an_edit_is_parsed_or_refused_at_a_place(
        file in any::<prop::sample::Index>(),
        edits in vec((0..5u8, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4),
    ) {
        let all = common::corpus();
        let text = &all[file.index(all.len())].1;
        let text = text.split("// ---").next().unwrap();
        let mut words = tokens(text);
        for (edit, at, other) in edits {
            if words.len() < 2 {
                break;
            }
            let (at, other) = (at.index(words.len()), other.index(words.len()));
            match edit {
                0 => drop(words.remove(at)),
                1 => words.insert(at, words[at]),
                2 => words.swap(at, other),
                3 => words[at] = words[other],
                _ => words.insert(at, TOKENS[other % TOKENS.len()]),
            }
        }
        hold(&words.concat())?;
    }
}

#[test]
fn most_random_programs_are_verified() {
    let mut faults = std::collections::BTreeMap::new();
    let mut ops = 0;
    for seed in 0..500u64 {
        let bytes: Vec<u8> = (0..400u64)
            .map(|i| {
                (seed.wrapping_mul(6364136223846793005).wrapping_add(i).wrapping_mul(0x9E3779B97F4A7C15)
                    >> 56) as u8
            })
            .collect();
        match random::program(&bytes) {
            Ok(p) => p.kernels.iter().for_each(|k| k.walk(&mut |_| ops += 1)),
            Err(d) => *faults.entry(d.to_string()).or_insert(0) += 1,
        }
    }
    let refused: usize = faults.values().sum();
    assert!(refused < 100, "{refused} of 500 are refused: {faults:#?}");
    assert!(ops > 500 * 8, "{ops} ops in 500 programs");
}
