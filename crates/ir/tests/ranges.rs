//! What the range analysis claims of a scalar holds for every run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at its first fault")]

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;
use tilewright_ir::range::Ranges;
use tilewright_ir::{BinaryOp, Builder, Const, DType, Kernel, OpKind, Tile, UnaryOp, Value};

/// One op on scalars made before.
type Step = (u8, u8, u8);

/// Scalars `n` and `m` with these ranges, a grid index, constants, and an op for each step.
fn kernel(ranges: [(i32, i32); 2], constants: [i32; 2], steps: &[Step]) -> Kernel {
    let k = Builder::new("k");
    let mut all = vec![k.scalar("n", ranges[0].0, ranges[0].1), k.scalar("m", ranges[1].0, ranges[1].1)];
    let [i] = k.grid([("i", 100_000)]);
    all.extend([i, k.int(constants[0]), k.int(constants[1])]);
    let out = k.output_combined("o", DType::I32, &[], tilewright_ir::ReduceOp::Max);
    for &(op, a, b) in steps {
        let (x, y) = (all[usize::from(a) % all.len()], all[usize::from(b) % all.len()]);
        let made: Tile<'_> = match op % 10 {
            0 => x + y,
            1 => x - y,
            2 => x * y,
            3 => x / y,
            4 => x % y,
            5 => x.min(y),
            6 => x.max(y),
            7 => -x,
            8 => x.abs(),
            _ => x.lt(y).select(y, x),
        };
        out.store(&[][..], made);
        all.push(made);
    }
    k.finish().unwrap()
}

/// The value of each scalar, as i32 arithmetic wraps; `None` where it is poison.
fn run(kernel: &Kernel, args: [i32; 3]) -> HashMap<Value, Option<i32>> {
    let [n, m, i] = args;
    let mut all: HashMap<Value, Option<i32>> =
        kernel.body.args.iter().copied().zip([Some(i), Some(n), Some(m)]).collect();
    kernel.walk(&mut |op| {
        let operand = |i: usize| op.operands.get(i).and_then(|v| all[v]);
        let (x, y) = (operand(0), operand(1));
        let both = |f: &dyn Fn(i32, i32) -> Option<i32>| x.zip(y).and_then(|(x, y)| f(x, y));
        let made = match &op.kind {
            OpKind::Splat(Const::Int(v)) => Some(*v as i32),
            OpKind::Binary(BinaryOp::Add) => both(&|x, y| Some(x.wrapping_add(y))),
            OpKind::Binary(BinaryOp::Sub) => both(&|x, y| Some(x.wrapping_sub(y))),
            OpKind::Binary(BinaryOp::Mul) => both(&|x, y| Some(x.wrapping_mul(y))),
            OpKind::Binary(BinaryOp::Div) => both(&floor_div),
            OpKind::Binary(BinaryOp::Rem) => {
                both(&|x, y| floor_div(x, y).map(|q| x.wrapping_sub(y.wrapping_mul(q))))
            }
            OpKind::Binary(BinaryOp::Min) => both(&|x, y| Some(x.min(y))),
            OpKind::Binary(BinaryOp::Max) => both(&|x, y| Some(x.max(y))),
            OpKind::Unary(UnaryOp::Neg) => x.map(i32::wrapping_neg),
            OpKind::Unary(UnaryOp::Abs) => x.map(i32::wrapping_abs),
            OpKind::Compare(_) => both(&|x, y| Some(i32::from(x < y))),
            OpKind::Select => x.and_then(|c| if c != 0 { y } else { operand(2) }),
            OpKind::Store { .. } => return,
            other => panic!("{other:?}"),
        };
        all.insert(op.results[0], made);
    });
    all
}

fn floor_div(x: i32, y: i32) -> Option<i32> {
    let (x, y) = (i64::from(x), i64::from(y));
    (y != 0).then(|| (x.div_euclid(y) - i64::from(y < 0 && x.rem_euclid(y) != 0)) as i32)
}

/// Numbers of every size.
fn number() -> impl Strategy<Value = i32> {
    prop_oneof![Just(i32::MIN), Just(i32::MAX), -4..5i32, -100_000..100_000i32, any::<i32>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_scalar_lies_in_its_interval(
        ends in [number(), number(), number(), number()],
        constants in [number(), number()],
        steps in vec(any::<Step>(), 1..12),
        runs in vec((0.0..=1.0f64, 0.0..=1.0f64, 0..100_000i32), 8),
    ) {
        let range = |a: i32, b: i32| (a.min(b), a.max(b));
        let ranges = [range(ends[0], ends[1]), range(ends[2], ends[3])];
        let kernel = kernel(ranges, constants, &steps);
        let known = Ranges::of(&kernel);
        let within = |(lo, hi): (i32, i32), t: f64| (f64::from(lo) + (f64::from(hi) - f64::from(lo)) * t) as i32;
        for (s, t, i) in runs {
            let values = run(&kernel, [within(ranges[0], s), within(ranges[1], t), i]);
            for (value, x) in values {
                let interval = known.interval(value);
                // Where i32 may overflow the interval says so; where it cannot, it holds the value.
                let holds = x.is_none_or(|x| !interval.fits_i32() || (interval.lo..=interval.hi).contains(&x.into()));
                prop_assert!(holds, "value {} is {x:?}, outside of {interval:?}", value.0);
            }
        }
    }
}

#[test]
fn what_is_carried_keeps_its_dependences_however_long_the_chain() {
    let k = Builder::new("k");
    let out = k.output_combined("o", DType::I32, &[], tilewright_ir::ReduceOp::Add);
    let [i, _] = k.grid([("i", 8), ("j", 8)]);
    let zero = k.int(0);
    let chain = k.fold("k", 0, 9, [zero; 8], |_, [_, b, c, d, e, f, g, h]| [b, c, d, e, f, g, h, i]);
    for tile in chain {
        out.store(&[][..], tile);
    }
    let kernel = k.finish().unwrap();
    let ranges = Ranges::of(&kernel);
    let mut stored = Vec::new();
    kernel.walk(&mut |op| {
        if matches!(op.kind, OpKind::Store { .. }) {
            stored.push(ranges.known(op.operands[0]).grid);
        }
    });
    assert_eq!(stored, [1; 8]);
}
