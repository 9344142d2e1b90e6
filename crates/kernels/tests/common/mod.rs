//! What the tests of several families share.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at its first fault")]
#![allow(dead_code, reason = "no test uses all of it")]

use tilewright_dtype::Tensor;
use tilewright_interp::{Accuracy, Domain, Options, Verdict, run};
use tilewright_ir::{DType, Operand, Program, Role, parse, print, verify_program};
use tilewright_kernels::{Config, Domain as Values, Family, Inputs, Machine, Problem, family};

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

/// Inputs by name for every operand that the program is given, of the values that the family allows.
pub fn inputs(family: &dyn Family, p: &Problem, program: &Program, seed: u64) -> Inputs {
    let mut rng = Rng(seed);
    let given = program.operands().into_iter().filter(|o| o.given).map(|o| o.operand);
    given.map(|o| (o.name.clone(), tensor(&o, family.domain(p, &o.name), &mut rng))).collect()
}

fn tensor(operand: &Operand, domain: Values, rng: &mut Rng) -> Tensor {
    let dims = operand.shape.dims();
    let mut value = || match (&operand.role, domain) {
        (Role::Scalar { min, max } | Role::Table { min, max }, _) => {
            f64::from(*min) + (rng.unit() * f64::from(max - min + 1)).floor()
        }
        (_, Values::Index { n }) => (rng.unit() * n as f64).floor(),
        (_, Values::Unit) => 2.0 * rng.unit() - 1.0,
        (_, Values::Positive { lo, hi }) => lo + (hi - lo) * rng.unit(),
        _ if operand.dtype.is_float() => 4.0 * rng.unit() - 2.0 + 4.0 * rng.unit() - 2.0,
        _ => (rng.unit() * 8.0).floor() - if operand.dtype == DType::U8 { 0.0 } else { 4.0 },
    };
    let values: Vec<f64> = (0..operand.shape.elements()).map(|_| value()).collect();
    Tensor::from_f64(operand.dtype, dims, &values).unwrap()
}

/// Runs the program in float64 and holds it against the reference: every element within 1e-11 of it (relative, or
/// absolute below 1), infinities and NaN alike, no poison, no second writer, nothing unwritten.
pub fn agree(family: &dyn Family, p: &Problem, c: &Config, program: &Program, inputs: &Inputs) {
    let at = format!("{} {p} with {c}", family.name());
    let outcome =
        run(program, inputs, Domain::Float64, &Options::default()).unwrap_or_else(|d| panic!("{at}: {d}"));
    assert!(outcome.report.is_empty(), "{at}: {}", outcome.report[0]);
    let reference = family.reference(p, inputs).unwrap_or_else(|d| panic!("{at}: {d}"));
    assert!(reference.keys().eq(outcome.outputs.keys()), "{at}: {:?}", reference.keys());
    for (name, expected) in reference {
        let made = &outcome.outputs[&name].v;
        assert_eq!(made.len(), expected.len(), "{at}: `{name}`");
        for (i, (made, expected)) in made.iter().zip(expected).enumerate() {
            let close = (made - expected).abs() <= 1e-11 * expected.abs().max(1.0);
            let same = *made == expected || made.is_nan() && expected.is_nan();
            assert!(close || same, "{at}: element {i} of `{name}` is {made}, the reference is {expected}");
        }
    }
}

/// Every config, on inputs drawn anew.
pub fn all_agree(words: &str, configs: &[&[(&str, usize)]]) {
    let (family, p) = problem(words);
    for (seed, c) in configs.iter().enumerate() {
        let c = Config::of(c);
        let program = build(family, &p, &c);
        agree(family, &p, &c, &program, &inputs(family, &p, &program, seed as u64));
    }
}

/// The derived bound is of use: it decides every element, and each dtype-exact result lies within it.
pub fn all_held(words: &str, configs: &[&[(&str, usize)]]) {
    let (family, p) = problem(words);
    for (seed, c) in configs.iter().enumerate() {
        let c = Config::of(c);
        let program = build(family, &p, &c);
        let given = inputs(family, &p, &program, seed as u64);
        let in_domain = |domain| run(&program, &given, domain, &Options::default()).unwrap().outputs;
        let (bounds, exact) = (in_domain(Domain::Bound(Accuracy::ieee())), in_domain(Domain::Exact));
        for (name, bounds) in bounds {
            for (i, &actual) in exact[&name].v.iter().enumerate() {
                let (v, e) = (bounds.v[i], bounds.bound(i));
                let verdict = bounds.judge(i, actual);
                assert_eq!(
                    verdict,
                    Verdict::Held,
                    "{words} with {c}: `{name}` {i}: {actual} for {v} within {e}"
                );
            }
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Rng(u64);

impl Rng {
    /// A number in `0 .. 1`.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
