//! The largest sizes that a problem may state: refused or built, but nothing overflows on the way.

#![allow(clippy::unwrap_used, reason = "a test stops at its first fault")]

use tilewright_ir::verify_program;
use tilewright_kernels::{Family, Kind, Machine, Problem, families};

/// Sizes in turn: all huge, then each one alone.
fn problems(family: &dyn Family) -> Vec<Problem> {
    let sizes: Vec<&str> =
        family.keys().iter().filter(|k| matches!(k.kind, Kind::Dim(_))).map(|k| k.name).collect();
    let words = |huge: &dyn Fn(&str) -> bool| -> Vec<String> {
        sizes.iter().map(|name| format!("{name}={}", if huge(name) { i32::MAX } else { 4 })).collect()
    };
    let all = std::iter::once(words(&|_| true)).chain(sizes.iter().map(|s| words(&|name| name == *s)));
    all.map(|words| Problem::parse(family.name(), family.keys(), &words).unwrap()).collect()
}

#[test]
fn the_largest_sizes_overflow_nothing() {
    let machine = Machine { lanes: 8, l1_bytes: 32 << 10, l2_bytes: 1 << 20, l3_bytes: 16 << 20, cores: 2 };
    for family in families() {
        for problem in problems(*family).iter().filter(|p| family.validate(p).is_ok()) {
            let work = family.work(problem);
            assert!(work.bytes > 0.0 && work.flops >= 0.0, "{} {problem}: {work:?}", family.name());
            let config = family.default_config(problem, &machine);
            assert!(!family.space(problem, &machine).configs.is_empty());
            if let Ok(program) = family.build(problem, &config) {
                verify_program(&program).unwrap();
            }
        }
    }
}
