//! What a run reports of a wrong program, and what it refuses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at its first fault")]

mod common;

use common::{Given, eval, outcome, tensors};
use tilewright_diag::Diagnostic;
use tilewright_dtype::DType::{self, *};
use tilewright_dtype::Tensor;
use tilewright_interp::{Accuracy, Domain, Inputs, Options, Outcome, run, run_cells};
use tilewright_ir::{Builder, Kernel, Program, ReduceOp, Tile};

const DOMAINS: [Domain; 3] = [Domain::Exact, Domain::Float64, Domain::Bound(Accuracy::ieee())];

fn counted(dtype: DType, dims: &[usize]) -> Tensor {
    let n: usize = dims.iter().product();
    Tensor::from_f64(dtype, dims, &(0..n).map(|i| i as f64 + 1.0).collect::<Vec<f64>>()).unwrap()
}

fn run_with(kernel: Kernel, inputs: &Inputs, domain: Domain) -> Outcome {
    run(&Program::single(kernel), inputs, domain, &Options::default()).unwrap_or_else(|d| panic!("{d}"))
}

/// `o = f(x)` for 5 elements in blocks of 4, without pad.
fn tailed(f: for<'k> fn(&'k Builder, Tile<'k>, Tile<'k>) -> Tile<'k>) -> Vec<Outcome> {
    let inputs = Inputs::from([("x".into(), counted(F32, &[5]))]);
    let run = |domain| {
        let b = Builder::new("tailed");
        let (x, o) = (b.input("x", F32, &[5]), b.output("o", F32, &[5]));
        let [i] = b.grid([("i", 2)]);
        o.store((i,), f(&b, x.load((i,), &[4]), i));
        run_with(b.finish().unwrap(), &inputs, domain)
    };
    DOMAINS.map(run).into()
}

fn codes(report: &[Diagnostic]) -> Vec<&str> {
    report.iter().map(|d| d.code).collect()
}

#[test]
fn poison_past_the_edge_is_dropped_with_the_store() {
    for outcome in tailed(|_, x, _| x * 2.0) {
        assert!(outcome.report.is_empty(), "{:?}", outcome.report);
        assert_eq!(outcome.outputs["o"].v, [2.0, 4.0, 6.0, 8.0, 10.0]);
    }
}

#[test]
fn poison_that_reaches_an_output_names_the_store_and_the_load() {
    for outcome in tailed(|_, x, _| x + x.sum(0)) {
        assert_eq!(codes(&outcome.report), ["interp/poison-stored"]);
        let fault = &outcome.report[0];
        let span = fault.span.as_ref().unwrap();
        assert!(span.file.ends_with("faults.rs") && span.line > 0, "{span}");
        assert!(fault.message.contains("`o`[4] in cell (1)"), "{}", fault.message);
        assert!(fault.message.contains("faults.rs:"), "{}", fault.message);
        assert!(fault.notes.is_empty(), "one element: {:?}", fault.notes);
        // The values beside it are not harmed.
        assert_eq!(outcome.outputs["o"].v[0], 11.0);
    }
}

#[test]
fn a_mask_discards_poison() {
    let masked = tailed(|b, x, i| {
        let inside = (b.iota(0, &[4]) + i * 4).lt(5);
        let x = inside.select(x, 0);
        x + x.sum(0)
    });
    for outcome in masked {
        assert!(outcome.report.is_empty(), "{:?}", outcome.report);
        assert_eq!(outcome.outputs["o"].v, [11.0, 12.0, 13.0, 14.0, 10.0]);
    }
}

