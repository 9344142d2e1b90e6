//! Faults that no text can hold: kernels put together by hand, or by a builder led astray.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at its first fault")]

use tilewright_ir::{
    Array, Builder, Const, DType, Kernel, Op, OpKind, OperandId, Program, Tile, TileType, UnaryOp, Value,
    ValueInfo, parse, print, verify_kernel, verify_program,
};

const TEXT: &str = "\
kernel k(a: f32[8], n: scalar 0..=3) -> (o: f32[8])
grid (i: 1) {
  x = load a[0] : f32[8]
  y = fold k in 0..n (c = x) {
    z = neg c : f32[8]
    yield z
  }
  store o[i], y
}
";

fn kernel() -> Kernel {
    parse(TEXT, "k.tw").unwrap().kernels.remove(0)
}

fn op(kind: OpKind, operands: &[u32], results: &[u32]) -> Op {
    let loc = kernel().loc;
    let values = |all: &[u32]| all.iter().map(|&v| Value(v)).collect();
    Op { kind, operands: values(operands), results: values(results), regions: Vec::new(), loc }
}

/// The code of the fault in a kernel after a change.
fn fault(change: impl FnOnce(&mut Kernel)) -> &'static str {
    let mut k = kernel();
    change(&mut k);
    let d = verify_kernel(&k).unwrap_err();
    assert_eq!(verify_program(&Program::single(k)).unwrap_err(), d);
    d.code
}

/// The value called `name`.
fn named(k: &Kernel, name: &str) -> Value {
    let of = |v: &ValueInfo| v.name.as_deref() == Some(name);
    Value(k.values.iter().position(of).unwrap() as u32)
}

#[test]
fn a_kernel_put_together_by_hand_is_held_to_every_rule() {
    let negate = OpKind::Unary(UnaryOp::Neg);
    assert_eq!(verify_program(&Program { kernels: Vec::new() }).unwrap_err().code, "ir/empty-program");
    assert_eq!(fault(|k| k.name = "1k".to_string()), "ir/name");
    assert_eq!(fault(|k| k.operands[0].name = "a b".to_string()), "ir/name");
    assert_eq!(fault(|k| k.grid[0].name = String::new()), "ir/name");
    assert_eq!(fault(|k| k.body.args.truncate(1)), "ir/body-arguments");
    assert_eq!(fault(|k| k.body.yields.push(Value(0))), "ir/yield");
    assert_eq!(fault(|k| k.body.yields.push(Value(99))), "ir/use-before-definition");
    assert_eq!(fault(|k| k.values[0].ty = TileType::INDEX.with_dtype(DType::F32)), "ir/index-type");
    assert_eq!(fault(|k| k.body.args[0] = Value(99)), "ir/redefined");
    assert_eq!(fault(|k| k.body.args[1] = k.body.args[0]), "ir/redefined");
    let x = |k: &Kernel| named(k, "x").0;
    assert_eq!(fault(|k| k.body.ops.push(op(negate.clone(), &[99], &[x(k)]))), "ir/use-before-definition");
    assert_eq!(fault(|k| k.body.ops.push(op(negate.clone(), &[x(k)], &[x(k)]))), "ir/redefined");
    assert_eq!(fault(|k| k.body.ops.push(op(negate.clone(), &[x(k)], &[99]))), "ir/results");
    assert_eq!(fault(|k| k.body.ops.push(op(negate.clone(), &[x(k)], &[]))), "ir/results");
    assert_eq!(fault(|k| k.body.ops.push(op(negate.clone(), &[x(k), x(k)], &[x(k)]))), "ir/operand-count");
    assert_eq!(
        fault(|k| k.body.ops.push(op(OpKind::Store { array: OperandId(2) }, &[], &[]))),
        "ir/operand-count"
    );
    assert_eq!(
        fault(|k| k.body.ops.push(op(OpKind::Store { array: OperandId(9) }, &[0, x(k)], &[]))),
        "ir/unknown-operand"
    );
    assert_eq!(
        fault(|k| k.body.ops.push(op(OpKind::Load { array: OperandId(9) }, &[0], &[x(k)]))),
        "ir/unknown-operand"
    );
    assert_eq!(
        fault(|k| k.body.ops.push(op(OpKind::Lookup { table: OperandId(9) }, &[0], &[0]))),
        "ir/unknown-operand"
    );
    assert_eq!(fault(|k| k.body.ops.push(op(OpKind::Splat(Const::Int(1)), &[], &[x(k)]))), "ir/constant");
    assert_eq!(fault(|k| k.body.ops.push(op(OpKind::Fold, &[0, 0], &[]))), "ir/results");
    assert_eq!(fault(|k| k.body.ops.push(op(OpKind::If, &[0], &[]))), "ir/results");
}

fn fold_of(k: &mut Kernel) -> &mut Op {
    k.body.ops.iter_mut().find(|op| op.kind == OpKind::Fold).unwrap()
}

#[test]
fn a_fold_put_together_by_hand_is_held_to_every_rule() {
    assert_eq!(fault(|k| fold_of(k).operands.truncate(1)), "ir/index-type");
    assert_eq!(fault(|k| fold_of(k).regions[0].args.truncate(1)), "ir/carried");
    assert_eq!(fault(|k| fold_of(k).regions[0].yields.clear()), "ir/carried");
    assert_eq!(fault(|k| fold_of(k).operands.truncate(2)), "ir/carried");
    assert_eq!(fault(|k| fold_of(k).results.clear()), "ir/carried");
    assert_eq!(fault(|k| fold_of(k).regions.clear()), "ir/results");
    let index = |k: &mut Kernel| fold_of(k).regions[0].args[0].0 as usize;
    assert_eq!(
        fault(|k| {
            let index = index(k);
            k.values[index].ty = k.ty(named(k, "x"));
        }),
        "ir/index-type"
    );
    // A value of the body after the fold.
    assert_eq!(
        fault(|k| {
            let z = named(k, "z");
            k.body.ops.last_mut().unwrap().operands[1] = z;
        }),
        "ir/use-before-definition"
    );
}

