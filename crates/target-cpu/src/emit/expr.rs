//! One vector of an expression.

use tilewright_dtype::DType;
use tilewright_ir::{BinaryOp, CmpOp, Const, Op, OpKind, ReduceOp, UnaryOp, Value};

use super::{At, Cell, Reg, is_literal};
use crate::math::Math;
use crate::plan::{Place, unit_map};

impl<'a> Cell<'a> {
    /// The vector of `v` at `at`.
    pub(super) fn eval(&mut self, v: Value, at: &At) -> Reg {
        match self.plan.place(v) {
            Place::Scalar => self.scalar_vector(v),
            Place::Buffer(b) => self.read_buffer(b, at),
            Place::Inline => {
                let key = (v, format!("{at:?}"));
                if let Some(known) = self.memo.get(&key) {
                    return known.clone();
                }
                let made = match self.def(v) {
                    Some(op) => self.eval_op(op, at),
                    None => self.reg("poison".to_string(), self.kernel.ty(v).dtype, false),
                };
                self.memo.insert(key, made.clone());
                made
            }
        }
    }

    /// A rank-0 value in every lane.
    fn scalar_vector(&mut self, v: Value) -> Reg {
        let scalar =
            self.scalars.get(&v).cloned().unwrap_or_else(|| self.reg("poison".into(), DType::I32, false));
        match scalar.dtype {
            DType::I32 => {
                let text = self.splat("i32", &scalar.text);
                self.reg(text, DType::I32, false)
            }
            DType::Bool => {
                let text = self.splat("i1", &scalar.text);
                self.reg(text, DType::Bool, false)
            }
            _ => scalar,
        }
    }

    /// The vector of the op's result at `at`, computed, not read from a buffer of its own.
    pub(super) fn eval_op(&mut self, op: &'a Op, at: &At) -> Reg {
        let ty = self.kernel.ty(op.results[0]);
        match &op.kind {
            OpKind::Splat(value) => self.constant(*value, ty.dtype),
            OpKind::Iota { dim } => self.iota(*dim, at),
            OpKind::Load { .. } => self.load(op, at),
            OpKind::Cast => {
                let x = self.eval(op.operands[0], at);
                self.cast(&x, ty.dtype)
            }
            OpKind::Unary(f) => {
                let x = self.eval(op.operands[0], at);
                self.unary(*f, &x)
            }
            OpKind::Binary(f) => {
                let x = self.eval(op.operands[0], at);
                let y = self.eval(op.operands[1], at);
                self.binary(*f, &x, &y)
            }
            OpKind::Compare(f) => {
                let x = self.eval(op.operands[0], at);
                let y = self.eval(op.operands[1], at);
                self.compare(*f, &x, &y)
            }
            OpKind::Select => {
                let c = self.eval(op.operands[0], at);
                let x = self.eval(op.operands[1], at);
                let y = self.eval(op.operands[2], at);
                self.select(&c, &x, &y)
            }
            _ => {
                let inner = self.moved(op, at);
                self.eval(op.operands[0], &inner)
            }
        }
    }

    /// Where a broadcast, a reshape by dimensions of 1, a transpose or a slice reads its operand.
    fn moved(&mut self, op: &Op, at: &At) -> At {
        let from = self.kernel.ty(op.operands[0]);
        let to = self.kernel.ty(op.results[0]);
        let rank = from.shape.rank();
        let mut inner = At { coords: vec!["0".to_string(); rank], vector: None, mask: at.mask.clone() };
        let put = |inner: &mut At, d: usize, result_dim: usize| {
            inner.coords[d] = at.coords[result_dim].clone();
            if at.vector == Some(result_dim) {
                inner.vector = Some(d);
            }
        };
        match &op.kind {
            OpKind::Broadcast => {
                for d in (0..rank).filter(|&d| from.shape.dims()[d] > 1) {
                    put(&mut inner, d, d);
                }
            }
            OpKind::Transpose { perm } => {
                for (result_dim, &d) in perm[..rank].iter().enumerate() {
                    put(&mut inner, d, result_dim);
                }
            }
            OpKind::Reshape => {
                for (result_dim, d) in unit_map(from, to).unwrap_or_default().into_iter().enumerate() {
                    if let Some(d) = d {
                        put(&mut inner, d, result_dim);
                    }
                }
            }
            OpKind::Slice { start } => {
                for (d, first) in start.iter().enumerate().take(rank) {
                    put(&mut inner, d, d);
                    inner.coords[d] = self.add(&at.coords[d], &first.to_string());
                }
            }
            _ => {}
        }
        inner
    }

