//! What packing is made of: loads that stop at an edge and widen to a unit's element, and square transposes.

use tilewright_dtype::DType;

use crate::runtime::{Body, Runtime, mask, storage_type};

use super::{PackSpec, Unit};

/// Loads `count` elements at `at` as elements of the unit; those from `valid` (an i64 value, maybe negative) on are zero
/// and their memory is not touched. Without `valid` all are there.
pub(super) fn fetch(
    rt: &mut Runtime,
    body: &mut Body,
    spec: &PackSpec,
    count: usize,
    at: &str,
    valid: Option<&str>,
) -> String {
    let (source, ty) = (spec.source, format!("<{count} x {}>", storage_type(spec.source)));
    let value = match valid {
        None => {
            let loaded = memory_type(source, count);
            let value = body.bind(format!("load {loaded}, ptr {at}, align 1"));
            if source == DType::I4 {
                let unpack = rt.unpack_i4(count);
                body.bind(format!("call {ty} {unpack}({loaded} {value})"))
            } else {
                value
            }
        }
        Some(valid) => {
            let tail = tail(rt, source, count);
            body.bind(format!("call {ty} {tail}(ptr {at}, i64 {valid})"))
        }
    };
    match spec.unit {
        Unit::F32 if source == DType::F32 => value,
        Unit::F32 => {
            let decode = rt.decode(source, count);
            body.bind(format!("call <{count} x float> {decode}({ty} {value})"))
        }
        Unit::Bf16x2 | Unit::I8x4 => value,
        Unit::I16x2 => {
            let extend = if source == DType::U8 { "zext" } else { "sext" };
            body.bind(format!("{extend} {ty} {value} to <{count} x i16>"))
        }
    }
}

/// The transpose of a square of 4×4, 8×8 or 16×16 32-bit elements, `rows` being vectors of type `ty`.
///
/// 4×4 blocks within 128-bit quarters by two rounds of unpacking, then the quarters across registers: every step is one
/// single-cycle shuffle on x86-64.
pub(super) fn transpose(body: &mut Body, ty: &str, rows: &[String]) -> Vec<String> {
    let n = rows.len();
    let mut shuffle = |a: &str, b: &str, order: Vec<usize>| {
        body.bind(format!("shufflevector {ty} {a}, {ty} {b}, {}", mask(order)))
    };
    // Within a quarter, lanes (4q + i) of the first and (n + 4q + i) of the second operand.
    let quarter = |lanes: [usize; 4]| -> Vec<usize> {
        (0..n / 4).flat_map(|q| lanes.map(|l| if l < 4 { 4 * q + l } else { n + 4 * q + l - 4 })).collect()
    };
    let mut columns = vec![String::new(); n];
    for g in (0..n).step_by(4) {
        let ab_low = shuffle(&rows[g], &rows[g + 1], quarter([0, 4, 1, 5]));
        let ab_high = shuffle(&rows[g], &rows[g + 1], quarter([2, 6, 3, 7]));
        let cd_low = shuffle(&rows[g + 2], &rows[g + 3], quarter([0, 4, 1, 5]));
        let cd_high = shuffle(&rows[g + 2], &rows[g + 3], quarter([2, 6, 3, 7]));
        columns[g] = shuffle(&ab_low, &cd_low, quarter([0, 1, 4, 5]));
        columns[g + 1] = shuffle(&ab_low, &cd_low, quarter([2, 3, 6, 7]));
        columns[g + 2] = shuffle(&ab_high, &cd_high, quarter([0, 1, 4, 5]));
        columns[g + 3] = shuffle(&ab_high, &cd_high, quarter([2, 3, 6, 7]));
    }
    // Now quarter q of `columns[4·i + j]` holds column 4q + j of rows 4i .. 4i + 4.
    let quarters = |picks: &[usize]| -> Vec<usize> { picks.iter().flat_map(|q| 4 * q..4 * q + 4).collect() };
    let mut out = vec![String::new(); n];
    for j in 0..4 {
        match n {
            4 => out[j] = columns[j].clone(),
            8 => {
                out[j] = shuffle(&columns[j], &columns[4 + j], quarters(&[0, 2]));
                out[4 + j] = shuffle(&columns[j], &columns[4 + j], quarters(&[1, 3]));
            }
            _ => {
                let even = [0, 2, 4, 6];
                let odd = [1, 3, 5, 7];
                let ab_even = shuffle(&columns[j], &columns[4 + j], quarters(&even));
                let ab_odd = shuffle(&columns[j], &columns[4 + j], quarters(&odd));
                let cd_even = shuffle(&columns[8 + j], &columns[12 + j], quarters(&even));
                let cd_odd = shuffle(&columns[8 + j], &columns[12 + j], quarters(&odd));
                out[j] = shuffle(&ab_even, &cd_even, quarters(&even));
                out[8 + j] = shuffle(&ab_even, &cd_even, quarters(&odd));
                out[4 + j] = shuffle(&ab_odd, &cd_odd, quarters(&even));
                out[12 + j] = shuffle(&ab_odd, &cd_odd, quarters(&odd));
            }
        }
    }
    out
}

