use tilewright_dtype::DType;
use tilewright_ir::{Builder, Kernel, OpKind, Value};

use super::{Carry, Edge, Place, Plan, unseen, verify};
use crate::features::CpuFeatures;
use crate::layout::UNUSED;

fn plan(kernel: &Kernel) -> Plan {
    let plan = Plan::of(kernel, CpuFeatures::AVX512).unwrap();
    verify(kernel, &plan).unwrap();
    plan
}

/// The fold of a kernel with one: its index, its carried tiles, what it yields.
fn fold(kernel: &Kernel) -> (Value, Vec<Value>, Vec<Value>) {
    let mut found = None;
    kernel.walk(&mut |op| {
        if matches!(op.kind, OpKind::Fold) {
            let body = &op.regions[0];
            found = Some((body.args[0], body.args[1..].to_vec(), body.yields.clone()));
        }
    });
    found.unwrap()
}

fn matmul() -> Kernel {
    let k = Builder::new("matmul");
    let [a, b] = ["a", "b"].map(|name| k.input(name, DType::F32, &[64, 64]));
    let o = k.output("o", DType::F32, &[64, 64]);
    let [i, j] = k.grid([("i", 2), ("j", 2)]);
    let zero = k.splat(0.0, DType::F32, &[32, 32]);
    let [acc] =
        k.fold("k", 0, 2, [zero], |k, [acc]| [a.load((i, k), &[32, 32]).dot(b.load((k, j), &[32, 32]), acc)]);
    o.store((i, j), acc);
    k.finish().unwrap()
}

/// Flash attention of one head: the fold carries the greatest score, the sum, and the output.
fn attention() -> Kernel {
    let k = Builder::new("attention");
    let [q, keys, values] = ["q", "k", "v"].map(|name| k.input(name, DType::F32, &[128, 64]));
    let o = k.output("o", DType::F32, &[128, 64]);
    let [i] = k.grid([("i", 4)]);
    let q = q.load((i, 0), &[32, 64]);
    let most = k.splat(-1e30, DType::F32, &[32, 1]);
    let [zero, acc] = [1, 64].map(|n| k.splat(0.0, DType::F32, &[32, n]));
    let [_, sum, acc] = k.fold("t", 0, 4, [most, zero, acc], |t, [most, sum, acc]| {
        let none = k.splat(0.0, DType::F32, &[32, 32]);
        let scores = q.dot(keys.load((t, 0), &[32, 64]).t(), none);
        let next = most.max(scores.max_along(1));
        let p = (scores - next).exp();
        let shrink = (most - next).exp();
        [next, sum * shrink + p.sum(1), p.dot(values.load((t, 0), &[32, 64]), acc * shrink)]
    });
    o.store((i, 0), acc / sum);
    k.finish().unwrap()
}

#[test]
fn a_product_is_summed_in_place_and_starts_from_zero() {
    let kernel = matmul();
    let p = plan(&kernel);
    let (index, carried, yields) = fold(&kernel);
    assert_eq!(p.carries[&index], [Carry::InPlace]);
    assert_eq!(p.place(carried[0]), p.place(yields[0]));
    assert!(p.zero_first.contains(&carried[0]));
    let used: Vec<_> = p.buffers.iter().filter(|b| b.live != UNUSED).collect();
    assert_eq!(used.len(), 1, "operands are read where they lie");
    assert_eq!(used[0].strides[..2], [32, 1]);
}

#[test]
fn attention_sums_in_place_and_copies_the_maximum_that_is_still_read() {
    let kernel = attention();
    let p = plan(&kernel);
    let (index, carried, yields) = fold(&kernel);
    assert_eq!(p.carries[&index], [Carry::Copy, Carry::InPlace, Carry::InPlace]);
    assert_ne!(p.place(carried[0]), p.place(yields[0]), "the old maximum is read after the new one is known");
    assert!(p.zero_first.is_empty(), "the sum is scaled before the product is added");
    assert!(p.swaps.is_empty());
}

#[test]
fn tiles_that_change_places_pass_through_a_third() {
    let k = Builder::new("swap");
    let x = k.input("x", DType::F32, &[2, 64]);
    let o = k.output("o", DType::F32, &[1, 64]);
    k.grid([("i", 1)]);
    let [a, b] = [0, 1].map(|row| x.load((row, 0), &[1, 64]));
    let [a, _] = k.fold("t", 0, 3, [a, b], |_, [a, b]| [b, a]);
    o.store((0, 0), a);
    let kernel = k.finish().unwrap();
    let p = plan(&kernel);
    let (index, carried, _) = fold(&kernel);
    assert_eq!(p.carries[&index], [Carry::Copy; 2]);
    assert!(carried.iter().all(|c| p.swaps.contains_key(c)));
}