    pub(super) fn constant(&mut self, value: Const, dtype: DType) -> Reg {
        let text = match value {
            Const::Float(x) => {
                let rounded = dtype.round(x) as f32;
                self.uniform("float", &crate::runtime::float_constant(rounded))
            }
            Const::Int(x) if dtype == DType::Bool => {
                self.uniform("i1", if x == 0 { "false" } else { "true" })
            }
            Const::Int(x) => self.uniform(crate::runtime::storage_type(dtype), &x.to_string()),
        };
        self.reg(text, dtype, false)
    }

    /// A vector constant of one literal.
    pub(super) fn uniform(&self, element: &str, literal: &str) -> String {
        format!("<{}>", vec![format!("{element} {literal}"); self.lanes].join(", "))
    }

    fn iota(&mut self, dim: usize, at: &At) -> Reg {
        let coord = at.coords[dim].clone();
        let short = match is_literal(&coord) {
            Some(x) => x.to_string(),
            None => self.t.bind(format!("trunc i64 {coord} to i32")),
        };
        let first = self.splat("i32", &short);
        let text = if at.vector == Some(dim) {
            let ramp = self.ramp();
            self.t.bind(format!("add <{} x i32> {first}, {ramp}", self.lanes))
        } else {
            first
        };
        self.reg(text, DType::I32, false)
    }

    /// A float register as f32; other dtypes as they are.
    pub(super) fn opened(&mut self, r: &Reg) -> Reg {
        if !r.stored {
            return r.clone();
        }
        let f = self.rt.decode(r.dtype, self.lanes);
        let text = self.t.bind(format!("call <{} x float> {f}({})", self.lanes, self.typed(r)));
        self.reg(text, r.dtype, false)
    }

    /// The register's elements as they lie in memory.
    pub(super) fn in_storage(&mut self, r: &Reg, dtype: DType) -> String {
        if dtype == DType::Bool {
            return self.t.bind(format!("zext {} to <{} x i8>", self.typed(r), self.lanes));
        }
        if r.stored || !dtype.is_float() || dtype == DType::F32 {
            return r.text.clone();
        }
        self.narrowed(&r.text, dtype).text
    }

    /// f32 elements rounded to `dtype`, in storage bits.
    pub(super) fn narrowed(&mut self, text: &str, dtype: DType) -> Reg {
        if dtype == DType::F32 {
            return self.reg(text.to_string(), dtype, false);
        }
        let f = self.rt.encode(dtype, self.lanes);
        let ty = self.vector_type(dtype, true);
        let text = self.t.bind(format!("call {ty} {f}(<{} x float> {text})", self.lanes));
        self.reg(text, dtype, true)
    }

    pub(super) fn cast(&mut self, x: &Reg, to: DType) -> Reg {
        let lanes = self.lanes;
        let from = x.dtype;
        if from == to {
            return x.clone();
        }
        if from == DType::Bool {
            let kind = if to.is_float() { "uitofp" } else { "zext" };
            let ty = self.vector_type(to, false);
            let text = self.t.bind(format!("{kind} {} to {ty}", self.typed(x)));
            return self.reg(text, to, false);
        }
        if to == DType::Bool {
            let x = self.opened(x);
            let zero = "zeroinitializer";
            let test = if from.is_float() { "fcmp une" } else { "icmp ne" };
            let text = self.t.bind(format!("{test} {}, {zero}", self.typed(&x)));
            return self.reg(text, DType::Bool, false);
        }
        if from.is_float() {
            let x = self.opened(x);
            if to.is_float() {
                return self.narrowed(&x.text, to);
            }
            return self.float_to_int(&x, to);
        }
        let wide = self.widened(x);
        if to.is_float() {
            let wide = if to == DType::F32 { wide } else { self.sticky(&wide) };
            let text = self.t.bind(format!("sitofp <{lanes} x i32> {wide} to <{lanes} x float>"));
            return self.narrowed(&text, to);
        }
        self.wrapped(&wide, to)
    }

