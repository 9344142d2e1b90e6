//! What the builder records prints, parses back, and prints the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at its first fault")]

use tilewright_ir::{Builder, DType, Kernel, Program, parse, print};

fn matmul() -> Kernel {
    let k = Builder::new("matmul");
    let a = k.input_padded("a", DType::BF16, &[100, 300], 0.0);
    let b = k.input_padded("b", DType::BF16, &[300, 200], 0.0);
    let o = k.output("o", DType::BF16, &[100, 200]);
    let [i, j] = k.grid([("i", 2), ("j", 4)]);
    let zero = k.splat(0.0, DType::F32, &[64, 64]).named("zero");
    let [acc] = k.fold("k", 0, 5, [zero], |k, [c]| {
        let x = a.load((i, k), &[64, 64]);
        let y = b.load((k, j), &[64, 64]);
        [x.dot(y, c.named("c"))]
    });
    o.store((i, j), (acc.named("acc") * 0.5).cast(DType::BF16));
    k.finish().unwrap()
}

/// Attention-like: run-time length, masks, several carried tiles, `if`, a table.
fn attention() -> Kernel {
    let k = Builder::new("attention");
    let q = k.input("q", DType::F32, &[1, 2, 64, 32]);
    let kv = k.input_padded("kv", DType::F32, &[1, 2, 100, 32], 0.0);
    let len = k.scalar("len", 1, 100);
    let pages = k.table("pages", 4, 0, 3);
    let o = k.output("o", DType::F32, &[1, 2, 64, 32]);
    let [h, i] = k.grid([("h", 2), ("i", 2)]);
    let x = q.load((0, h, i, 0), &[1, 1, 32, 32]).reshape(&[32, 32]);
    let m = k.splat(f64::NEG_INFINITY, DType::F32, &[32, 1]);
    let acc = k.splat(0.0, DType::F32, &[32, 32]);
    let [m, acc] = k.fold("j", 0, (len + 31) / 32, [m, acc], |j, [m, acc]| {
        let y = kv.load((0, h, pages.at(j), 0), &[1, 1, 32, 32]).reshape(&[32, 32]);
        let s = x.dot(y.t(), k.splat(0.0, DType::F32, &[32, 32]));
        let at = k.iota(1, &[32, 32]) + j * 32;
        let s = at.lt(len).select(s, f64::NEG_INFINITY);
        let top = m.max(s.max_along(1));
        let p = (s - top).exp();
        [top, p.dot(y, acc * (m - top).exp())]
    });
    let [r] = k.when(len.gt(50), || [acc / (m + 1.0)], || [-acc]);
    let halves = r.slice(&[0, 16], &[32, 16]).concat(r.slice(&[0, 0], &[32, 16]), 1);
    o.store((0, h, i, 0), halves.reshape(&[1, 1, 32, 32]));
    k.finish().unwrap()
}

#[test]
fn printed_text_parses_to_the_same_text() {
    for kernel in [matmul(), attention()] {
        let text = print(&Program::single(kernel));
        let again = parse(&text, "again.tw").unwrap_or_else(|d| panic!("{d}\n{text}"));
        assert_eq!(print(&again), text);
    }
}

#[test]
fn the_text_of_a_matmul() {
    let expected = "\
kernel matmul(a: bf16[100,300] pad 0.0, b: bf16[300,200] pad 0.0) -> (o: bf16[100,200])
grid (i: 2, j: 4) {
  zero = splat 0.0 : f32[64,64]
  acc = fold k in 0..5 (c = zero) {
    v0 = load a[i, k] : bf16[64,64]
    v1 = load b[k, j] : bf16[64,64]
    v2 = dot v0, v1, c : f32[64,64]
    yield v2
  }
  v3 = splat 0.5 : f32[]
  v4 = broadcast v3 : f32[64,64]
  v5 = mul acc, v4 : f32[64,64]
  v6 = cast v5 : bf16[64,64]
  store o[i, j], v6
}
";
    assert_eq!(print(&Program::single(matmul())), expected);
}

#[test]
fn a_fault_names_the_authors_line() {
    let k = Builder::new("bad");
    let a = k.input("a", DType::F32, &[8, 8]);
    let o = k.output("o", DType::F32, &[8, 8]);
    let [i] = k.grid([("i", 1)]);
    let x = a.load((i, 0), &[8, 8]);
    let line = line!() + 1;
    o.store((i, 0), x + x.slice(&[0, 0], &[4, 8]));
    let fault = k.finish().unwrap_err();
    assert_eq!(fault.code, "ir/shape-mismatch");
    let span = fault.span.unwrap();
    assert!(span.file.ends_with("round_trip.rs") && span.line == line, "{span}");
}
