//! The text form, written. Printing what was parsed gives the same text.

use std::collections::HashSet;
use std::fmt::Write;

use crate::ops::op_named;
use crate::program::{Block, Const, Kernel, Op, OpKind, Operand, Program, Role, Value};
use crate::types::TileType;
use crate::verify::is_identifier;

/// What the text form shows beyond the program itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions {
    /// Ends each op with the source line it was written on, as a comment.
    pub locations: bool,
}

/// The text of a program, without source lines: what hashes and goldens are made of.
pub fn print(program: &Program) -> String {
    print_with(program, PrintOptions::default())
}

/// The text of a program.
pub fn print_with(program: &Program, options: PrintOptions) -> String {
    program.kernels.iter().map(|k| Printer::new(k, options).kernel()).collect::<Vec<_>>().join("\n")
}

struct Printer<'a> {
    kernel: &'a Kernel,
    options: PrintOptions,
    names: Vec<String>,
    /// Scalar integer constants, which are written where they are used.
    literals: Vec<Option<i64>>,
    out: String,
}

impl<'a> Printer<'a> {
    fn new(kernel: &'a Kernel, options: PrintOptions) -> Self {
        let mut literals = vec![None; kernel.values.len()];
        kernel.walk(&mut |op| {
            if let (OpKind::Splat(Const::Int(v)), [result]) = (&op.kind, op.results.as_slice())
                && kernel.ty(*result) == TileType::INDEX
            {
                literals[result.0 as usize] = Some(*v);
            }
        });
        Printer { kernel, options, names: names(kernel), literals, out: String::new() }
    }

    fn kernel(mut self) -> String {
        let k = self.kernel;
        let (outputs, inputs): (Vec<_>, Vec<_>) = k.operands.iter().partition(|o| o.is_output());
        let list = |all: &[&Operand]| all.iter().map(|o| operand(o)).collect::<Vec<_>>().join(", ");
        let _ = writeln!(self.out, "kernel {}({}) -> ({})", k.name, list(&inputs), list(&outputs));
        let grid: Vec<String> = k
            .grid
            .iter()
            .zip(&k.body.args)
            .map(|(g, &v)| format!("{}: {}", self.name(v), g.extent))
            .collect();
        let _ = writeln!(self.out, "grid ({}) {{", grid.join(", "));
        self.block(&k.body, 1);
        self.out.push_str("}\n");
        self.out
    }

    fn name(&self, v: Value) -> String {
        self.names[v.0 as usize].clone()
    }

    fn use_of(&self, v: Value) -> String {
        match self.literals[v.0 as usize] {
            Some(literal) => literal.to_string(),
            None => self.name(v),
        }
    }

    fn uses(&self, values: &[Value]) -> String {
        values.iter().map(|&v| self.use_of(v)).collect::<Vec<_>>().join(", ")
    }

    fn defs(&self, values: &[Value]) -> String {
        values.iter().map(|&v| self.name(v)).collect::<Vec<_>>().join(", ")
    }

    fn block(&mut self, block: &Block, depth: usize) {
        for op in &block.ops {
            let literal = op.results.first().is_some_and(|r| self.literals[r.0 as usize].is_some());
            if !literal {
                self.op(op, depth);
            }
        }
        if !block.yields.is_empty() {
            let line = format!("{}yield {}\n", "  ".repeat(depth), self.uses(&block.yields));
            self.out.push_str(&line);
        }
    }

    fn op(&mut self, op: &Op, depth: usize) {
        let indent = "  ".repeat(depth);
        self.out.push_str(&indent);
        if !op.results.is_empty() {
            let defs = self.defs(&op.results);
            let _ = write!(self.out, "{defs} = ");
        }
        let name = op.kind.form().name();
        let operands = &op.operands;
        match &op.kind {
            OpKind::Fold => {
                let body = &op.regions[0];
                let carried: Vec<String> = body.args[1..]
                    .iter()
                    .zip(&operands[2..])
                    .map(|(&c, &init)| format!("{} = {}", self.name(c), self.use_of(init)))
                    .collect();
                let (k, lo, hi) =
                    (self.name(body.args[0]), self.use_of(operands[0]), self.use_of(operands[1]));
                let _ = write!(self.out, "fold {k} in {lo}..{hi} ({}) {{", carried.join(", "));
                self.end_line(op);
                self.block(body, depth + 1);
                let _ = writeln!(self.out, "{indent}}}");
                return;
            }
            OpKind::If => {
                let _ = write!(self.out, "if {} {{", self.use_of(operands[0]));
                self.end_line(op);
                self.block(&op.regions[0], depth + 1);
                let _ = writeln!(self.out, "{indent}}} else {{");
                self.block(&op.regions[1], depth + 1);
                let _ = writeln!(self.out, "{indent}}}");
                return;
            }
            OpKind::Splat(value) => {
                let ty = self.kernel.ty(op.results[0]);
                let _ = write!(self.out, "splat {}", constant(*value, ty));
            }
            OpKind::Load { array } | OpKind::Lookup { table: array } => {
                let _ =
                    write!(self.out, "{name} {}[{}]", self.kernel.operand(*array).name, self.uses(operands));
            }
            OpKind::Store { array } => {
                let (indices, tile) = operands.split_at(operands.len() - 1);
                let array = &self.kernel.operand(*array).name;
                let _ = write!(self.out, "store {array}[{}], {}", self.uses(indices), self.use_of(tile[0]));
            }
            OpKind::Iota { dim } => {
                let _ = write!(self.out, "iota {dim}");
            }
            OpKind::Concat { dim } | OpKind::Reduce { dim, .. } => {
                let _ = write!(self.out, "{name} {}, {dim}", self.uses(operands));
            }
            OpKind::Transpose { perm: list } | OpKind::Slice { start: list } => {
                let rank = self.kernel.ty(operands[0]).shape.rank();
                let list: Vec<String> = list[..rank].iter().map(usize::to_string).collect();
                let _ = write!(self.out, "{name} {}, [{}]", self.uses(operands), list.join(", "));
            }
            _ => {
                let _ = write!(self.out, "{name} {}", self.uses(operands));
            }
        }
        if let Some(&result) = op.results.first() {
            let _ = write!(self.out, " : {}", self.kernel.ty(result));
        }
        self.end_line(op);
    }

