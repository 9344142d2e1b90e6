//! The verifier: structure, types, and the rules that need the whole kernel.

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;

use crate::ops::Form;
use crate::program::{Block, Kernel, Op, OpKind, Operand, Program, Role, Value};
use crate::range::{Interval, Ranges};
use crate::rules;
use crate::types::TileType;

/// Verifies every kernel, and that operands of one name agree between kernels.
pub fn program(program: &Program) -> Result<()> {
    if program.kernels.is_empty() {
        return Err(Diagnostic::request("ir/empty-program", "a program without kernels"));
    }
    program.kernels.iter().try_for_each(kernel)?;
    (0..program.kernels.len()).try_for_each(|i| wiring(&program.kernels[..i], &program.kernels[i]))
}

/// Verifies that the operands of `kernel` agree with those of the same names in the kernels before it.
pub(crate) fn wiring(before: &[Kernel], kernel: &Kernel) -> Result<()> {
    let name = &kernel.name;
    if before.iter().any(|k| k.name == *name) {
        return Err(Diagnostic::request("ir/name", format!("kernel `{name}` is declared twice"))
            .rule("the kernels of a program have different names")
            .at(kernel.loc.span()));
    }
    for new in &kernel.operands {
        let Some(old) = before.iter().flat_map(|k| &k.operands).find(|o| o.name == new.name) else {
            continue;
        };
        let fault = if (old.dtype, old.shape) != (new.dtype, new.shape) {
            let types = format!(
                "{}{} in kernel `{name}` and {}{} before",
                new.dtype, new.shape, old.dtype, old.shape
            );
            Diagnostic::request("ir/operand-mismatch", format!("`{}` is {types}", new.name))
                .rule("operands of one name in one program are one array")
        } else if old.is_scalar() != new.is_scalar() {
            let kind = if new.is_scalar() { "a scalar" } else { "an array" };
            Diagnostic::request(
                "ir/operand-mismatch",
                format!("`{}` is {kind} in kernel `{name}`, not before", new.name),
            )
            .rule("scalars come from the caller: no kernel makes them, and none reads them as arrays")
        } else if new.is_output() && !old.is_output() {
            Diagnostic::request(
                "ir/operand-role",
                format!("kernel `{name}` writes `{}`, which the program was given", new.name),
            )
            .rule("a program's inputs are not written")
        } else if new.is_output() {
            Diagnostic::request(
                "ir/double-writer",
                format!("kernel `{name}` writes `{}`, as a kernel before it does", new.name),
            )
            .rule("one kernel of a program writes an array")
        } else if ranges_part(before, new) {
            Diagnostic::request(
                "ir/range",
                format!("no value of `{}` suits kernel `{name}` and those before it", new.name),
            )
            .rule("a scalar or a table lies in the ranges that all its kernels state")
        } else {
            continue;
        };
        return Err(fault.at(new.loc.span()));
    }
    Ok(())
}

/// Whether no i32 lies in the range of the scalar or table `new` and in those that `before` states for it.
fn ranges_part(before: &[Kernel], new: &Operand) -> bool {
    let range = |o: &Operand| match o.role {
        Role::Scalar { min, max } | Role::Table { min, max } => Some((min, max)),
        _ => None,
    };
    let stated =
        before.iter().flat_map(|k| &k.operands).filter(|o| o.name == new.name).chain([new]).filter_map(range);
    let joint = stated.reduce(|(a, b), (c, d)| (a.max(c), b.min(d)));
    joint.is_some_and(|(min, max)| min > max)
}

