//! What the tests of several families share.

use tilewright_ir::{Program, parse, print, verify_program};
use tilewright_kernels::{Config, Family, Machine, Problem, family};

/// A small machine: little caches, so that spaces hold whole rows and blocks at test sizes.
pub fn machine() -> Machine {
    Machine { lanes: 8, l1_bytes: 4096, l2_bytes: 32768, l3_bytes: 1 << 20, cores: 2 }
}

/// The family and its problem in the command line's words.
pub fn problem(words: &str) -> (&'static dyn Family, Problem) {
    let mut words = words.split(' ');
    let family = family(words.next().unwrap()).unwrap();
    let words: Vec<&str> = words.collect();
    let p = Problem::parse(family.name(), family.keys(), &words).unwrap_or_else(|d| panic!("{words:?}: {d}"));
    family.validate(&p).unwrap();
    (family, p)
}

/// The verified program, whose text parses back to the same text.
pub fn build(family: &dyn Family, p: &Problem, c: &Config) -> Program {
    let program = family.build(p, c).unwrap_or_else(|d| panic!("{} {p} {c}: {d}", family.name()));
    verify_program(&program).unwrap_or_else(|d| panic!("{} {p} {c}: {d}", family.name()));
    let text = print(&program);
    let parsed = parse(&text, "built").unwrap_or_else(|d| panic!("{} {p} {c}: {d}\n{text}", family.name()));
    assert_eq!(print(&parsed), text);
    program
}