    /// Truncates toward zero and saturates; NaN gives 0.
    fn float_to_int(&mut self, x: &Reg, to: DType) -> Reg {
        let lanes = self.lanes;
        let (name, width) = match to {
            DType::U8 => ("fptoui", "i8"),
            DType::I8 => ("fptosi", "i8"),
            DType::I4 => ("fptosi", "i4"),
            _ => ("fptosi", "i32"),
        };
        let f = format!("@llvm.{name}.sat.v{lanes}{width}.v{lanes}f32");
        self.rt.declare(format!("declare <{lanes} x {width}> {f}(<{lanes} x float>)"));
        let mut text = self.t.bind(format!("call <{lanes} x {width}> {f}(<{lanes} x float> {})", x.text));
        if to == DType::I4 {
            text = self.t.bind(format!("sext <{lanes} x i4> {text} to <{lanes} x i8>"));
        }
        self.reg(text, to, false)
    }

    /// Integers as i32.
    fn widened(&mut self, x: &Reg) -> String {
        let kind = match x.dtype {
            DType::I32 => return x.text.clone(),
            DType::U8 => "zext",
            _ => "sext",
        };
        self.t.bind(format!("{kind} {} to <{} x i32>", self.typed(x), self.lanes))
    }

    /// i32 as an integer of dtype `to`, wrapping.
    fn wrapped(&mut self, wide: &str, to: DType) -> Reg {
        let lanes = self.lanes;
        let text = match to {
            DType::I32 => wide.to_string(),
            DType::I4 => {
                let low = self.t.bind(format!("trunc <{lanes} x i32> {wide} to <{lanes} x i4>"));
                self.t.bind(format!("sext <{lanes} x i4> {low} to <{lanes} x i8>"))
            }
            _ => self.t.bind(format!("trunc <{lanes} x i32> {wide} to <{lanes} x i8>")),
        };
        self.reg(text, to, false)
    }

    /// i32 with its low nine bits gathered into one, so that rounding to f32 is exact and a rounding to fewer bits
    /// afterwards is the only one. Every dtype narrower than f32 rounds such integers, from 2^24 up, at bit 13 or above.
    fn sticky(&mut self, wide: &str) -> String {
        let ty = format!("<{} x i32>", self.lanes);
        let (low, high, bit, big) = (
            self.uniform("i32", "511"),
            self.uniform("i32", "-512"),
            self.uniform("i32", "256"),
            self.uniform("i32", "16777216"),
        );
        self.rt.declare(format!("declare {ty} @llvm.abs.v{}i32({ty}, i1)", self.lanes));
        let rest = self.t.bind(format!("and {ty} {wide}, {low}"));
        let some = self.t.bind(format!("icmp ne {ty} {rest}, zeroinitializer"));
        let cut = self.t.bind(format!("and {ty} {wide}, {high}"));
        let marked = self.t.bind(format!("or {ty} {cut}, {bit}"));
        let odd = self.t.bind(format!("select <{} x i1> {some}, {ty} {marked}, {ty} {cut}", self.lanes));
        let size = self.t.bind(format!("call {ty} @llvm.abs.v{}i32({ty} {wide}, i1 false)", self.lanes));
        let large = self.t.bind(format!("icmp uge {ty} {size}, {big}"));
        self.t.bind(format!("select <{} x i1> {large}, {ty} {odd}, {ty} {wide}", self.lanes))
    }