/// Verifies one kernel.
pub fn kernel(kernel: &Kernel) -> Result<()> {
    declarations(kernel).map_err(|d| d.at_if_absent(Some(kernel.loc.span())))?;
    let mut v = Verifier { kernel, scope: vec![Scope::Before; kernel.values.len()] };
    let expected = kernel.grid.len() + kernel.operands.iter().filter(|o| o.is_scalar()).count();
    if kernel.body.args.len() != expected {
        let message = format!("{} body arguments where {expected} belong", kernel.body.args.len());
        return Err(v.fault("ir/body-arguments", message).rule("one per grid dimension and scalar operand"));
    }
    for &arg in &kernel.body.args {
        v.define(arg, None)?;
        v.index(arg, "a grid index or scalar")?;
    }
    v.block(&kernel.body)?;
    if !kernel.body.yields.is_empty() {
        return Err(v
            .fault("ir/yield", "the body yields tiles".to_string())
            .rule("only the bodies of folds and ifs yield")
            .at(kernel.loc.span()));
    }
    Uses { kernel, ranges: Ranges::of(kernel) }.block(&kernel.body, 0)
}

/// Every output has a store. A text may leave one out, to see what becomes of it; an author has forgotten it.
pub(crate) fn written(kernel: &Kernel) -> Result<()> {
    let mut stored = vec![false; kernel.operands.len()];
    kernel.walk(&mut |op| {
        if let OpKind::Store { array } = op.kind
            && let Some(stored) = stored.get_mut(array.0 as usize)
        {
            *stored = true;
        }
    });
    match kernel.operands.iter().zip(stored).find(|(o, stored)| o.is_output() && !stored) {
        Some((o, _)) => Err(Diagnostic::request(
            "ir/unwritten",
            format!("no store writes the output `{}` in kernel `{}`", o.name, kernel.name),
        )
        .rule("every output has a store")
        .help(format!("store a tile to `{}`, or declare no such output", o.name))
        .at(o.loc.span())),
        None => Ok(()),
    }
}

fn declarations(kernel: &Kernel) -> Result<()> {
    let fault =
        |code, message: String| Diagnostic::request(code, format!("{message} in kernel `{}`", kernel.name));
    let operands = kernel.operands.iter().map(|o| (&o.name, &o.loc));
    let names = operands.chain(kernel.grid.iter().map(|g| (&g.name, &kernel.loc)));
    let mut seen: Vec<&str> = Vec::new();
    for (name, loc) in std::iter::once((&kernel.name, &kernel.loc)).chain(names.clone()) {
        if !is_identifier(name) {
            return Err(fault("ir/name", format!("`{name}` is no identifier"))
                .rule("names are a letter or `_`, then letters, digits and `_`")
                .at(loc.span()));
        }
    }
    for (name, loc) in names {
        if seen.contains(&name.as_str()) {
            return Err(fault("ir/name", format!("`{name}` is declared twice"))
                .rule("operands and grid dimensions have different names")
                .at(loc.span()));
        }
        seen.push(name);
    }
    let cells = kernel.grid.iter().try_fold(1i64, |n, g| n.checked_mul(i64::try_from(g.extent).ok()?));
    if kernel.grid.iter().any(|g| g.extent == 0 || g.extent > i32::MAX as usize) || cells.is_none() {
        return Err(fault("ir/grid", "a grid extent of 0, or too large".to_string())
            .rule("grid extents are at least 1, each below 2^31, their product below 2^63"));
    }
    if !kernel.operands.iter().any(Operand::is_output) {
        return Err(fault("ir/no-output", "no output is declared".to_string()));
    }
    kernel.operands.iter().try_for_each(|o| operand(o, &fault).map_err(|d| d.at(o.loc.span())))
}

