//! The text of one register tile: sums held in registers while A and B stream past.

use tilewright_dtype::DType;

use crate::features::Isa;
use crate::runtime::{Body, Runtime};

use super::multiply::multiply_add;
use super::{MicroSpec, Unit};

/// Steps of the unrolled loop: enough to hide the loop's own instructions, few enough to stay in the micro-op cache.
const UNROLL: usize = 4;

/// The register tile of `rows` rows: `C[rows×nr] = (zero ? 0 : C) + A·B`.
pub(super) fn tile(rt: &mut Runtime, spec: &MicroSpec, suffix: &str, rows: usize) -> String {
    let name = format!("@tw.tile.{suffix}.rows{rows}");
    rt.define(&name, |rt| {
        let fixed =
            |value: Option<i64>, argument: &str| value.map_or(argument.to_string(), |v| v.to_string());
        let (a_ks, k) = (fixed(spec.a_ks, "%a_ks"), fixed(spec.k, "%k"));
        let tile =
            Tile { spec, rt, rows, lanes: spec.lanes(), a_ks, k, offsets: Vec::new(), body: Body::default() };
        tile.emit(&name, &fixed(spec.a_rs, "%a_rs"))
    });
    name
}

struct Tile<'a> {
    spec: &'a MicroSpec,
    rt: &'a mut Runtime,
    rows: usize,
    lanes: usize,
    /// Bytes between units of A, and `k`.
    a_ks: String,
    k: String,
    /// Bytes from the first row of A to each.
    offsets: Vec<String>,
    body: Body,
}