/// What a builder says of a kernel `o[0] = body(a)` with `a` and `o` of f32[8,8].
fn recorded(body: impl for<'k> FnOnce(&'k Builder, Array<'k>) -> Tile<'k>) -> String {
    let k = Builder::new("k");
    let (a, o) = (k.input("a", DType::F32, &[8, 8]), k.output("o", DType::F32, &[8, 8]));
    o.store((0, 0), body(&k, a));
    let d = k.finish().unwrap_err();
    let span = d.span.as_ref().unwrap();
    assert!(span.file.ends_with("handmade.rs"), "{d}");
    d.code.to_string()
}

#[test]
fn the_builder_reports_what_the_types_of_rust_do_not_see() {
    let leaked = recorded(|k, a| {
        let x = a.load((0, 0), &[8, 8]);
        let mut inner = x;
        k.fold("k", 0, 4, [x], |_, [c]| {
            inner = -c;
            [inner]
        });
        inner
    });
    assert_eq!(leaked, "ir/use-before-definition");
    let other = Builder::new("other");
    let foreign = other.splat(1.0, DType::F32, &[8, 8]);
    let k = Builder::new("k");
    let o = k.output("o", DType::F32, &[8, 8]);
    o.store((0, 0), foreign);
    assert_eq!(k.finish().unwrap_err().code, "ir/foreign-tile");
    assert_eq!(recorded(|_, a| a.load((0, 0), &[8, 8]).transpose(&[1, 0, 2])), "ir/rank");
    assert_eq!(recorded(|_, a| a.load((0, 0), &[8, 8]).transpose(&[0])), "ir/rank");
    assert_eq!(recorded(|_, a| a.load((0, 0), &[8, 8]).slice(&[0], &[8, 8])), "ir/rank");
    assert_eq!(recorded(|_, a| a.load((0, 0), &[1, 1, 1, 1, 1])), "ir/rank");
    assert_eq!(recorded(|_, a| a.load((0,), &[8, 8])), "ir/block-rank");
    assert_eq!(recorded(|k, _| k.splat(0.5, DType::I32, &[8, 8]).cast(DType::F32)), "ir/constant");
}

#[test]
fn outputs_come_last_however_they_are_declared() {
    let k = Builder::new("k");
    let o = k.output("o", DType::F32, &[8]);
    let a = k.input("a", DType::F32, &[8]);
    let p = k.output("p", DType::F32, &[8]);
    let n = k.scalar("n", 0, 3);
    let t = k.table("t", 4, 0, 3);
    let [x] = k.fold("k", 0, n, [a.load((0,), &[8])], |k, [c]| [c + a.load((t.at(k),), &[8])]);
    o.store((0,), x);
    p.store((0,), -x);
    let built = Program::single(k.finish().unwrap());
    let parsed = parse(&print(&built), "k.tw").unwrap();
    assert_eq!(built.kernels[0].operands, parsed.kernels[0].operands);
    let names: Vec<&str> = parsed.kernels[0].operands.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["a", "n", "t", "o", "p"]);
    let loads = |p: &Program| {
        let mut all = Vec::new();
        p.kernels[0].walk(&mut |op| all.push(format!("{:?}", op.kind)));
        all.retain(|k| ["Load", "Store", "Lookup"].iter().any(|w| k.starts_with(w)));
        all
    };
    assert_eq!(loads(&built), loads(&parsed));
}

#[test]
fn a_program_says_what_it_takes_and_what_it_makes() {
    let text = "\
kernel p(a: f32[4], n: scalar 0..=9) -> (t: f32[4], u: f32[4])
grid () {
}
kernel q(t: f32[4], a: f32[4], n: scalar -5..=7, s: i32[]) -> (v: f32[4], w: f32[4])
grid () {
}
kernel r(v: f32[4], n: scalar 2..=20) -> (o: f32[4])
grid () {
}
";
    let operands = parse(text, "p.tw").unwrap().operands();
    let wiring: Vec<(&str, bool, bool)> =
        operands.iter().map(|o| (o.operand.name.as_str(), o.given, o.returned)).collect();
    let expected = [
        ("a", true, false),
        ("n", true, false),
        ("t", false, false),
        ("u", false, true),
        ("s", true, false),
        ("v", false, false),
        ("w", false, true),
        ("o", false, true),
    ];
    assert_eq!(wiring, expected);
    assert_eq!(operands[1].operand.role, tilewright_ir::Role::Scalar { min: 2, max: 7 });
}

/// A text may leave a store out, to see what becomes of it; an author has forgotten it.
#[test]
fn an_author_is_told_of_an_output_that_nothing_writes() {
    let k = Builder::new("k");
    let a = k.input("a", DType::F32, &[8]);
    let o = k.output("o", DType::F32, &[8]);
    k.output("forgotten", DType::F32, &[8]);
    let [i] = k.grid([("i", 1)]);
    o.store((i,), a.load((i,), &[8]));
    let d = k.finish().unwrap_err();
    assert_eq!(d.code, "ir/unwritten");
    assert!(d.message.contains("`forgotten`") && d.span.unwrap().file.ends_with("handmade.rs"));
}