    fn unary(&mut self, f: UnaryOp, x: &Reg) -> Reg {
        let x = self.opened(x);
        let ty = self.vector_type(x.dtype, false);
        let lanes = self.lanes;
        let math = match f {
            UnaryOp::Neg if x.dtype == DType::I32 => {
                let text = self.t.bind(format!("sub {ty} zeroinitializer, {}", x.text));
                return self.reg(text, x.dtype, false);
            }
            UnaryOp::Abs if x.dtype == DType::I32 => {
                self.rt.declare(format!("declare {ty} @llvm.abs.v{lanes}i32({ty}, i1)"));
                let text = self.t.bind(format!("call {ty} @llvm.abs.v{lanes}i32({ty} {}, i1 false)", x.text));
                return self.reg(text, x.dtype, false);
            }
            UnaryOp::Neg => {
                let text = self.t.bind(format!("fneg {ty} {}", x.text));
                return self.reg(text, x.dtype, false);
            }
            UnaryOp::Abs => {
                self.rt.declare(format!("declare {ty} @llvm.fabs.v{lanes}f32({ty})"));
                let text = self.t.bind(format!("call {ty} @llvm.fabs.v{lanes}f32({ty} {})", x.text));
                return self.reg(text, x.dtype, false);
            }
            UnaryOp::Not => {
                let ones = if x.dtype == DType::Bool {
                    self.uniform("i1", "true")
                } else {
                    self.uniform("i32", "-1")
                };
                let text = self.t.bind(format!("xor {ty} {}, {ones}", x.text));
                return self.reg(text, x.dtype, false);
            }
            UnaryOp::Exp => Math::Exp,
            UnaryOp::Log => Math::Log,
            UnaryOp::Tanh => Math::Tanh,
            UnaryOp::Erf => Math::Erf,
            UnaryOp::Sqrt => Math::Sqrt,
            UnaryOp::Rsqrt => Math::Rsqrt,
            UnaryOp::Floor => Math::Floor,
            UnaryOp::Round => Math::Round,
        };
        let f = self.rt.unary(math, lanes);
        let text = self.t.bind(format!("call {ty} {f}({ty} {})", x.text));
        self.narrowed(&text, x.dtype)
    }

    pub(super) fn binary(&mut self, f: BinaryOp, x: &Reg, y: &Reg) -> Reg {
        let (x, y) = (self.opened(x), self.opened(y));
        let ty = self.vector_type(x.dtype, false);
        if matches!(f, BinaryOp::Min | BinaryOp::Max) {
            return self.extreme(f == BinaryOp::Max, &x, &y);
        }
        if !x.dtype.is_float() {
            return self.integer(f, &x, &y);
        }
        // `contract` lets a product and the sum that uses it share one rounding; narrow dtypes round between them.
        let contract = if x.dtype == DType::F32 { " contract" } else { "" };
        let name = match f {
            BinaryOp::Add => "fadd",
            BinaryOp::Sub => "fsub",
            BinaryOp::Mul => "fmul",
            _ => "fdiv",
        };
        let flags = if name == "fdiv" { "" } else { contract };
        let text = self.t.bind(format!("{name}{flags} {ty} {}, {}", x.text, y.text));
        self.narrowed(&text, x.dtype)
    }

    fn integer(&mut self, f: BinaryOp, x: &Reg, y: &Reg) -> Reg {
        let ty = self.vector_type(x.dtype, false);
        let name = match f {
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::Xor => "xor",
            _ => return self.divided(f, x, y),
        };
        let text = self.t.bind(format!("{name} {ty} {}, {}", x.text, y.text));
        self.reg(text, x.dtype, false)
    }

    /// Division toward minus infinity and its remainder. A divisor of 0 (whose result is poison), and the one overflow, do
    /// not reach the CPU's instruction, which would trap.
    fn divided(&mut self, f: BinaryOp, x: &Reg, y: &Reg) -> Reg {
        let lanes = self.lanes;
        let ty = format!("<{lanes} x i32>");
        let (one, minus, least) =
            (self.uniform("i32", "1"), self.uniform("i32", "-1"), self.uniform("i32", &i32::MIN.to_string()));
        let zero = self.t.bind(format!("icmp eq {ty} {}, zeroinitializer", y.text));
        let lowest = self.t.bind(format!("icmp eq {ty} {}, {least}", x.text));
        let negated = self.t.bind(format!("icmp eq {ty} {}, {minus}", y.text));
        let overflow = self.t.bind(format!("and <{lanes} x i1> {lowest}, {negated}"));
        let unsafe_lanes = self.t.bind(format!("or <{lanes} x i1> {zero}, {overflow}"));
        let y = self.t.bind(format!("select <{lanes} x i1> {unsafe_lanes}, {ty} {one}, {ty} {}", y.text));
        let quotient = self.t.bind(format!("sdiv {ty} {}, {y}", x.text));
        let back = self.t.bind(format!("mul {ty} {quotient}, {y}"));
        let rest = self.t.bind(format!("sub {ty} {}, {back}", x.text));
        let some = self.t.bind(format!("icmp ne {ty} {rest}, zeroinitializer"));
        let signs = self.t.bind(format!("xor {ty} {rest}, {y}"));
        let differ = self.t.bind(format!("icmp slt {ty} {signs}, zeroinitializer"));
        let adjust = self.t.bind(format!("and <{lanes} x i1> {some}, {differ}"));
        let text = if f == BinaryOp::Div {
            let less = self.t.bind(format!("add {ty} {quotient}, {minus}"));
            self.t.bind(format!("select <{lanes} x i1> {adjust}, {ty} {less}, {ty} {quotient}"))
        } else {
            let more = self.t.bind(format!("add {ty} {rest}, {y}"));
            self.t.bind(format!("select <{lanes} x i1> {adjust}, {ty} {more}, {ty} {rest}"))
        };
        self.reg(text, DType::I32, false)
    }

