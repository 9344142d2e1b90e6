//! The text of a dot function: one register tile for each count of rows, and the loops over tiles.

use crate::features::Isa;
use crate::runtime::{Body, Runtime, mask};

use super::{MicroSpec, Unit};

/// Steps of the unrolled loop: enough to hide the loop's own instructions, few enough to stay in the micro-op cache.
const UNROLL: usize = 4;

/// Defines the dot function of `spec` and returns its name.
pub(super) fn dot(rt: &mut Runtime, spec: &MicroSpec) -> String {
    let rows = spec.m.map_or(String::new(), |m| format!(".m{m}"));
    let name = format!("@tw.dot.{}{rows}", suffix(spec));
    rt.define(&name.clone(), |rt| {
        let tiles: Vec<(usize, String)> = (1..=spec.mr)
            .filter(|rows| occurs(spec, *rows))
            .map(|rows| (rows, tile(rt, spec, rows)))
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

/// The register tile of `rows` rows: `C[rows×nr] = (zero ? 0 : C) + A·B`.
fn tile(rt: &mut Runtime, spec: &MicroSpec, rows: usize) -> String {
    let name = format!("@tw.tile.{}.rows{rows}", suffix(spec));
    rt.define(&name.clone(), |rt| {
        Tile { spec, rows, lanes: spec.lanes(), body: Body::default() }.emit(rt, &name)
    });
    name
}

struct Tile<'a> {
    spec: &'a MicroSpec,
    rows: usize,
    lanes: usize,
    body: Body,
}

impl Tile<'_> {
    fn emit(mut self, rt: &mut Runtime, name: &str) -> String {
        let fixed =
            |value: Option<i64>, argument: &str| value.map_or(argument.to_string(), |v| v.to_string());
        let a_rs = fixed(self.spec.a_rs, "%a_rs");
        let a_ks = fixed(self.spec.a_ks, "%a_ks");
        let k = fixed(self.spec.k, "%k");
        let group = self.spec.group();
        let step = self.spec.nr() * 4;
        self.body.label("entry");
        let units = self.body.bind(format!("udiv i64 {k}, {group}"));
        let main = self.body.bind(format!("and i64 {units}, -{UNROLL}"));
        let offsets: Vec<String> =
            (0..self.rows).map(|r| self.body.bind(format!("mul i64 {a_rs}, {r}"))).collect();
        let jump = self.body.bind(format!("mul i64 {a_ks}, {UNROLL}"));
        self.prefetch_c(rt);
        let zeros = vec!["zeroinitializer".to_string(); self.rows * self.spec.nr_vectors];

        // The unrolled loop, then single steps, then the part of a unit that is left of `k`.
        let wide =
            Loop { tag: "wide", from: "entry", steps: UNROLL, count: main.clone(), jump, start: zeros };
        let after = self.step_loop(rt, wide, "%a", "%b", &offsets, &a_ks, step);
        let left = self.body.bind(format!("sub i64 {units}, {main}"));
        let one = Loop {
            tag: "one",
            from: "wide.end",
            steps: 1,
            count: left,
            jump: a_ks.clone(),
            start: after.sums,
        };
        let after = self.step_loop(rt, one, &after.a, &after.b, &offsets, &a_ks, step);
        let sums = if group > 1 { self.partial_step(rt, &k, &after, &offsets) } else { after.sums };
        self.finish(&sums);
        let header = format!(
            "define internal void {name}(ptr noalias readonly %a, i64 %a_rs, i64 %a_ks, \
             ptr noalias readonly %b, i64 %k, ptr noalias %c, i64 %c_rs, i1 %zero) noinline nounwind"
        );
        self.body.finish(header)
    }

    fn acc_type(&self) -> String {
        let element = if self.spec.acc() == tilewright_dtype::DType::F32 { "float" } else { "i32" };
        format!("<{} x {element}>", self.lanes)
    }

    /// A loop of `count` steps, `steps` at a time. Ends in block `{tag}.end`, where its values are bound.
    fn step_loop(
        &mut self,
        rt: &mut Runtime,
        l: Loop,
        a: &str,
        b: &str,
        offsets: &[String],
        a_ks: &str,
        step: usize,
    ) -> After {
        let Loop { tag, from, steps, count, jump, start } = l;
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
                    *a_step = self.body.bind(format!("getelementptr i8, ptr {a_step}, i64 {a_ks}"));
                }
            }
            let b_step = self.body.bind(format!("getelementptr i8, ptr %{tag}.b, i64 {}", s * step));
            let vectors = self.load_b(&b_step);
            for (row, offset) in offsets.iter().enumerate() {
                let copies = if folded[row] { a_steps.len() } else { 1 };
                let units: Vec<String> = (0..copies)
                    .map(|copy| {
                        let unit = self.load_unit(&a_steps[copy], offset);
                        self.broadcast(&unit)
                    })
                    .collect();
                self.multiply_row(rt, &mut sums, row, &units, &vectors);
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
        After { a: a_end, b: b_end, sums }
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

    fn load_unit(&mut self, a: &str, offset: &str) -> String {
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

    fn multiply_row(
        &mut self,
        rt: &mut Runtime,
        sums: &mut [String],
        row: usize,
        units: &[String],
        vectors: &[String],
    ) {
        for (v, vector) in vectors.iter().enumerate() {
            let unit = &units[v % units.len()];
            let sum = &mut sums[row * vectors.len() + v];
            *sum = multiply_add(rt, &mut self.body, self.spec, unit, vector, sum);
        }
    }

    /// Adds the last `k % group` elements. Only their bytes of A are read: what follows may be another row, or not mapped.
    fn partial_step(&mut self, rt: &mut Runtime, k: &str, after: &After, offsets: &[String]) -> Vec<String> {
        let (group, acc) = (self.spec.group(), self.acc_type());
        let width = 32 / group;
        let left = self.body.bind(format!("urem i64 {k}, {group}"));
        let any = self.body.bind(format!("icmp ne i64 {left}, 0"));
        self.body.line(format!("br i1 {any}, label %partial, label %partial.end"));
        self.body.label("partial");
        let vectors = self.load_b(&after.b);
        let mut sums = after.sums.clone();
        for (row, offset) in offsets.iter().enumerate() {
            let at = self.body.bind(format!("getelementptr i8, ptr {}, i64 {offset}", after.a));
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
            self.multiply_row(rt, &mut sums, row, &[unit], &vectors);
        }
        self.body.line("br label %partial.end");
        self.body.label("partial.end");
        let mut merged = Vec::new();
        for (new, old) in sums.iter().zip(&after.sums) {
            merged.push(self.body.bind(format!("phi {acc} [ {new}, %partial ], [ {old}, %one.end ]")));
        }
        merged
    }

    /// Brings C's lines near while the sums are formed: they are wanted all at once at the end.
    fn prefetch_c(&mut self, rt: &mut Runtime) {
        rt.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)");
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
            let fixed = self.spec.k.map_or("%k".to_string(), |v| v.to_string());
            let units = self.body.bind(format!("add i64 {fixed}, {}", group - 1));
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

struct Loop {
    tag: &'static str,
    from: &'static str,
    steps: usize,
    count: String,
    jump: String,
    start: Vec<String>,
}

struct After {
    a: String,
    b: String,
    sums: Vec<String>,
}

/// `sum + unit · vector`, lane by lane.
fn multiply_add(
    rt: &mut Runtime,
    body: &mut Body,
    spec: &MicroSpec,
    unit: &str,
    vector: &str,
    sum: &str,
) -> String {
    let n = spec.lanes();
    let bits = spec.features.vector_bits();
    match spec.unit {
        Unit::F32 => {
            // `fmuladd` fuses where the CPU can and never calls a library.
            let f = format!("<{n} x float>");
            rt.declare(format!("declare {f} @llvm.fmuladd.v{n}f32({f}, {f}, {f})"));
            body.bind(format!("call {f} @llvm.fmuladd.v{n}f32({f} {unit}, {f} {vector}, {f} {sum})"))
        }
        Unit::Bf16x2 => {
            let (f, h) = (format!("<{n} x float>"), format!("<{} x bfloat>", 2 * n));
            rt.declare(format!("declare {f} @llvm.x86.avx512bf16.dpbf16ps.{bits}({f}, {h}, {h})"));
            let a = body.bind(format!("bitcast <{n} x i32> {unit} to {h}"));
            let b = body.bind(format!("bitcast <{n} x i32> {vector} to {h}"));
            body.bind(format!("call {f} @llvm.x86.avx512bf16.dpbf16ps.{bits}({f} {sum}, {h} {a}, {h} {b})"))
        }
        Unit::I8x4 => {
            let i = format!("<{n} x i32>");
            rt.declare(format!("declare {i} @llvm.x86.avx512.vpdpbusd.{bits}({i}, {i}, {i})"));
            let (unsigned, signed) = if spec.b_unsigned { (vector, unit) } else { (unit, vector) };
            body.bind(format!(
                "call {i} @llvm.x86.avx512.vpdpbusd.{bits}({i} {sum}, {i} {unsigned}, {i} {signed})"
            ))
        }
        Unit::I16x2 => {
            let (i, h) = (format!("<{n} x i32>"), format!("<{} x i16>", 2 * n));
            let a = body.bind(format!("bitcast <{n} x i32> {unit} to {h}"));
            let b = body.bind(format!("bitcast <{n} x i32> {vector} to {h}"));
            let product = match pair_intrinsic(spec.features.isa) {
                Some(f) => {
                    rt.declare(format!("declare {i} {f}({h}, {h})"));
                    body.bind(format!("call {i} {f}({h} {a}, {h} {b})"))
                }
                None => pair_products(body, n, &a, &b),
            };
            body.bind(format!("add {i} {sum}, {product}"))
        }
    }
}

/// The instruction that multiplies pairs of i16 and adds their products. LLVM does not find it in the portable form next to
/// a broadcast, so the baseline of x86-64 names it too.
fn pair_intrinsic(isa: Isa) -> Option<&'static str> {
    match isa {
        Isa::Baseline if cfg!(target_arch = "x86_64") => Some("@llvm.x86.sse2.pmadd.wd"),
        Isa::Baseline => None,
        Isa::Avx2 => Some("@llvm.x86.avx2.pmadd.wd"),
        Isa::Avx512 => Some("@llvm.x86.avx512.pmaddw.d.512"),
    }
}

/// `a[2i]·b[2i] + a[2i+1]·b[2i+1]` in i32, portably.
fn pair_products(body: &mut Body, n: usize, a: &str, b: &str) -> String {
    let (i, h, w) = (format!("<{n} x i32>"), format!("<{} x i16>", 2 * n), format!("<{} x i32>", 2 * n));
    let a = body.bind(format!("sext {h} {a} to {w}"));
    let b = body.bind(format!("sext {h} {b} to {w}"));
    let products = body.bind(format!("mul nsw {w} {a}, {b}"));
    let mut pick = |odd: usize| {
        let order = mask((0..n).map(|l| 2 * l + odd));
        body.bind(format!("shufflevector {w} {products}, {w} poison, {order}"))
    };
    let (even, odd) = (pick(0), pick(1));
    body.bind(format!("add {i} {even}, {odd}"))
}
