//! The text of packing functions: a block of an operand, as it lies in memory, to panels of 32-bit units.

use tilewright_dtype::DType;

use crate::features::CpuFeatures;
use crate::runtime::{Body, Runtime, mask, splat};

use super::Unit;
use super::fetch::{fetch, transpose};

/// Which dimension the rows of a packed operand's source are numbered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rows {
    /// The source is `[k][width]`: B row-major, or A transposed.
    K,
    /// The source is `[width][k]`: B transposed, or A row-major.
    Width,
}

/// One packing routine. [`super::MicroSpec::pack_a`] and [`super::MicroSpec::pack_b`] make it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackSpec {
    /// Storage dtype of the source; i4 lies two a byte, so that with [`Rows::K`] panels have an even width.
    pub source: DType,
    /// What the panel holds.
    pub unit: Unit,
    /// Units in a step of a panel: `mr` for A, `nr` for B.
    pub width: usize,
    /// The source's layout.
    pub rows: Rows,
    /// Adds 128 to every 8-bit element, as A of i8·i8 needs it.
    pub bias: bool,
    /// Ends each panel with `-128 · Σ_k` of each column in i32, which takes the bias of A out of the sums.
    pub compensate: bool,
    /// The CPU.
    pub features: CpuFeatures,
}

impl PackSpec {
    /// 32-bit lanes of a vector.
    pub(super) fn lanes(&self) -> usize {
        self.features.vector_bits() / 32
    }

    /// The LLVM type of a vector of units.
    pub(super) fn vector(&self) -> String {
        let element = if self.unit == Unit::F32 { "float" } else { "i32" };
        format!("<{} x {element}>", self.lanes())
    }

    fn name(&self) -> String {
        let unit = match self.unit {
            Unit::F32 => "f32",
            Unit::Bf16x2 => "bf16x2",
            Unit::I16x2 => "i16x2",
            Unit::I8x4 => "i8x4",
        };
        let rows = if self.rows == Rows::K { "k" } else { "w" };
        let bias = if self.bias { ".biased" } else { "" };
        let compensate = if self.compensate { ".compensated" } else { "" };
        format!("@tw.pack.{}.{unit}.{}{rows}{bias}{compensate}", self.source, self.width)
    }
}

/// Defines the packing function of `spec` and returns its name.
pub(super) fn pack(rt: &mut Runtime, spec: &PackSpec) -> String {
    let name = spec.name();
    rt.define(&name, |rt| {
        let (lanes, vector) = (spec.lanes(), spec.vector());
        Pack { spec, lanes, vector, rt, body: Body::default(), inside: false }.emit(&name)
    });
    name
}

struct Pack<'a> {
    spec: &'a PackSpec,
    lanes: usize,
    vector: String,
    rt: &'a mut Runtime,
    body: Body,
    /// Whether the step being emitted lies inside the source, so that loads need no edge.
    inside: bool,
}