    /// The greater or the lesser; NaN if either is NaN.
    fn extreme(&mut self, greater: bool, x: &Reg, y: &Reg) -> Reg {
        let lanes = self.lanes;
        let ty = self.vector_type(x.dtype, false);
        if !x.dtype.is_float() {
            let test = if greater { "sgt" } else { "slt" };
            let wins = self.t.bind(format!("icmp {test} {ty} {}, {}", x.text, y.text));
            let text = self.t.bind(format!("select <{lanes} x i1> {wins}, {ty} {}, {ty} {}", x.text, y.text));
            return self.reg(text, x.dtype, false);
        }
        // The first select is one instruction that returns y where either is NaN; the second restores a NaN of x.
        let test = if greater { "ogt" } else { "olt" };
        let wins = self.t.bind(format!("fcmp {test} {ty} {}, {}", x.text, y.text));
        let most = self.t.bind(format!("select <{lanes} x i1> {wins}, {ty} {}, {ty} {}", x.text, y.text));
        let nan = self.t.bind(format!("fcmp uno {ty} {}, {}", x.text, x.text));
        let text = self.t.bind(format!("select <{lanes} x i1> {nan}, {ty} {}, {ty} {most}", x.text));
        self.reg(text, x.dtype, false)
    }

    /// How a reduction combines two partial results of f32 or i32.
    pub(super) fn combine(&mut self, op: ReduceOp, x: &str, y: &str, dtype: DType) -> String {
        let (x, y) = (self.reg(x.to_string(), dtype, false), self.reg(y.to_string(), dtype, false));
        match op {
            ReduceOp::Add => self.binary(BinaryOp::Add, &x, &y).text,
            ReduceOp::Max => self.binary(BinaryOp::Max, &x, &y).text,
            ReduceOp::Min => self.binary(BinaryOp::Min, &x, &y).text,
        }
    }

    fn compare(&mut self, f: CmpOp, x: &Reg, y: &Reg) -> Reg {
        let (x, y) = (self.opened(x), self.opened(y));
        let ty = self.vector_type(x.dtype, false);
        let text = self.t.bind(format!("{} {ty} {}, {}", comparison(f, x.dtype), x.text, y.text));
        self.reg(text, DType::Bool, false)
    }

    fn select(&mut self, c: &Reg, x: &Reg, y: &Reg) -> Reg {
        let (x, y) =
            if x.stored && y.stored { (x.clone(), y.clone()) } else { (self.opened(x), self.opened(y)) };
        let ty = self.vector_type(x.dtype, x.stored);
        let text = self.t.bind(format!("select {}, {ty} {}, {ty} {}", self.typed(c), x.text, y.text));
        self.reg(text, x.dtype, x.stored)
    }
}

/// The LLVM comparison.
pub(super) fn comparison(f: CmpOp, dtype: DType) -> &'static str {
    match (f, dtype.is_float()) {
        (CmpOp::Eq, true) => "fcmp oeq",
        (CmpOp::Ne, true) => "fcmp une",
        (CmpOp::Lt, true) => "fcmp olt",
        (CmpOp::Le, true) => "fcmp ole",
        (CmpOp::Gt, true) => "fcmp ogt",
        (CmpOp::Ge, true) => "fcmp oge",
        (CmpOp::Eq, false) => "icmp eq",
        (CmpOp::Ne, false) => "icmp ne",
        (CmpOp::Lt, false) => "icmp slt",
        (CmpOp::Le, false) => "icmp sle",
        (CmpOp::Gt, false) => "icmp sgt",
        (CmpOp::Ge, false) => "icmp sge",
    }
}