fn operand(o: &Operand, fault: &dyn Fn(&'static str, String) -> Box<Diagnostic>) -> Result<()> {
    if o.shape.dims().contains(&0) {
        return Err(fault(
            "ir/shape-mismatch",
            format!("`{}: {}{}` has a dimension of 0", o.name, o.dtype, o.shape),
        )
        .rule("array dimensions are at least 1"));
    }
    if rules::storage_bytes(TileType::new(o.dtype, o.shape)).is_none() {
        return Err(fault(
            "ir/index-overflow",
            format!("`{}: {}{}` has 2^63 bytes or more", o.name, o.dtype, o.shape),
        )
        .rule("offsets are 64-bit"));
    }
    match o.role {
        Role::Input { pad: Some(pad) } => {
            rules::constant(pad, o.dtype)
                .map_err(|e| fault(e.code, format!("pad of `{}`: {}", o.name, e.message)).rule(e.rule))?;
        }
        Role::Output { combine: Some(_) } if !rules::is_arithmetic(o.dtype) => {
            return Err(fault(
                "ir/dtype-mismatch",
                format!("`{}: {}{}` combines writes", o.name, o.dtype, o.shape),
            )
            .rule("outputs that combine writes are of f64, f32, bf16, f16 or i32"));
        }
        Role::Scalar { min, max } | Role::Table { min, max } if min > max => {
            return Err(fault("ir/range", format!("`{}` lies in {min}..={max}, which is empty", o.name)));
        }
        _ => {}
    }
    Ok(())
}

/// Whether `name` may name a kernel, an operand or a value.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

struct Verifier<'a> {
    kernel: &'a Kernel,
    scope: Vec<Scope>,
}

/// Whether a value may be used.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    /// Not yet defined.
    Before,
    /// Defined in this block or in one around it.
    Within,
    /// Its block has ended.
    After,
}