    fn end_line(&mut self, op: &Op) {
        if self.options.locations {
            let _ = write!(self.out, "  // {}", op.loc);
        }
        self.out.push('\n');
    }
}

fn operand(o: &Operand) -> String {
    match &o.role {
        Role::Input { pad: None } | Role::Output { combine: None } => {
            format!("{}: {}{}", o.name, o.dtype, o.shape)
        }
        Role::Input { pad: Some(pad) } => {
            let ty = TileType::new(o.dtype, o.shape);
            format!("{}: {ty} pad {}", o.name, constant(*pad, ty))
        }
        Role::Output { combine: Some(op) } => {
            format!("{}: {}{} combine {}", o.name, o.dtype, o.shape, format!("{op:?}").to_lowercase())
        }
        Role::Scalar { min, max } => format!("{}: scalar {min}..={max}", o.name),
        Role::Table { min, max } => format!("{}: table{} {min}..={max}", o.name, o.shape),
    }
}

fn constant(value: Const, ty: TileType) -> String {
    match value {
        Const::Int(v) if ty.dtype == tilewright_dtype::DType::Bool => (v != 0).to_string(),
        Const::Int(v) => v.to_string(),
        Const::Float(v) if v.is_nan() => "nan".to_string(),
        Const::Float(v) if v.is_infinite() => if v > 0.0 { "inf" } else { "-inf" }.to_string(),
        Const::Float(v) => format!("{v:?}"),
    }
}

/// A unique name for every value: the author's where there is one, else `v` and a number, in order of definition.
fn names(kernel: &Kernel) -> Vec<String> {
    let mut names = vec![String::new(); kernel.values.len()];
    let mut taken: HashSet<String> =
        kernel.operands.iter().filter(|o| !o.is_scalar()).map(|o| o.name.clone()).collect();
    let mut number = 0;
    // Grid dimensions and scalars are declared, so their names stand as they are: the verifier held them to be unique.
    let scalars = kernel.operands.iter().filter(|o| o.is_scalar()).map(|o| &o.name);
    for (&v, name) in kernel.body.args.iter().zip(kernel.grid.iter().map(|g| &g.name).chain(scalars)) {
        taken.insert(name.clone());
        names[v.0 as usize] = name.clone();
    }
    let mut give = |v: Value| {
        let wish = kernel.values[v.0 as usize].name.as_deref();
        let wish = wish.filter(|n| is_identifier(n) && op_named(n).is_none() && !is_keyword(n));
        let numbered = |n: &str| {
            n.strip_prefix('v').is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
        };
        let name = match wish.filter(|n| !numbered(n)) {
            Some(n) if !taken.contains(n) => n.to_string(),
            Some(n) => (2..).map(|i| format!("{n}_{i}")).find(|n| !taken.contains(n)).unwrap_or_default(),
            None => {
                number += 1;
                (number - 1..).map(|i| format!("v{i}")).find(|n| !taken.contains(n)).unwrap_or_default()
            }
        };
        taken.insert(name.clone());
        names[v.0 as usize] = name;
    };
    kernel.walk(&mut |op| {
        for region in &op.regions {
            region.args.iter().for_each(|&v| give(v));
        }
        let literal = matches!(op.kind, OpKind::Splat(Const::Int(_)))
            && op.results.first().is_some_and(|&r| kernel.ty(r) == TileType::INDEX);
        if !literal {
            op.results.iter().for_each(|&v| give(v));
        }
    });
    names
}

fn is_keyword(name: &str) -> bool {
    matches!(
        name,
        "kernel"
            | "grid"
            | "in"
            | "yield"
            | "else"
            | "pad"
            | "combine"
            | "scalar"
            | "table"
            | "true"
            | "false"
            | "nan"
            | "inf"
    )
}