impl Pack<'_> {
    fn emit(mut self, name: &str) -> String {
        let (width, group, chunks) =
            (self.spec.width, self.spec.unit.group(), self.spec.width.div_ceil(self.lanes));
        let vector = self.vector.clone();
        let (step, bytes) = match self.spec.rows {
            Rows::K => (1, width * 4),
            Rows::Width => (self.lanes, width * 4),
        };
        let b = &mut self.body;
        b.label("entry");
        if self.spec.rows == Rows::Width {
            b.line(format!("%scratch = alloca [{} x i32], align 64", self.lanes * width));
        }
        b.line(format!("%k.up = add i64 %k, {}", group - 1));
        b.line(format!("%units = udiv i64 %k.up, {group}"));
        b.line("%any = icmp ne i64 %width, 0");
        b.line("%deep = icmp ne i64 %units, 0");
        b.line("br i1 %any, label %panel, label %exit");

        b.label("panel");
        b.line("%first = phi i64 [ 0, %entry ], [ %first.next, %panel.end ]");
        b.line("%out = phi ptr [ %panels, %entry ], [ %out.next, %panel.end ]");
        b.line("%columns = sub i64 %width_valid, %first");
        b.line("br i1 %deep, label %step, label %panel.end");

        b.label("step");
        b.line("%u = phi i64 [ 0, %panel ], [ %u.next, %step.end ]");
        let sums = if self.spec.compensate { chunks } else { 0 };
        for v in 0..sums {
            b.line(format!(
                "%sum{v} = phi {vector} [ zeroinitializer, %panel ], [ %sum.next{v}, %step.end ]"
            ));
        }
        b.line(format!("%e = mul i64 %u, {group}"));
        b.line("%depth = sub i64 %k_valid, %e");
        b.line(format!("%at = mul i64 %u, {bytes}"));
        b.line("%place = getelementptr i8, ptr %out, i64 %at");
        let across = if self.spec.rows == Rows::K { chunks * self.lanes } else { width };
        b.line(format!("%wide = icmp sge i64 %columns, {across}"));
        b.line(format!("%tall = icmp sge i64 %depth, {}", step * group));
        b.line("%inside = and i1 %wide, %tall");
        b.line("br i1 %inside, label %inner, label %edge");
        for part in ["inner", "edge"] {
            self.body.label(part);
            self.inside = part == "inner";
            let units = match self.spec.rows {
                Rows::K => self.step_k(chunks),
                Rows::Width => self.step_width(chunks),
            };
            for (v, units) in units.iter().enumerate().take(sums) {
                self.compensate(part, v, units);
            }
            self.body.line(format!("br label %{part}.end"));
            self.body.label(format!("{part}.end"));
            self.body.line("br label %step.end");
        }
        let b = &mut self.body;
        b.label("step.end");
        for v in 0..sums {
            b.line(format!("%sum.next{v} = phi {vector} [ %inner{v}, %inner.end ], [ %edge{v}, %edge.end ]"));
        }
        b.line(format!("%u.next = add i64 %u, {step}"));
        b.line("%more = icmp ult i64 %u.next, %units");
        b.line("br i1 %more, label %step, label %panel.end");

        b.label("panel.end");
        for v in 0..sums {
            b.line(format!(
                "%total{v} = phi {vector} [ zeroinitializer, %panel ], [ %sum.next{v}, %step.end ]"
            ));
        }
        b.line(format!("%end.at = mul i64 %units, {bytes}"));
        b.line("%end = getelementptr i8, ptr %out, i64 %end.at");
        for v in 0..sums {
            let negative = self.body.bind(format!("sub {vector} zeroinitializer, %total{v}"));
            self.store(&negative, "%end", v);
        }
        let b = &mut self.body;
        b.line(format!("%first.next = add i64 %first, {width}"));
        b.line("%out.next = getelementptr i8, ptr %out, i64 %panel_stride");
        b.line("%again = icmp ult i64 %first.next, %width");
        b.line("br i1 %again, label %panel, label %exit");
        b.label("exit");
        b.line("ret void");
        self.body.finish(format!(
            "define internal void {name}(ptr noalias readonly %source, i64 %row_stride, i64 %k, i64 %width, \
             i64 %k_valid, i64 %width_valid, ptr noalias %panels, i64 %panel_stride) nounwind"
        ))
    }

    /// One step of a panel from `group` rows of a `[k][width]` source. Returns each chunk's units.
    fn step_k(&mut self, chunks: usize) -> Vec<Vec<String>> {
        let (group, lanes) = (self.spec.unit.group(), self.lanes);
        let along = self.element_bytes("%first");
        let mut rows = Vec::new();
        for j in 0..group {
            let row = self.body.bind(format!("add i64 %e, {j}"));
            let at = self.body.bind(format!("mul i64 {row}, %row_stride"));
            let at = self.body.bind(format!("add i64 {at}, {along}"));
            let row = self.body.bind(format!("getelementptr i8, ptr %source, i64 {at}"));
            let real = self.body.bind(format!("icmp sgt i64 %depth, {j}"));
            let columns = self.body.bind(format!("select i1 {real}, i64 %columns, i64 0"));
            rows.push((row, columns));
        }
        let mut all = Vec::new();
        for v in 0..chunks {
            let mut parts = Vec::new();
            for (row, columns) in &rows {
                let at = v * lanes * self.spec.source.bits() as usize / 8;
                let at = self.body.bind(format!("getelementptr i8, ptr {row}, i64 {at}"));
                let valid = self.body.bind(format!("sub i64 {columns}, {}", v * lanes));
                parts.push(self.fetch(lanes, &at, &valid));
            }
            let units = self.interleave(&parts);
            let units = self.biased(&units);
            self.store(&units, "%place", v);
            all.push(vec![units]);
        }
        all
    }

    /// `lanes` steps of a panel from the rows of a `[width][k]` source, a square of units at a time. Returns each
    /// chunk's units.
    fn step_width(&mut self, chunks: usize) -> Vec<Vec<String>> {
        let (group, lanes, width) = (self.spec.unit.group(), self.lanes, self.spec.width);
        let vector = self.vector.clone();
        let mut to = "%place";
        if !self.inside {
            self.body.line("%left = sub i64 %units, %u");
            self.body.line(format!("%whole = icmp uge i64 %left, {lanes}"));
            // A square that is not whole goes by way of scratch memory, so that nothing is written past the panel.
            self.body.line("%to = select i1 %whole, ptr %place, ptr %scratch");
            to = "%to";
        }
        let along = self.element_bytes("%e");
        let start = self.body.bind("mul i64 %first, %row_stride");
        let start = self.body.bind(format!("add i64 {start}, {along}"));
        let start = self.body.bind(format!("getelementptr i8, ptr %source, i64 {start}"));
        let mut all = Vec::new();
        for v in 0..chunks {
            let count = lanes.min(width - v * lanes);
            let mut square = Vec::new();
            for r in 0..count {
                let at = self.body.bind(format!("mul i64 %row_stride, {}", v * lanes + r));
                let at = self.body.bind(format!("getelementptr i8, ptr {start}, i64 {at}"));
                let real = self.body.bind(format!("icmp sgt i64 %columns, {}", v * lanes + r));
                let valid = self.body.bind(format!("select i1 {real}, i64 %depth, i64 0"));
                let elements = self.fetch(lanes * group, &at, &valid);
                let units = self.interleave(&[elements]);
                square.push(self.biased(&units));
            }
            square.resize(lanes, "zeroinitializer".to_string());
            let steps = transpose(&mut self.body, &vector, &square);
            for (s, units) in steps.iter().enumerate() {
                let to = self.body.bind(format!("getelementptr i8, ptr {to}, i64 {}", s * width * 4));
                self.store(units, &to, v);
            }
            all.push(steps);
        }
        if !self.inside {
            self.rt.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)");
            let b = &mut self.body;
            b.line("br i1 %whole, label %copied, label %copy");
            b.label("copy");
            b.line(format!("%part = mul i64 %left, {}", width * 4));
            b.line(
                "call void @llvm.memcpy.p0.p0.i64(ptr align 4 %place, ptr align 64 %scratch, i64 %part, i1 false)",
            );
            b.line("br label %copied");
            b.label("copied");
        }
        all
    }

    /// `count` elements of the source at `at`, zero from `valid` on unless the step lies inside.
    fn fetch(&mut self, count: usize, at: &str, valid: &str) -> String {
        let valid = if self.inside { None } else { Some(valid) };
        fetch(self.rt, &mut self.body, self.spec, count, at, valid)
    }

    /// Bytes that `elements` (an i64 value) elements of the source take.
    fn element_bytes(&mut self, elements: &str) -> String {
        if self.spec.source == DType::I4 {
            self.body.bind(format!("lshr i64 {elements}, 1"))
        } else {
            self.body.bind(format!("mul i64 {elements}, {}", self.spec.source.bits() / 8))
        }
    }

    /// A vector of units from one vector of neighbours in `k`, or from `group` vectors of neighbours in `width`.
    fn interleave(&mut self, parts: &[String]) -> String {
        let element = self.spec.unit.element();
        let (lanes, group, vector) = (self.lanes, self.spec.unit.group(), self.vector.clone());
        if group == 1 {
            return parts[0].clone();
        }
        let whole = match parts {
            [all] => {
                return self.body.bind(format!("bitcast <{} x {element}> {all} to {vector}", lanes * group));
            }
            [a, b] => self.zip(element, a, b),
            quads => {
                let low = self.zip(element, &quads[0], &quads[1]);
                let high = self.zip(element, &quads[2], &quads[3]);
                let mut pairs = [low, high];
                for half in &mut pairs {
                    *half = self.body.bind(format!("bitcast <{} x i8> {half} to <{lanes} x i16>", 2 * lanes));
                }
                self.zip("i16", &pairs[0], &pairs[1])
            }
        };
        self.body.bind(format!("bitcast <{} x i16> {whole} to {vector}", 2 * lanes))
    }

    /// `a0 b0 a1 b1 …`
    fn zip(&mut self, element: &str, a: &str, b: &str) -> String {
        let ty = format!("<{} x {element}>", self.lanes);
        let order = mask((0..2 * self.lanes).map(|i| i / 2 + i % 2 * self.lanes));
        self.body.bind(format!("shufflevector {ty} {a}, {ty} {b}, {order}"))
    }

    fn biased(&mut self, units: &str) -> String {
        if !self.spec.bias {
            return units.to_string();
        }
        let (vector, flip) = (&self.vector, splat(self.lanes, "i32", 0x8080_8080_u32 as i32));
        self.body.bind(format!("xor {vector} {units}, {flip}"))
    }

    /// `%{part}{v}`: the sums of chunk `v` and 128 times each 8-bit element of `units`.
    fn compensate(&mut self, part: &str, v: usize, units: &[String]) {
        let (ty, bits) = (&self.vector, self.spec.features.vector_bits());
        self.rt.declare(format!("declare {ty} @llvm.x86.avx512.vpdpbusd.{bits}({ty}, {ty}, {ty})"));
        let all_128 = splat(self.lanes, "i32", 0x8080_8080_u32 as i32);
        let mut sum = format!("%sum{v}");
        for (index, unit) in units.iter().enumerate() {
            let last = index + 1 == units.len();
            let name = if last { format!("%{part}{v}") } else { format!("%{part}{v}.{index}") };
            self.body.line(format!(
                "{name} = call {ty} @llvm.x86.avx512.vpdpbusd.{bits}({ty} {sum}, {ty} {all_128}, {ty} {unit})"
            ));
            sum = name;
        }
    }

    /// Stores the lanes of chunk `v` that lie within the panel.
    fn store(&mut self, units: &str, place: &str, v: usize) {
        let (vector, lanes) = (self.vector.clone(), self.lanes);
        let count = lanes.min(self.spec.width - v * lanes);
        let at = self.body.bind(format!("getelementptr i8, ptr {place}, i64 {}", v * lanes * 4));
        if count == lanes {
            self.body.line(format!("store {vector} {units}, ptr {at}, align 4"));
            return;
        }
        let suffix = if self.spec.unit == Unit::F32 { "f32" } else { "i32" };
        let bits: Vec<String> = (0..lanes).map(|l| format!("i1 {}", l < count)).collect();
        self.rt.declare(format!(
            "declare void @llvm.masked.store.v{lanes}{suffix}.p0({vector}, ptr, i32, <{lanes} x i1>)"
        ));
        self.body.line(format!(
            "call void @llvm.masked.store.v{lanes}{suffix}.p0({vector} {units}, ptr {at}, i32 4, <{lanes} x i1> <{}>)",
            bits.join(", ")
        ));
    }
}