/// A branch in the body reads the carried tile after its next value is known, by an expression that no loop holds yet.
#[test]
fn a_tile_that_a_later_branch_yields_is_not_overwritten() {
    let k = Builder::new("branch");
    let x = k.input("x", DType::F32, &[64]);
    let o = k.output("o", DType::F32, &[64]);
    k.grid([("i", 1)]);
    let x = x.load((0,), &[64]);
    let [_, seen] = k.fold("t", 0, 3, [x, x], |t, [a, _]| {
        let next = a + 1.0;
        let [old] = k.when(t.eq(0), || [-a], || [a]);
        [next, old]
    });
    o.store((0,), seen);
    let kernel = k.finish().unwrap();
    let (index, ..) = fold(&kernel);
    assert_eq!(plan(&kernel).carries[&index][0], Carry::Copy);
}

#[test]
fn buffers_of_different_times_share_a_place() {
    let k = Builder::new("chain");
    let x = k.input("x", DType::F32, &[8, 64]);
    let o = k.output("o", DType::F32, &[8, 1]);
    k.grid([("i", 1)]);
    // Each product reads the one before, and nothing else.
    let mut tile = x.load((0, 0), &[8, 64]);
    let square = k.input("y", DType::F32, &[64, 64]).load((0, 0), &[64, 64]);
    for _ in 0..4 {
        tile = tile.dot(square, k.splat(0.0, DType::F32, &[8, 64]));
    }
    o.store((0, 0), tile.sum(1));
    let kernel = k.finish().unwrap();
    let p = plan(&kernel);
    let products: Vec<usize> = p
        .buffers
        .iter()
        .filter(|b| b.live != UNUSED && b.ty.shape.dims() == [8, 64])
        .map(|b| b.offset)
        .collect();
    assert_eq!(products.len(), 4);
    assert_eq!((products[0], products[1]), (products[2], products[3]));
    assert_ne!(products[0], products[1]);
}

#[test]
fn the_checker_finds_what_a_plan_must_not_do() {
    let kernel = attention();
    let (index, carried, yields) = fold(&kernel);
    let broken = |change: &dyn Fn(&mut Plan)| {
        let mut p = plan(&kernel);
        change(&mut p);
        verify(&kernel, &p).unwrap_err().message
    };
    // The new maximum over the old one, which is read afterwards.
    let message = broken(&|p| {
        p.place[yields[0].0 as usize] = p.place(carried[0]);
        p.carries.get_mut(&index).unwrap()[0] = Carry::InPlace;
    });
    assert!(message.contains("is read in buffer"), "{message}");
    // Two buffers that are alive together in one place.
    let message = broken(&|p| {
        let [Place::Buffer(a), Place::Buffer(b)] = [carried[0], carried[2]].map(|v| p.place(v)) else {
            return;
        };
        p.buffers[a].offset = p.buffers[b].offset;
    });
    assert!(message.contains("is read"), "{message}");
    // A buffer past the end of the arena.
    let message = broken(&|p| p.buffer_bytes = 64);
    assert!(message.contains("has no place"), "{message}");
}

/// Rows of a matrix that ends within a block, multiplied, and what becomes of them.
#[test]
fn rows_past_an_edge_are_left_out_only_where_every_store_drops_them() {
    let left_out = |rows: usize, seen: &str| {
        let k = Builder::new("edge");
        let a = k.input_padded("a", DType::F32, &[50, 64], 0.0);
        let b = k.input("b", DType::F32, &[64, 64]);
        let [i] = k.grid([("i", 2)]);
        let zero = k.splat(0.0, DType::F32, &[32, 64]);
        let [acc] = k.fold("t", 0, 1, [zero], |t, [acc]| {
            [a.load((i, t), &[32, 64]).dot(b.load((t, 0), &[64, 64]), acc)]
        });
        let scaled = (acc * 2.0).cast(DType::BF16);
        match seen {
            "nowhere" => k.output("o", DType::BF16, &[rows, 64]).store((i, 0), scaled),
            "turned" => k.output("o", DType::BF16, &[64, rows]).store((0, i), scaled.t()),
            "summed" => k.output("o", DType::F32, &[2, 64]).store((i, 0), acc.sum(0)),
            _ => k.output("o", DType::F32, &[64, 64]).store((k.int(1) - i, 0), acc),
        }
        let kernel = k.finish().unwrap();
        let mut dot = None;
        kernel.walk(&mut |op| {
            dot = if matches!(op.kind, OpKind::Dot) { op.results.first().copied() } else { dot }
        });
        let edge = Edge { index: kernel.body.args[0], block: 32, size: 50 };
        unseen(&kernel, dot.unwrap(), 0, edge)
    };
    assert!(left_out(50, "nowhere"));
    assert!(left_out(50, "turned"));
    assert!(!left_out(64, "nowhere"), "the output has more rows");
    assert!(!left_out(50, "summed"));
    assert!(!left_out(50, "elsewhere"));
}
