//! Random programs: every legal execution lies within the bound.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at its first fault")]

use proptest::prelude::*;
use tilewright_interp::testing::{Family, Recipe, recipes};
use tilewright_interp::{Accuracy, Domain, Options, Outcome, Verdict, run};
use tilewright_ir::{Program, print};

fn outcome(recipe: &Recipe, program: &Program, domain: Domain) -> Outcome {
    let inputs = recipe.inputs().unwrap();
    run(program, &inputs, domain, &Options { parallel: false })
        .unwrap_or_else(|d| panic!("{d}\n{}", print(program)))
}

/// Holds the exact result and the float64 value against the bound; returns how many elements were decided, and how
/// many there were.
fn judge(recipe: &Recipe) -> (usize, usize) {
    let program = recipe.program().unwrap_or_else(|d| panic!("{d}\n{recipe:?}"));
    let exact = outcome(recipe, &program, Domain::Exact);
    let float64 = outcome(recipe, &program, Domain::Float64);
    let bound = outcome(recipe, &program, Domain::Bound(Accuracy::ieee()));
    for outcome in [&exact, &float64, &bound] {
        assert!(outcome.report.is_empty(), "{:?}", outcome.report);
    }
    let (mut decided, mut all) = (0, 0);
    for (name, bound) in &bound.outputs {
        let (exact, float64) = (&exact.outputs[name], &float64.outputs[name]);
        assert_eq!(exact.e, None);
        for i in 0..bound.v.len() {
            let (v, e, x) = (bound.v[i], bound.bound(i), exact.v[i]);
            let context =
                || format!("{name}[{i}]: exact {x:e}, {v:e} give or take {e:e}\n{}", print(&program));
            assert!(e >= 0.0 && (e == 0.0 || v.is_finite() || e == f64::INFINITY), "{}", context());
            assert!(
                v.to_bits() == float64.v[i].to_bits() || (v.is_nan() && float64.v[i].is_nan()),
                "{}",
                context()
            );
            assert!(x.is_nan() || bound.dtype.round(x) == x, "{}", context());
            let verdict = bound.judge(i, x);
            assert_ne!(verdict, Verdict::Failed, "{}", context());
            all += 1;
            decided += usize::from(verdict == Verdict::Held);
        }
    }
    (decided, all)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_exact_run_lies_within_the_bound(recipe in recipes(12)) {
        judge(&recipe);
    }
}

/// A bound that is always infinite would hold everything.
#[test]
fn most_elements_of_ordinary_programs_are_decided() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let strategy = recipes(6);
    let (mut decided, mut all) = (0, 0);
    for _ in 0..200 {
        let mut recipe = strategy.new_tree(&mut runner).unwrap().current();
        recipe.family = Family::Ordinary;
        let (d, n) = judge(&recipe);
        (decided, all) = (decided + d, all + n);
    }
    assert!(decided * 10 > all * 8, "{decided} of {all}");
}