#[test]
fn poison_spreads_through_dots_by_row_and_column() {
    let run = |rows: usize, cols: usize| {
        let b = Builder::new("dot");
        let (x, y) = (b.input("x", F32, &[rows, 2]), b.input("y", F32, &[2, cols]));
        let o = b.output("o", F32, &[2, 2]);
        let [i] = b.grid([("i", 1)]);
        let c = b.splat(0.0, F32, &[2, 2]);
        o.store((i, 0), x.load((i, 0), &[2, 2]).dot(y.load((0, i), &[2, 2]), c));
        let inputs =
            Inputs::from([("x".into(), counted(F32, &[rows, 2])), ("y".into(), counted(F32, &[2, cols]))]);
        run_with(b.finish().unwrap(), &inputs, Domain::Exact).report
    };
    assert!(run(2, 2).is_empty());
    let row = run(1, 2);
    assert!(row[0].message.contains("`o`[1, 0]") && row[0].notes == ["and one element more"], "{row:?}");
    let column = run(2, 1);
    assert!(
        column[0].message.contains("`o`[0, 1]") && column[0].notes == ["and one element more"],
        "{column:?}"
    );
}

#[test]
fn division_by_zero_and_lookups_outside_are_poison() {
    let given: &[Given] = &[("X", I32, &[2], &[7.0, 8.0]), ("Y", I32, &[2], &[0.0, 2.0])];
    for op in ["div", "rem"] {
        for domain in DOMAINS {
            let outcome = outcome(domain, given, &format!("  r = {op} x, y : i32[2]"), (I32, &[2]));
            assert_eq!(codes(&outcome.report), ["interp/poison-stored"]);
            assert!(outcome.report[0].message.contains("`O`[0]"), "{:?}", outcome.report);
        }
    }
    let b = Builder::new("lookup");
    let (t, n) = (b.table("t", 3, 0, 9), b.scalar("n", 0, 9));
    let o = b.output("o", I32, &[1]);
    let [i] = b.grid([("i", 1)]);
    o.store((i,), t.at(n).broadcast(&[1]));
    let program = Program::single(b.finish().unwrap());
    let report = |n: f64| {
        let given: &[Given] = &[("t", I32, &[3], &[7.0, 8.0, 9.0]), ("n", I32, &[], &[n])];
        run(&program, &tensors(given), Domain::Exact, &Options::default()).unwrap().report
    };
    assert!(report(2.0).is_empty());
    assert_eq!(codes(&report(3.0)), ["interp/poison-stored"]);
}

/// A negative block index lies past an edge too.
#[test]
fn a_negative_block_is_padding() {
    let b = Builder::new("shifted");
    let (x, o) = (b.input_padded("x", F32, &[4], -1.0), b.output("o", F32, &[4]));
    let [i] = b.grid([("i", 2)]);
    o.store((i,), x.load((i - 1,), &[2]));
    let inputs = Inputs::from([("x".into(), counted(F32, &[4]))]);
    let outcome = run_with(b.finish().unwrap(), &inputs, Domain::Exact);
    assert_eq!(outcome.outputs["o"].v, [-1.0, -1.0, 1.0, 2.0]);
}

#[test]
fn a_second_writer_and_what_nobody_wrote_are_reported() {
    let write = |combine: bool| {
        let b = Builder::new("halves");
        let x = b.input("x", F32, &[8]);
        let o =
            if combine { b.output_combined("o", F32, &[6], ReduceOp::Max) } else { b.output("o", F32, &[6]) };
        let [i] = b.grid([("i", 4)]);
        // Cells 0 and 1 write block 0, cells 2 and 3 block 1; block 2 stays unwritten.
        o.store((i / 2,), x.load((i,), &[2]));
        let inputs = Inputs::from([("x".into(), counted(F32, &[8]))]);
        run_with(b.finish().unwrap(), &inputs, Domain::Bound(Accuracy::ieee()))
    };
    let wrong = write(false);
    assert_eq!(codes(&wrong.report), ["interp/second-writer", "interp/unwritten"]);
    assert!(wrong.report[0].message.contains("cells (0) and (1) both write `o`[0]"), "{:?}", wrong.report);
    assert_eq!(wrong.report[0].notes, ["and 3 elements more"]);
    assert!(wrong.report[1].message.contains("`o`[4]"), "{:?}", wrong.report);
    assert!(wrong.report[1].span.as_ref().is_some_and(|s| s.file.ends_with("faults.rs")));
    assert_eq!(wrong.outputs["o"].written, vec![0..4]);
    let right = write(true);
    assert!(right.report.is_empty(), "{:?}", right.report);
    assert_eq!(right.outputs["o"].v, [3.0, 4.0, 7.0, 8.0, f64::NEG_INFINITY, f64::NEG_INFINITY]);
}

