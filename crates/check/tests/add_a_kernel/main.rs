//! What `docs/add-a-kernel.md` tells a newcomer to write: it is built, held, and its planted bug is found.
#![allow(clippy::unwrap_used, reason = "in a test's helpers too")]

#[path = "../common/mod.rs"]
mod common;
mod masked_softmax;

/// As the page's file sees them from within the library.
mod family {
    pub use tilewright_kernels::{Family, Inputs, Machine, Space, Work};
}
mod problem {
    pub use tilewright_kernels::{Config, Key, Kind, Problem};
}

use common::{Mutant, machine, options};
use masked_softmax::MaskedSoftmax;
use tilewright_check::{Executor, Interp, Options, Report, Verdict, check};
use tilewright_ir::{Program, parse, print};
use tilewright_kernels::{Family, Problem};

fn problem(words: &str) -> Problem {
    let words: Vec<&str> = words.split(' ').collect();
    Problem::parse(MaskedSoftmax.name(), MaskedSoftmax.keys(), &words).unwrap()
}

fn checked(words: &str, executor: &dyn Executor) -> Report {
    let p = problem(words);
    check(&MaskedSoftmax, &p, &MaskedSoftmax.default_config(&p, &machine()), executor, &options()).unwrap()
}

#[test]
fn the_page_is_the_file_that_is_tested() {
    let page = include_str!("../../../../docs/add-a-kernel.md");
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.trim() {
            "```rust" => {
                inside = true;
                blocks.push(String::new());
            }
            "```" => inside = false,
            _ if inside => {
                let block = blocks.last_mut().unwrap();
                block.push_str(line.strip_prefix("   ").unwrap_or(line));
                block.push('\n');
            }
            _ => {}
        }
    }
    let code = blocks.join("\n");
    if std::env::var("TILEWRIGHT_BLESS").is_ok_and(|b| b == "1") {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/add_a_kernel/masked_softmax.rs");
        std::fs::write(file, &code).unwrap();
        return;
    }
    assert_eq!(code, MaskedSoftmax.source(), "the page has changed: run this with TILEWRIGHT_BLESS=1");
}

#[test]
fn the_kernel_is_held() {
    for words in ["rows=100 cols=300 dtype=bf16", "rows=70 cols=40 dtype=f32", "rows=1 cols=1 dtype=f32"] {
        let report = checked(words, &Interp);
        assert_eq!(report.verdict, Verdict::Held, "{words}: {:?}", report.why);
    }
}

#[test]
fn its_space_has_the_default_and_reasons() {
    for words in ["rows=3 cols=10", "rows=4096 cols=4096", "rows=8 cols=100000000"] {
        let p = problem(words);
        let space = MaskedSoftmax.space(&p, &machine());
        assert!(space.configs.contains(&MaskedSoftmax.default_config(&p, &machine())), "{words}");
        assert!(space.pruned.iter().all(|(_, why)| !why.is_empty()), "{words}");
    }
}

/// A row's mask depends on its number, so that its rows are not independent, and it names none.
#[test]
fn it_is_not_asked_for_batch_invariance() {
    let (p, asked) = (problem("rows=4 cols=4"), Options { batch_invariant: true, ..options() });
    let config = MaskedSoftmax.default_config(&p, &machine());
    let refused = check(&MaskedSoftmax, &p, &config, &Interp, &asked).unwrap_err();
    assert_eq!((refused.code, refused.class.exit_status()), ("check/no-rows", 2));
}

/// `lt` for `le`, as the page proposes: the first row sees nothing, and its sum is 0.
#[test]
fn the_planted_bug_is_found_and_shrunk() {
    let planted = Mutant(|program: &mut Program| {
        let right = print(program);
        let wrong = right.replace(" = le ", " = lt ");
        assert_ne!(right, wrong);
        *program = parse(&wrong, "planted.tw").unwrap();
    });
    let report = checked("rows=100 cols=300 dtype=bf16", &planted);
    assert_eq!(report.verdict, Verdict::Failed);
    assert_eq!(report.smallest.unwrap().problem.to_string(), "rows=1 cols=1 dtype=bf16");
}