impl Verifier<'_> {
    fn fault(&self, code: &'static str, message: String) -> Box<Diagnostic> {
        Diagnostic::request(code, format!("{message} in kernel `{}`", self.kernel.name))
    }

    fn define(&mut self, v: Value, op: Option<&Op>) -> Result<()> {
        match self.scope.get_mut(v.0 as usize) {
            Some(s) if *s == Scope::Before => {
                *s = Scope::Within;
                Ok(())
            }
            _ => Err(self
                .fault("ir/redefined", format!("value {} is defined twice or unknown", v.0))
                .at_if_absent(op.map(|o| o.loc.span()))),
        }
    }

    fn block(&mut self, block: &Block) -> Result<()> {
        for op in &block.ops {
            self.op(op).map_err(|d| d.at_if_absent(Some(op.loc.span())))?;
        }
        block.yields.iter().try_for_each(|&v| self.used(v))?;
        for &v in block.args.iter().chain(block.ops.iter().flat_map(|op| &op.results)) {
            self.scope[v.0 as usize] = Scope::After;
        }
        Ok(())
    }

    fn used(&self, v: Value) -> Result<()> {
        if self.scope.get(v.0 as usize) == Some(&Scope::Within) {
            return Ok(());
        }
        let name = self.kernel.values.get(v.0 as usize).and_then(|i| i.name.clone());
        Err(self
            .fault(
                "ir/use-before-definition",
                format!("value `{}` is used here", name.unwrap_or(format!("v{}", v.0))),
            )
            .rule("a value is used after its op, in the same block or a block inside it"))
    }

    fn op(&mut self, op: &Op) -> Result<()> {
        for &v in &op.operands {
            self.used(v)?;
        }
        if let Some(v) = op.results.iter().find(|v| self.scope.len() <= v.0 as usize) {
            return Err(self.fault("ir/results", format!("value {} is unknown", v.0)));
        }
        let types = self.types(&op.operands);
        let declared = op.results.first().map(|&v| self.kernel.ty(v));
        match op.kind.form() {
            Form::Fold => self.fold(op, &types)?,
            Form::If => self.branch(op, &types)?,
            form => {
                let made = rules::result_type(&op.kind, &types, declared, &self.kernel.operands)
                    .map_err(|e| self.fault(e.code, e.message).rule(e.rule))?;
                if op.results.len() != usize::from(made.is_some()) || !op.regions.is_empty() {
                    return Err(self.fault(
                        "ir/results",
                        format!("wrong number of results or bodies of `{}`", form.name()),
                    ));
                }
            }
        }
        op.results.iter().try_for_each(|&v| self.define(v, Some(op)))
    }

    fn fold(&mut self, op: &Op, types: &[TileType]) -> Result<()> {
        let [body] = op.regions.as_slice() else {
            return Err(self.fault("ir/results", "`fold` has one body".to_string()));
        };
        if types.len() < 2 || types[0] != TileType::INDEX || types[1] != TileType::INDEX {
            let message = format!("a fold with bounds {:?}", &types[..types.len().min(2)]);
            return Err(self.fault("ir/index-type", message).rule("fold bounds are two i32 scalars"));
        }
        let carried = &types[2..];
        if body.args.len() != carried.len() + 1 {
            return Err(
                self.fault("ir/carried", "carried tiles and initial values differ in number".to_string())
            );
        }
        for &arg in &body.args {
            self.define(arg, Some(op))?;
        }
        self.index(body.args[0], "a fold's index")?;
        self.block(body)?;
        let args: Vec<TileType> = body.args[1..].iter().map(|&v| self.kernel.ty(v)).collect();
        self.same_types("initial and carried", carried, &args)?;
        self.same_types("carried and yielded", carried, &self.types(&body.yields))?;
        self.same_types("carried and resulting", carried, &self.types(&op.results))
    }

    fn branch(&mut self, op: &Op, types: &[TileType]) -> Result<()> {
        let [yes, no] = op.regions.as_slice() else {
            return Err(self.fault("ir/results", "`if` has two bodies".to_string()));
        };
        if types != [TileType::INDEX.with_dtype(DType::Bool)] {
            let message = format!("an `if` by {types:?}");
            return Err(self
                .fault("ir/type-mismatch", message)
                .rule("the condition of an `if` is a bool scalar"));
        }
        if !yes.args.is_empty() || !no.args.is_empty() {
            return Err(self.fault("ir/results", "the bodies of an `if` take no arguments".to_string()));
        }
        self.block(yes)?;
        self.block(no)?;
        let results = self.types(&op.results);
        self.same_types("resulting and yielded", &results, &self.types(&yes.yields))?;
        self.same_types("resulting and yielded", &results, &self.types(&no.yields))
    }

    fn index(&self, v: Value, what: &str) -> Result<()> {
        match self.kernel.ty(v) {
            TileType::INDEX => Ok(()),
            t => Err(self
                .fault("ir/index-type", format!("{what} of type {t}"))
                .rule("indices are i32 scalars")),
        }
    }

    fn types(&self, values: &[Value]) -> Vec<TileType> {
        values.iter().map(|&v| self.kernel.ty(v)).collect()
    }

    fn same_types(&self, what: &str, a: &[TileType], b: &[TileType]) -> Result<()> {
        if a == b {
            return Ok(());
        }
        Err(self
            .fault("ir/carried", format!("{what} tiles differ: {a:?} against {b:?}"))
            .rule("a fold's or an if's tiles keep their types"))
    }
}

/// Checks of how scalars are used: overflow, blocks out of range, double writers.
struct Uses<'a> {
    kernel: &'a Kernel,
    ranges: Ranges,
}