#[test]
fn one_cell_may_write_an_element_twice() {
    let b = Builder::new("twice");
    let (x, o) = (b.input("x", F32, &[4]), b.output("o", F32, &[4]));
    let [i] = b.grid([("i", 1)]);
    o.store((i,), x.load((i,), &[4]));
    o.store((i,), x.load((i,), &[4]) * 2.0);
    let inputs = Inputs::from([("x".into(), counted(F32, &[4]))]);
    let outcome = run_with(b.finish().unwrap(), &inputs, Domain::Exact);
    assert!(outcome.report.is_empty());
    assert_eq!(outcome.outputs["o"].v, [2.0, 4.0, 6.0, 8.0]);
}

#[test]
fn an_index_that_rounding_decides_is_refused() {
    let b = Builder::new("gather");
    let x = b.input_padded("x", F32, &[4], 0.0);
    let o = b.output("o", F32, &[1]);
    let [i] = b.grid([("i", 1)]);
    let first = x.load((i,), &[1]).reshape(&[]);
    let at = (first * 10.0).floor().cast(I32).max(0).min(3);
    o.store((i,), x.load((at,), &[1]));
    let program = Program::single(b.finish().unwrap());
    let inputs = Inputs::from([("x".into(), Tensor::from_f64(F32, &[4], &[0.1, 0.2, 0.3, 0.4]).unwrap())]);
    let run = |domain| run(&program, &inputs, domain, &Options::default());
    assert_eq!(run(Domain::Exact).unwrap().outputs["o"].v, [F32.round(0.2)]);
    let fault = run(DOMAINS[2]).unwrap_err();
    assert_eq!(fault.code, "interp/data-dependent-index");
    assert!(fault.span.is_some_and(|s| s.file.ends_with("faults.rs")));
}

#[test]
fn a_branch_that_rounding_decides_leaves_its_results_open() {
    let body = "\
  s = splat 10.0 : f32[]
  q = reshape x : f32[]
  t = mul q, s : f32[]
  one = splat 1.0 : f32[]
  c = gt t, one : bool[]
  r = if c {
    yield x
  } else {
    n = neg x : f32[1]
    yield n
  }";
    let run = |x: f64| outcome(DOMAINS[2], &[("X", F32, &[1], &[x])], body, (F32, &[1]));
    let open = run(0.1);
    assert_eq!(open.outputs["O"].bound(0), f64::INFINITY);
    assert_eq!(codes(&open.undecided), ["interp/undecided-branch"]);
    assert!(open.report.is_empty() && open.undecided[0].span.is_some());
    let closed = run(0.5);
    assert!(closed.undecided.is_empty() && closed.outputs["O"].bound(0) == 0.0);
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let b = Builder::new("plain");
    let (x, n) = (b.input("x", F32, &[4]), b.scalar("n", 1, 4));
    let o = b.output("o", F32, &[4]);
    let [i] = b.grid([("i", 1)]);
    o.store((i,), x.load((n - 1,), &[4]));
    let program = Program::single(b.finish().unwrap());
    let good: Inputs = [("x".to_string(), counted(F32, &[4])), ("n".to_string(), counted(I32, &[]))].into();
    let code = |change: &dyn Fn(&mut Inputs)| {
        let mut inputs = good.clone();
        change(&mut inputs);
        run(&program, &inputs, Domain::Exact, &Options::default()).err().map(|d| d.code)
    };
    assert_eq!(code(&|_| ()), None);
    let with =
        |name: &'static str, t: Tensor| move |i: &mut Inputs| drop(i.insert(name.to_string(), t.clone()));
    assert_eq!(code(&|i| drop(i.remove("x"))), Some("interp/input-missing"));
    assert_eq!(code(&with("y", counted(F32, &[1]))), Some("interp/input-unknown"));
    assert_eq!(code(&with("x", counted(BF16, &[4]))), Some("interp/input-dtype"));
    assert_eq!(code(&with("x", counted(F32, &[2, 2]))), Some("interp/input-shape"));
    assert_eq!(code(&with("n", Tensor::from_f64(I32, &[], &[5.0]).unwrap())), Some("interp/input-range"));
}