impl Tile<'_> {
    fn emit(mut self, name: &str, a_rs: &str) -> String {
        let (a_ks, group) = (self.a_ks.clone(), self.spec.group());
        self.body.label("entry");
        let units = self.body.bind(format!("udiv i64 {}, {group}", self.k));
        let main = self.body.bind(format!("and i64 {units}, -{UNROLL}"));
        self.offsets = (0..self.rows).map(|r| self.body.bind(format!("mul i64 {a_rs}, {r}"))).collect();
        let jump = self.body.bind(format!("mul i64 {a_ks}, {UNROLL}"));
        self.prefetch_c();

        // The unrolled loop, then single steps, then the part of a unit that is left of `k`.
        let sums = vec!["zeroinitializer".to_string(); self.rows * self.spec.nr_vectors];
        let start = State { block: "entry", a: "%a".to_string(), b: "%b".to_string(), sums };
        let after = self.step_loop("wide", UNROLL, &main, &jump, &start);
        let left = self.body.bind(format!("sub i64 {units}, {main}"));
        let after = self.step_loop("one", 1, &left, &a_ks, &after);
        let sums = if group > 1 { self.partial_step(&after) } else { after.sums };
        self.finish(&sums);
        self.body.finish(format!(
            "define internal void {name}(ptr noalias readonly %a, i64 %a_rs, i64 %a_ks, \
             ptr noalias readonly %b, i64 %k, ptr noalias %c, i64 %c_rs, i1 %zero) noinline nounwind"
        ))
    }

    fn acc_type(&self) -> String {
        let element = if self.spec.acc() == DType::F32 { "float" } else { "i32" };
        format!("<{} x {element}>", self.lanes)
    }

    /// A loop of `count` steps, `steps` at a time, each of which moves A by `jump` bytes. Ends in block `{tag}.end`.
    fn step_loop(
        &mut self,
        tag: &'static str,
        steps: usize,
        count: &str,
        jump: &str,
        start: &State,
    ) -> State {
        let State { block: from, a, b, sums: start } = start;
        let step = self.spec.nr() * 4;
        let acc = self.acc_type();
        let any = self.body.bind(format!("icmp ne i64 {count}, 0"));
        self.body.line(format!("br i1 {any}, label %{tag}, label %{tag}.end"));
        self.body.label(tag);
        self.body.line(format!("%{tag}.u = phi i64 [ 0, %{from} ], [ %{tag}.u.next, %{tag} ]"));
        self.body.line(format!("%{tag}.a = phi ptr [ {a}, %{from} ], [ %{tag}.a.next, %{tag} ]"));
        self.body.line(format!("%{tag}.b = phi ptr [ {b}, %{from} ], [ %{tag}.b.next, %{tag} ]"));
        let mut sums: Vec<String> = Vec::new();
        for (index, value) in start.iter().enumerate() {
            self.body.line(format!(
                "%{tag}.c{index} = phi {acc} [ {value}, %{from} ], [ %{tag}.d{index}, %{tag} ]"
            ));
            sums.push(format!("%{tag}.c{index}"));
        }
        let folded = self.folded_rows();
        let mut a_steps = vec![format!("%{tag}.a")];
        if steps > 1 && folded.iter().any(|f| *f) {
            // An equal pointer that LLVM does not know to be equal.
            for v in 1..self.spec.nr_vectors {
                let copy = format!("call ptr asm \"# copy {v}\", \"=r,0\"(ptr %{tag}.a)");
                a_steps.push(self.body.bind(copy));
            }
        }
        for s in 0..steps {
            if s > 0 {
                for a_step in &mut a_steps {
                    *a_step = self.body.bind(format!("getelementptr i8, ptr {a_step}, i64 {}", self.a_ks));
                }
            }
            let b_step = self.body.bind(format!("getelementptr i8, ptr %{tag}.b, i64 {}", s * step));
            let vectors = self.load_b(&b_step);
            for (row, folded) in folded.iter().enumerate() {
                let copies = if *folded { a_steps.len() } else { 1 };
                let units: Vec<String> = (0..copies)
                    .map(|copy| {
                        let unit = self.load_unit(&a_steps[copy], row);
                        self.broadcast(&unit)
                    })
                    .collect();
                self.multiply_row(&mut sums, row, &units, &vectors);
            }
        }
        for (index, value) in sums.iter().enumerate() {
            // A copy under the name that the phi expects; LLVM folds it away.
            self.body.line(format!("%{tag}.d{index} = bitcast {acc} {value} to {acc}"));
        }
        self.body.line(format!("%{tag}.a.next = getelementptr i8, ptr %{tag}.a, i64 {jump}"));
        self.body.line(format!("%{tag}.b.next = getelementptr i8, ptr %{tag}.b, i64 {}", steps * step));
        self.body.line(format!("%{tag}.u.next = add nuw i64 %{tag}.u, {steps}"));
        let more = self.body.bind(format!("icmp ult i64 %{tag}.u.next, {count}"));
        self.body.line(format!("br i1 {more}, label %{tag}, label %{tag}.end"));

        self.body.label(format!("{tag}.end"));
        let a_end = self.body.bind(format!("phi ptr [ {a}, %{from} ], [ %{tag}.a.next, %{tag} ]"));
        let b_end = self.body.bind(format!("phi ptr [ {b}, %{from} ], [ %{tag}.b.next, %{tag} ]"));
        let sums = start
            .iter()
            .enumerate()
            .map(|(index, value)| {
                self.body.bind(format!("phi {acc} [ {value}, %{from} ], [ %{tag}.d{index}, %{tag} ]"))
            })
            .collect();
        State { block: if tag == "wide" { "wide.end" } else { "one.end" }, a: a_end, b: b_end, sums }
    }

    /// Rows whose unit of A is loaded anew by every multiplication that uses it, as an AVX-512 memory operand with
    /// broadcast, in place of once into a register: fewer instructions, more loads. Half of the rows keep both within
    /// what the core does in the time of the multiplications, and where another thread shares the core, fewer
    /// instructions are faster.
    fn folded_rows(&self) -> Vec<bool> {
        let can = self.spec.features.isa == Isa::Avx512
            && match self.spec.unit {
                Unit::F32 | Unit::Bf16x2 => true,
                // The memory operand is the signed one.
                Unit::I8x4 => self.spec.b_unsigned,
                Unit::I16x2 => false,
            };
        (0..self.rows).map(|row| can && row % 2 == 1).collect()
    }

    fn load_b(&mut self, b: &str) -> Vec<String> {
        let element = if self.spec.unit == Unit::F32 { "float" } else { "i32" };
        let lanes = self.lanes;
        (0..self.spec.nr_vectors)
            .map(|v| {
                let at = self.body.bind(format!("getelementptr i8, ptr {b}, i64 {}", v * lanes * 4));
                self.body.bind(format!("load <{lanes} x {element}>, ptr {at}, align {}", lanes * 4))
            })
            .collect()
    }

    fn load_unit(&mut self, a: &str, row: usize) -> String {
        let offset = &self.offsets[row];
        let at = self.body.bind(format!("getelementptr i8, ptr {a}, i64 {offset}"));
        match self.spec.unit {
            Unit::F32 => self.body.bind(format!("load float, ptr {at}, align 4")),
            _ => self.body.bind(format!("load i32, ptr {at}, align 1")),
        }
    }

    fn broadcast(&mut self, unit: &str) -> String {
        let element = if self.spec.unit == Unit::F32 { "float" } else { "i32" };
        let lanes = self.lanes;
        let one =
            self.body.bind(format!("insertelement <{lanes} x {element}> poison, {element} {unit}, i64 0"));
        self.body.bind(format!(
            "shufflevector <{lanes} x {element}> {one}, <{lanes} x {element}> poison, <{lanes} x i32> zeroinitializer"
        ))
    }

    fn multiply_row(&mut self, sums: &mut [String], row: usize, units: &[String], vectors: &[String]) {
        for (v, vector) in vectors.iter().enumerate() {
            let unit = &units[v % units.len()];
            let sum = &mut sums[row * vectors.len() + v];
            *sum = multiply_add(self.rt, &mut self.body, self.spec, unit, vector, sum);
        }
    }

    /// Adds the last `k % group` elements. Only their bytes of A are read: what follows may be another row, or not mapped.
    fn partial_step(&mut self, after: &State) -> Vec<String> {
        let (group, acc) = (self.spec.group(), self.acc_type());
        let width = 32 / group;
        let left = self.body.bind(format!("urem i64 {}, {group}", self.k));
        let any = self.body.bind(format!("icmp ne i64 {left}, 0"));
        self.body.line(format!("br i1 {any}, label %partial, label %partial.end"));
        self.body.label("partial");
        let vectors = self.load_b(&after.b);
        let mut sums = after.sums.clone();
        for row in 0..self.rows {
            let at = self.body.bind(format!("getelementptr i8, ptr {}, i64 {}", after.a, self.offsets[row]));
            let mut unit = "0".to_string();
            for e in 0..group - 1 {
                // Elements past the end read the first one again and are masked to zero.
                let valid = self.body.bind(format!("icmp ugt i64 {left}, {e}"));
                let byte = self.body.bind(format!("select i1 {valid}, i64 {}, i64 0", e * width / 8));
                let place = self.body.bind(format!("getelementptr i8, ptr {at}, i64 {byte}"));
                let bits = self.body.bind(format!("load i{width}, ptr {place}, align 1"));
                let bits = self.body.bind(format!("zext i{width} {bits} to i32"));
                let bits = self.body.bind(format!("shl i32 {bits}, {}", e * width));
                let bits = self.body.bind(format!("select i1 {valid}, i32 {bits}, i32 0"));
                unit = self.body.bind(format!("or i32 {unit}, {bits}"));
            }
            let unit = self.broadcast(&unit);
            self.multiply_row(&mut sums, row, &[unit], &vectors);
        }
        self.body.line("br label %partial.end");
        self.body.label("partial.end");
        let mut merged = Vec::new();
        for (new, old) in sums.iter().zip(&after.sums) {
            merged
                .push(self.body.bind(format!("phi {acc} [ {new}, %partial ], [ {old}, %{} ]", after.block)));
        }
        merged
    }

    /// Brings C's lines near while the sums are formed: they are wanted all at once at the end.
    fn prefetch_c(&mut self) {
        self.rt.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)");
        let row_bytes = self.spec.nr() * 4;
        for row in 0..self.rows {
            let at = self.body.bind(format!("mul i64 %c_rs, {row}"));
            let at = self.body.bind(format!("getelementptr i8, ptr %c, i64 {at}"));
            for line in (0..row_bytes).step_by(64) {
                let at = self.body.bind(format!("getelementptr i8, ptr {at}, i64 {line}"));
                self.body.line(format!("call void @llvm.prefetch.p0(ptr {at}, i32 1, i32 3, i32 1)"));
            }
        }
    }

    /// Adds the compensations and C, and stores.
    fn finish(&mut self, sums: &[String]) {
        let (acc, lanes, nv) = (self.acc_type(), self.lanes, self.spec.nr_vectors);
        let add = if acc.contains("float") { "fadd" } else { "add" };
        let mut sums = sums.to_vec();
        if self.spec.biased {
            let group = self.spec.group();
            let units = self.body.bind(format!("add i64 {}, {}", self.k, group - 1));
            let units = self.body.bind(format!("udiv i64 {units}, {group}"));
            let at = self.body.bind(format!("mul i64 {units}, {}", self.spec.nr() * 4));
            let at = self.body.bind(format!("getelementptr i8, ptr %b, i64 {at}"));
            let extra = self.load_b(&at);
            for (index, sum) in sums.iter_mut().enumerate() {
                *sum = self.body.bind(format!("add {acc} {sum}, {}", extra[index % nv]));
            }
        }
        let places: Vec<String> = (0..sums.len())
            .map(|index| {
                let row = self.body.bind(format!("mul i64 %c_rs, {}", index / nv));
                let row = self.body.bind(format!("getelementptr i8, ptr %c, i64 {row}"));
                self.body.bind(format!("getelementptr i8, ptr {row}, i64 {}", index % nv * lanes * 4))
            })
            .collect();
        self.body.line("br i1 %zero, label %store, label %add");
        self.body.label("store");
        for (sum, place) in sums.iter().zip(&places) {
            self.body.line(format!("store {acc} {sum}, ptr {place}, align 4"));
        }
        self.body.line("ret void");
        self.body.label("add");
        for (sum, place) in sums.iter().zip(&places) {
            let old = self.body.bind(format!("load {acc}, ptr {place}, align 4"));
            let new = self.body.bind(format!("{add} {acc} {old}, {sum}"));
            self.body.line(format!("store {acc} {new}, ptr {place}, align 4"));
        }
        self.body.line("ret void");
    }
}

/// Where a loop begins or ends: its block, the places in A and B, and the sums.
struct State {
    block: &'static str,
    a: String,
    b: String,
    sums: Vec<String>,
}
