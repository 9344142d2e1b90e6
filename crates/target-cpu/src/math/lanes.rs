//! A function body of one vector width: arithmetic on `<N x float>` and its bits.

use crate::features::CpuFeatures;
use crate::runtime::{Body, Runtime, float_constant, splat};

pub(super) struct Lanes<'a> {
    rt: &'a mut Runtime,
    lanes: usize,
    ty: String,
    ints: String,
    body: Body,
}

impl<'a> Lanes<'a> {
    pub fn new(rt: &'a mut Runtime, lanes: usize) -> Self {
        let (ty, ints) = (format!("<{lanes} x float>"), format!("<{lanes} x i32>"));
        Lanes { rt, lanes, ty, ints, body: Body::default() }
    }

    pub fn finish(mut self, name: &str, result: &str) -> String {
        let ty = self.ty;
        self.body.line(format!("ret {ty} {result}"));
        self.body.finish(format!("define internal {ty} {name}({ty} %x) alwaysinline nounwind"))
    }

    pub fn features(&self) -> CpuFeatures {
        self.rt.features()
    }

    pub fn count(&self) -> usize {
        self.lanes
    }

    /// All lanes the constant `value`.
    pub fn float(&self, value: f32) -> String {
        splat(self.lanes, "float", float_constant(value))
    }

    /// `fadd`, `fsub`, `fmul` or `fdiv`.
    pub fn op(&mut self, op: &str, x: &str, y: &str) -> String {
        self.body.bind(format!("{op} {} {x}, {y}", self.ty))
    }

    /// `x · y + z`, with one rounding or two as the CPU has it.
    pub fn mul_add(&mut self, x: &str, y: &str, z: &str) -> String {
        self.intrinsic("fmuladd", &[x, y, z])
    }

    /// `coefficients[0] + x · (coefficients[1] + x · …)` by Horner's rule.
    pub fn polynomial(&mut self, x: &str, coefficients: &[f32]) -> String {
        let mut sum = String::from("zeroinitializer");
        for (index, &coefficient) in coefficients.iter().rev().enumerate() {
            let term = self.float(coefficient);
            sum = if index == 0 { term } else { self.mul_add(&sum, x, &term) };
        }
        sum
    }

    /// An overloaded float intrinsic of `arguments.len()` vectors.
    pub fn intrinsic(&mut self, name: &str, arguments: &[&str]) -> String {
        let ty = &self.ty;
        let function = format!("@llvm.{name}.v{}f32", self.lanes);
        let types = vec![ty.as_str(); arguments.len()].join(", ");
        self.rt.declare(format!("declare {ty} {function}({types})"));
        let arguments: Vec<String> = arguments.iter().map(|a| format!("{ty} {a}")).collect();
        self.body.bind(format!("call {ty} {function}({})", arguments.join(", ")))
    }

    /// The call of a target's intrinsic, with its declaration.
    pub fn target_call(&mut self, declaration: &str, call: &str) -> String {
        self.rt.declare(declaration);
        self.body.bind(call)
    }

    /// A float comparison, as lanes of i1.
    pub fn compare(&mut self, predicate: &str, x: &str, y: &str) -> String {
        self.body.bind(format!("fcmp {predicate} {} {x}, {y}", self.ty))
    }

    pub fn select(&mut self, condition: &str, yes: &str, no: &str) -> String {
        let (n, ty) = (self.lanes, &self.ty);
        self.body.bind(format!("select <{n} x i1> {condition}, {ty} {yes}, {ty} {no}"))
    }

    /// `x` no greater than `limit`, NaN kept: the operand order of x86's `minps`.
    pub fn at_most(&mut self, x: &str, limit: f32) -> String {
        let limit = self.float(limit);
        let beyond = self.compare("olt", &limit, x);
        self.select(&beyond, &limit, x)
    }

    /// `x` no less than `limit`, NaN kept.
    pub fn at_least(&mut self, x: &str, limit: f32) -> String {
        let limit = self.float(limit);
        let beyond = self.compare("ogt", &limit, x);
        self.select(&beyond, &limit, x)
    }

    pub fn bits(&mut self, x: &str) -> String {
        self.body.bind(format!("bitcast {} {x} to {}", self.ty, self.ints))
    }

    pub fn float_of_bits(&mut self, x: &str) -> String {
        self.body.bind(format!("bitcast {} {x} to {}", self.ints, self.ty))
    }

    /// `op` of i32 lanes.
    pub fn int(&mut self, op: &str, x: &str, y: &str) -> String {
        self.body.bind(format!("{op} {} {x}, {y}", self.ints))
    }

    /// `op` of i32 lanes with a constant.
    pub fn int_const(&mut self, op: &str, x: &str, y: i32) -> String {
        let y = splat(self.lanes, "i32", y);
        self.int(op, x, &y)
    }

    /// f32 of i32 lanes.
    pub fn float_of_int(&mut self, x: &str) -> String {
        self.body.bind(format!("sitofp {} {x} to {}", self.ints, self.ty))
    }
}
