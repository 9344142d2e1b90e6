//! The text of a dot function: the loops over register tiles, one function of which there is for each count of rows.

use crate::runtime::{Body, Runtime};

use super::tile::tile;
use super::{MicroSpec, Unit};

/// Defines the dot function of `spec` and returns its name.
pub(super) fn dot(rt: &mut Runtime, spec: &MicroSpec) -> String {
    let rows = spec.m.map_or(String::new(), |m| format!(".m{m}"));
    let name = format!("@tw.dot.{}{rows}", suffix(spec));
    rt.define(&name.clone(), |rt| {
        let tiles: Vec<(usize, String)> = (1..=spec.mr)
            .filter(|rows| occurs(spec, *rows))
            .map(|rows| (rows, tile(rt, spec, &suffix(spec), rows)))
            .collect();
        tile_loops(spec, &name, &tiles)
    });
    name
}

/// Whether the loops come to a tile of `rows` rows.
fn occurs(spec: &MicroSpec, rows: usize) -> bool {
    let Some(m) = spec.m else { return true };
    let mr = spec.mr as i64;
    rows as i64 == m % mr || rows as i64 == mr && m >= mr
}

/// What of `spec` changes the text of a tile, as part of a name.
fn suffix(spec: &MicroSpec) -> String {
    let unit = match (spec.unit, spec.b_unsigned, spec.biased) {
        (Unit::F32, ..) => "f32",
        (Unit::Bf16x2, ..) => "bf16x2",
        (Unit::I16x2, ..) => "i16x2",
        (Unit::I8x4, true, _) => "s8u8x4",
        (Unit::I8x4, _, true) => "s8s8x4",
        (Unit::I8x4, ..) => "u8s8x4",
    };
    let fixed = [("rs", spec.a_rs), ("ks", spec.a_ks), ("k", spec.k)];
    let fixed: String = fixed.iter().filter_map(|(tag, value)| value.map(|v| format!(".{tag}{v}"))).collect();
    format!("{unit}.{}x{}{fixed}", spec.mr, spec.nr())
}

/// The loops over panels of B (outer) and row tiles of A (inner).
fn tile_loops(spec: &MicroSpec, name: &str, tiles: &[(usize, String)]) -> String {
    let (mr, nr) = (spec.mr, spec.nr());
    let mut b = Body::default();
    b.label("entry");
    let m = spec.m.map_or("%m".to_string(), |m| m.to_string());
    let full = b.bind(format!("udiv i64 {m}, {mr}"));
    let rest = b.bind(format!("urem i64 {m}, {mr}"));
    let c_ts = b.bind(format!("mul i64 %c_rs, {mr}"));
    let any = b.bind("icmp ne i64 %n, 0");
    b.line(format!("br i1 {any}, label %panel, label %exit"));

    b.label("panel");
    b.line("%j = phi i64 [ 0, %entry ], [ %j.next, %panel.end ]");
    b.line("%b.panel = phi ptr [ %b, %entry ], [ %b.next, %panel.end ]");
    b.line("%c.panel = phi ptr [ %c, %entry ], [ %c.next, %panel.end ]");
    let some = b.bind(format!("icmp ne i64 {full}, 0"));
    b.line(format!("br i1 {some}, label %rows, label %rest"));

    b.label("rows");
    b.line("%i = phi i64 [ 0, %panel ], [ %i.next, %rows ]");
    b.line("%a.tile = phi ptr [ %a, %panel ], [ %a.next, %rows ]");
    b.line("%c.tile = phi ptr [ %c.panel, %panel ], [ %c.down, %rows ]");
    for (_, tile) in tiles.iter().filter(|(rows, _)| *rows == mr) {
        b.line(call(tile, "%a.tile", "%c.tile"));
    }
    b.line("%a.next = getelementptr i8, ptr %a.tile, i64 %a_ts");
    b.line(format!("%c.down = getelementptr i8, ptr %c.tile, i64 {c_ts}"));
    b.line("%i.next = add nuw i64 %i, 1");
    let more = b.bind(format!("icmp ult i64 %i.next, {full}"));
    b.line(format!("br i1 {more}, label %rows, label %rest"));

    b.label("rest");
    b.line("%a.rest = phi ptr [ %a, %panel ], [ %a.next, %rows ]");
    b.line("%c.rest = phi ptr [ %c.panel, %panel ], [ %c.down, %rows ]");
    let parts: Vec<&(usize, String)> = tiles.iter().filter(|(rows, _)| *rows < mr).collect();
    let cases: Vec<String> = parts.iter().map(|(r, _)| format!("i64 {r}, label %rest{r}")).collect();
    b.line(format!("switch i64 {rest}, label %panel.end [ {} ]", cases.join(" ")));
    for (rows, tile) in parts {
        b.label(format!("rest{rows}"));
        b.line(call(tile, "%a.rest", "%c.rest"));
        b.line("br label %panel.end");
    }

    b.label("panel.end");
    b.line("%b.next = getelementptr i8, ptr %b.panel, i64 %b_ps");
    b.line(format!("%c.next = getelementptr i8, ptr %c.panel, i64 {}", nr * 4));
    b.line(format!("%j.next = add nuw i64 %j, {nr}"));
    let more = b.bind("icmp ult i64 %j.next, %n");
    b.line(format!("br i1 {more}, label %panel, label %exit"));
    b.label("exit");
    b.line("ret void");
    b.finish(format!(
        "define internal void {name}(ptr noalias readonly %a, i64 %a_ts, i64 %a_rs, i64 %a_ks, \
         ptr noalias readonly %b, i64 %b_ps, i64 %k, ptr noalias %c, i64 %c_rs, i64 %m, i64 %n, i1 %zero) noinline nounwind"
    ))
}

fn call(tile: &str, a: &str, c: &str) -> String {
    format!(
        "call void {tile}(ptr {a}, i64 %a_rs, i64 %a_ks, ptr %b.panel, i64 %k, ptr {c}, i64 %c_rs, i1 %zero)"
    )
}