/// Defines the load of the first `valid` of `count` elements, kept out of line: it runs at edges only.
fn tail(rt: &mut Runtime, source: DType, count: usize) -> String {
    let name = format!("@tw.fetch.tail.{source}.v{count}");
    rt.define(&name, |rt| {
        let loaded = memory_type(source, count);
        let (lanes, element) = if source == DType::I4 { (count / 2, "i8") } else { (count, storage_type(source)) };
        let suffix = if element == "float" { "f32" } else { element };
        let mut b = Body::default();
        b.line("%some = icmp sgt i64 %valid, 0");
        b.line("%clamped = select i1 %some, i64 %valid, i64 0");
        b.line("%n = trunc i64 %clamped to i32");
        let (below, bytes) = if source == DType::I4 {
            let up = b.bind("add i32 %n, 1");
            let bytes = b.bind(format!("lshr i32 {up}, 1"));
            (lanes_below(&mut b, count, "%n"), lanes_below(&mut b, lanes, &bytes))
        } else {
            (String::new(), lanes_below(&mut b, lanes, "%n"))
        };
        rt.declare(format!(
            "declare {loaded} @llvm.masked.load.v{lanes}{suffix}.p0(ptr, i32, <{lanes} x i1>, {loaded})"
        ));
        let mut value = b.bind(format!(
            "call {loaded} @llvm.masked.load.v{lanes}{suffix}.p0(ptr %at, i32 1, <{lanes} x i1> {bytes}, {loaded} zeroinitializer)"
        ));
        if source == DType::I4 {
            let unpack = rt.unpack_i4(count);
            let all = b.bind(format!("call <{count} x i8> {unpack}({loaded} {value})"));
            value = b.bind(format!(
                "select <{count} x i1> {below}, <{count} x i8> {all}, <{count} x i8> zeroinitializer"
            ));
        }
        let ty = format!("<{count} x {}>", storage_type(source));
        b.line(format!("ret {ty} {value}"));
        b.finish(format!("define internal {ty} {name}(ptr %at, i64 %valid) noinline nounwind"))
    });
    name
}

/// `<lanes x i1>`: whether the lane's number is below the i32 value `n`.
fn lanes_below(b: &mut Body, lanes: usize, n: &str) -> String {
    let ty = format!("<{lanes} x i32>");
    let one = b.bind(format!("insertelement {ty} poison, i32 {n}, i64 0"));
    let all = b.bind(format!("shufflevector {ty} {one}, {ty} poison, <{lanes} x i32> zeroinitializer"));
    let numbers: Vec<String> = (0..lanes).map(|l| format!("i32 {l}")).collect();
    b.bind(format!("icmp ult {ty} <{}>, {all}", numbers.join(", ")))
}

/// How `count` elements of `source` lie in memory.
fn memory_type(source: DType, count: usize) -> String {
    match source {
        DType::I4 => format!("<{} x i8>", count / 2),
        _ => format!("<{count} x {}>", storage_type(source)),
    }
}