/// Two kernels: what the first rounds, the second's bound contains, and the temporary is not returned.
#[test]
fn bounds_travel_from_kernel_to_kernel() {
    let stage = |name: &str, from: &str, to: &str, by: f64| {
        let b = Builder::new(name);
        let (x, o) = (b.input(from, F32, &[4]), b.output(to, F32, &[4]));
        let [i] = b.grid([("i", 2)]);
        o.store((i,), x.load((i,), &[2]) * by);
        b.finish().unwrap()
    };
    let program =
        Program { kernels: vec![stage("first", "x", "t", 1.1), stage("second", "t", "o", 1.0 / 1.1)] };
    let inputs = Inputs::from([("x".into(), counted(F32, &[4]))]);
    let outcome = run(&program, &inputs, DOMAINS[2], &Options::default()).unwrap();
    assert_eq!(outcome.outputs.keys().collect::<Vec<_>>(), ["o"]);
    let o = &outcome.outputs["o"];
    // Two constants and two products, each off by up to half an ULP of f32.
    assert!((o.v[2] - 3.0).abs() < 1e-15);
    assert!(o.bound(2) > 3.0 * 2f64.powi(-24) && o.bound(2) < 3.0 * 5.0 * 2f64.powi(-24), "{:e}", o.bound(2));
    // Chosen cells of the last kernel: all of the first runs.
    let some = run_cells(&program, &inputs, DOMAINS[2], &Options::default(), &[1]).unwrap();
    assert!(some.report.is_empty());
    assert_eq!(some.outputs["o"].written, vec![2..4]);
    assert_eq!(some.outputs["o"].v[2..], o.v[2..]);
    let fault = run_cells(&program, &inputs, DOMAINS[2], &Options::default(), &[2]).unwrap_err();
    assert_eq!(fault.code, "interp/cell");
}

#[test]
fn threads_change_nothing() {
    let b = Builder::new("many");
    let x = b.input("x", F32, &[300]);
    let o = b.output_combined("o", F32, &[1], ReduceOp::Add);
    let [i] = b.grid([("i", 300)]);
    o.store((0,), x.load((i,), &[1]) * 0.1);
    let program = Program::single(b.finish().unwrap());
    let inputs = Inputs::from([("x".into(), counted(F32, &[300]))]);
    let of =
        |parallel| run(&program, &inputs, DOMAINS[0], &Options { parallel }).unwrap().outputs["o"].v.clone();
    assert_eq!(of(true), of(false));
}

#[test]
fn i4_blocks_begin_at_odd_elements() {
    let x: Vec<f64> = (0..9).map(|i| f64::from(i % 15 - 7)).collect();
    let given: &[Given] = &[("X", I4, &[3, 3], &x)];
    let values = eval(Domain::Exact, given, "  r = slice x, [1, 0] : i4[2,3]", (I4, &[2, 3]));
    assert_eq!(values.v, x[3..]);
    let b = Builder::new("rows");
    let (x4, o) = (b.input("x", I4, &[3, 3]), b.output("o", I4, &[3, 3]));
    let [i] = b.grid([("i", 3)]);
    o.store((i, 0), x4.load((i, 0), &[1, 3]));
    let inputs = Inputs::from([("x".into(), Tensor::from_f64(I4, &[3, 3], &x).unwrap())]);
    assert_eq!(run_with(b.finish().unwrap(), &inputs, Domain::Exact).outputs["o"].v, x);
}