impl Uses<'_> {
    /// `control`: the grid dimensions that decide whether the block runs.
    fn block(&self, block: &Block, control: u32) -> Result<()> {
        for op in &block.ops {
            self.op(op, control).map_err(|d| d.at_if_absent(Some(op.loc.span())))?;
        }
        Ok(())
    }

    fn op(&self, op: &Op, control: u32) -> Result<()> {
        let indices: &[Value] = match op.kind {
            OpKind::Load { .. } | OpKind::Lookup { .. } | OpKind::Broadcast => &op.operands,
            OpKind::Store { .. } => &op.operands[..op.operands.len() - 1],
            OpKind::Fold => &op.operands[..2],
            _ => &[],
        };
        for &v in indices.iter().filter(|&&v| self.kernel.ty(v) == TileType::INDEX) {
            let Interval { lo, hi } = self.ranges.interval(v);
            if !self.ranges.interval(v).fits_i32() {
                // One step from i32 reaches no further than a product.
                let far = |x: i64| x.unsigned_abs() > 1 << 62;
                let reach = if far(lo) || far(hi) {
                    "is made of one that may overflow".to_string()
                } else {
                    format!("may reach {lo}..={hi}")
                };
                return Err(self
                    .fault("ir/index-overflow", format!("an i32 scalar that {reach} is used here"))
                    .rule("scalars that reach indices, bounds and masks do not overflow i32")
                    .help("declare the range of run-time scalars, or use smaller extents"));
            }
        }
        match op.kind {
            OpKind::Load { array } => {
                let tile = self.kernel.ty(op.results[0]);
                self.in_range(self.kernel.operand(array), tile, indices)
            }
            OpKind::Store { array } => {
                let tile = self.kernel.ty(op.operands[op.operands.len() - 1]);
                self.in_range(self.kernel.operand(array), tile, indices)?;
                self.one_writer(self.kernel.operand(array), indices, control)
            }
            OpKind::Lookup { table } => self.in_table(self.kernel.operand(table), indices[0]),
            // A body that never runs breaks no rule.
            OpKind::Fold if self.ranges.interval(indices[1]).hi <= self.ranges.interval(indices[0]).lo => {
                Ok(())
            }
            OpKind::If => {
                let control = control | self.ranges.known(op.operands[0]).grid;
                op.regions.iter().try_for_each(|r| self.block(r, control))
            }
            _ => op.regions.iter().try_for_each(|r| self.block(r, control)),
        }
    }

    fn in_range(&self, array: &Operand, tile: TileType, indices: &[Value]) -> Result<()> {
        for (d, &v) in indices.iter().enumerate() {
            let Interval { lo, hi } = self.ranges.interval(v);
            let (size, step) = (array.shape.dims()[d] as i64, tile.shape.dims()[d] as i64);
            if hi < 0 || lo.saturating_mul(step) >= size {
                return Err(self
                    .fault(
                        "ir/block-range",
                        format!(
                            "block {lo}..={hi} of {step} along dimension {d} of `{}`, which has {size}",
                            array.name
                        ),
                    )
                    .rule("a block index points into its array")
                    .help(format!("indices 0..={}", (size - 1) / step)));
            }
        }
        Ok(())
    }

    fn in_table(&self, table: &Operand, index: Value) -> Result<()> {
        let Interval { lo, hi } = self.ranges.interval(index);
        let len = table.shape.elements() as i64;
        if hi < 0 || lo >= len {
            return Err(self
                .fault("ir/block-range", format!("element {lo}..={hi} of `{}`, which has {len}", table.name))
                .rule("a lookup points into its table")
                .help(format!("indices 0..={}", len - 1)));
        }
        Ok(())
    }

    fn one_writer(&self, array: &Operand, indices: &[Value], control: u32) -> Result<()> {
        if matches!(array.role, Role::Output { combine: Some(_) }) {
            return Ok(());
        }
        let depends = indices.iter().fold(control, |g, &v| g | self.ranges.known(v).grid);
        for (d, dim) in self.kernel.grid.iter().enumerate() {
            if dim.extent > 1 && depends & (1 << d.min(31)) == 0 {
                return Err(self
                    .fault(
                        "ir/double-writer",
                        format!("{} cells along `{}` write the same block of `{}`", dim.extent, dim.name, array.name),
                    )
                    .rule("each block of an output is written by one grid cell, unless the output combines writes")
                    .help(format!("use `{}` in the block index, or fold over it", dim.name)));
            }
        }
        Ok(())
    }

    fn fault(&self, code: &'static str, message: String) -> Box<Diagnostic> {
        Diagnostic::request(code, format!("{message} in kernel `{}`", self.kernel.name))
    }
}
