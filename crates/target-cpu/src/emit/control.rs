//! The loop over grid cells, folds, ifs, scalars, and which ops run loops of their own.

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{
    BinaryOp, Block, Const, Op, OpKind, OperandId, ReduceOp, Role, TileType, UnaryOp, Value,
};

use super::expr::comparison;
use super::{At, Cell, Enclosing, Reg, is_literal};
use crate::layout::{Buffer, Rows};
use crate::plan::{Carry, Place, unit_map};

impl<'a> Cell<'a> {
    /// The entry function and the bytes of its arena.
    pub(super) fn function(mut self, entry: &str) -> Result<(String, usize)> {
        self.operands();
        let (l, _) = self.t.begin_loop("%begin", "%end", 1, &[]);
        self.cell = l.index.clone();
        self.cell_indices();
        let body = &self.kernel.body;
        self.block(body)?;
        self.t.end_loop(l, &[], &[]);
        self.t.line("ret void");
        // The tags' places are known only now; they are cleared first.
        let mut text = self.t.finish();
        let mut clears = format!("  %scratch = getelementptr i8, ptr %arena, i64 {}\n", self.arena);
        for (offset, count) in &self.tags {
            clears.push_str(&format!(
                "  %tags{offset} = getelementptr i8, ptr %arena, i64 {offset}\n  call void @llvm.memset.p0.i64(ptr %tags{offset}, i8 0, i64 {}, i1 false)\n",
                count * 8
            ));
            self.rt.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)");
        }
        text.insert_str("entry:\n".len(), &clears);
        let header = format!(
            "define void @{entry}(ptr noalias readonly %args, ptr noalias readonly %scalars, i64 %begin, i64 %end, ptr noalias %arena)"
        );
        Ok((format!("{header} {{\n{text}}}\n"), self.arena + self.scratch))
    }

    fn operands(&mut self) {
        let (mut array, mut scalar) = (0, 0);
        let scalars: Vec<Value> = self.kernel.body.args[self.kernel.grid.len()..].to_vec();
        for (i, operand) in self.kernel.operands.iter().enumerate() {
            if operand.is_scalar() {
                let place = self.t.bind(format!("getelementptr i32, ptr %scalars, i64 {scalar}"));
                let text = self.t.bind(format!("load i32, ptr {place}, align 4"));
                let wide = self.t.bind(format!("sext i32 {text} to i64"));
                self.indices.insert(scalars[scalar], wide);
                let reg = self.reg(text, DType::I32, false);
                self.scalars.insert(scalars[scalar], reg);
                scalar += 1;
            } else {
                let place = self.t.bind(format!("getelementptr ptr, ptr %args, i64 {array}"));
                let text = self.t.bind(format!("load ptr, ptr {place}, align 8"));
                self.arrays.insert(OperandId(i as u32), text);
                array += 1;
            }
        }
    }

    /// Grid indices of the running cell; the last dimension varies fastest.
    fn cell_indices(&mut self) {
        let mut rest = self.cell.clone();
        for (d, dim) in self.kernel.grid.iter().enumerate().rev() {
            let wide = if dim.extent == 1 {
                "0".to_string()
            } else if d == 0 {
                rest.clone()
            } else {
                let at = self.t.bind(format!("urem i64 {rest}, {}", dim.extent));
                rest = self.t.bind(format!("udiv i64 {rest}, {}", dim.extent));
                at
            };
            let index = if is_literal(&wide).is_some() {
                wide.clone()
            } else {
                self.t.bind(format!("trunc i64 {wide} to i32"))
            };
            self.indices.insert(self.kernel.body.args[d], wide);
            let reg = self.reg(index, DType::I32, false);
            self.scalars.insert(self.kernel.body.args[d], reg);
        }
    }

    fn block(&mut self, block: &'a Block) -> Result<()> {
        block.ops.iter().try_for_each(|op| self.op(op))
    }

    fn op(&mut self, op: &'a Op) -> Result<()> {
        match &op.kind {
            OpKind::Fold => return self.fold(op),
            OpKind::If => return self.branch(op),
            OpKind::Store { array } => {
                self.store(op, *array);
                return Ok(());
            }
            _ => {}
        }
        let result = op.results[0];
        match self.plan.place(result) {
            Place::Inline => {}
            Place::Scalar => self.scalar(op, result),
            Place::Buffer(b) => match &op.kind {
                OpKind::Dot => return self.dot(op, b).map_err(|d| d.at_if_absent(Some(op.loc.span()))),
                OpKind::Reduce { op: reduce, dim } => self.reduce(op, *reduce, *dim, b),
                OpKind::Concat { dim } => self.concat(op, *dim, b),
                OpKind::Reshape if self.is_general_reshape(op) => self.reshape(op, b),
                _ => {
                    let loads = self.loads_of(op);
                    self.nest_of(result, &loads, &mut |cell, at| {
                        let value = cell.eval_op(op, at);
                        cell.write_buffer(b, at, &value, false);
                    });
                }
            },
        }
        Ok(())
    }

    /// Copies the tile `v` into buffer `b`.
    pub(super) fn copy(&mut self, v: Value, b: usize) {
        let loads = self.loads_in(&[v]);
        self.nest(self.kernel.ty(v).shape, &[], &loads, &mut |cell, at| {
            let value = cell.eval(v, at);
            cell.write_buffer(b, at, &value, false);
        });
    }

    fn concat(&mut self, op: &'a Op, dim: usize, b: usize) {
        let mut start = 0;
        for &v in &op.operands {
            let loads = self.loads_in(&[v]);
            let shape = self.kernel.ty(v).shape;
            self.nest(shape, &[], &loads, &mut |cell, at| {
                let value = cell.eval(v, at);
                let mut to = at.clone();
                to.coords[dim] = cell.add(&at.coords[dim], &start.to_string());
                cell.write_buffer(b, &to, &value, true);
            });
            start += shape.dims()[dim];
        }
    }

    fn is_general_reshape(&self, op: &Op) -> bool {
        unit_map(self.kernel.ty(op.operands[0]), self.kernel.ty(op.results[0])).is_none()
    }

    /// Writes the operand densely, in its own shape, into the result's buffer.
    fn reshape(&mut self, op: &'a Op, b: usize) {
        let from = self.kernel.ty(op.operands[0]);
        let own = self.plan.buffers[b].clone();
        let dense = Buffer::new(from, self.lanes, Rows::Dense);
        self.plan.buffers[b] = Buffer { offset: own.offset, ..dense };
        let loads = self.loads_in(&op.operands);
        self.nest(from.shape, &[], &loads, &mut |cell, at| {
            let value = cell.eval(op.operands[0], at);
            cell.write_buffer(b, at, &value, true);
        });
        self.plan.buffers[b] = own;
    }

    fn store(&mut self, op: &'a Op, array: OperandId) {
        let (indices, tile) = op.operands.split_at(op.operands.len() - 1);
        let shape = self.kernel.ty(tile[0]).shape;
        let extents = self.block_bounds(array, indices, shape.dims());
        let loads = self.loads_in(tile);
        let combine = match self.kernel.operand(array).role {
            Role::Output { combine } => combine,
            _ => None,
        };
        self.nest(shape, &extents, &loads, &mut |cell, at| {
            let mut value = cell.eval(tile[0], at);
            if let Some(combine) = combine {
                let before = cell.read_array(array, indices, shape.dims(), at);
                let f = match combine {
                    ReduceOp::Add => BinaryOp::Add,
                    ReduceOp::Max => BinaryOp::Max,
                    ReduceOp::Min => BinaryOp::Min,
                };
                value = cell.binary(f, &before, &value);
            }
            cell.write_array(array, indices, shape.dims(), at, &value);
        });
    }

    /// A rank-0 value, where its op stands.
    fn scalar(&mut self, op: &'a Op, result: Value) {
        if let Some(text) = self.scalar_op(op) {
            let reg = self.reg(text, self.kernel.ty(result).dtype, false);
            self.scalars.insert(result, reg);
            return;
        }
        let at = At { coords: Vec::new(), vector: None, mask: None };
        let dtype = self.kernel.ty(result).dtype;
        let loads = self.loads_of(op);
        let bounded = loads.iter().any(|l| self.bounds(l).iter().any(Option::is_some));
        let outer = std::mem::replace(&mut self.checked, bounded);
        self.memo.clear();
        let value = self.eval_op(op, &at);
        self.memo.clear();
        self.checked = outer;
        let value = match dtype {
            DType::I32 | DType::Bool => {
                let text = self.t.bind(format!("extractelement {}, i32 0", self.typed(&value)));
                self.reg(text, dtype, false)
            }
            _ => value,
        };
        self.scalars.insert(result, value);
    }

    /// An op on i32 and bool scalars as LLVM scalars; `None` for others.
    fn scalar_op(&mut self, op: &Op) -> Option<String> {
        let texts: Vec<String> =
            op.operands.iter().filter_map(|v| self.scalars.get(v)).map(|r| r.text.clone()).collect();
        let plain = |d: DType| matches!(d, DType::I32 | DType::Bool);
        let types: Vec<TileType> = op.operands.iter().map(|&v| self.kernel.ty(v)).collect();
        let result = self.kernel.ty(op.results[0]).dtype;
        if texts.len() != op.operands.len() || !plain(result) || !types.iter().all(|t| plain(t.dtype)) {
            return None;
        }
        let ty = if types.first().is_some_and(|t| t.dtype == DType::Bool) { "i1" } else { "i32" };
        Some(match &op.kind {
            OpKind::Splat(Const::Int(v)) if result == DType::Bool => (*v != 0).to_string(),
            OpKind::Splat(Const::Int(v)) => v.to_string(),
            OpKind::Lookup { table } => self.lookup(*table, &texts[0]),
            OpKind::Compare(f) => {
                self.t.bind(format!("{} {ty} {}, {}", comparison(*f, types[0].dtype), texts[0], texts[1]))
            }
            OpKind::Select => {
                let ty = if result == DType::Bool { "i1" } else { "i32" };
                self.t.bind(format!("select i1 {}, {ty} {}, {ty} {}", texts[0], texts[1], texts[2]))
            }
            OpKind::Unary(UnaryOp::Neg) => self.t.bind(format!("sub i32 0, {}", texts[0])),
            OpKind::Unary(UnaryOp::Not) => {
                let ones = if result == DType::Bool { "true" } else { "-1" };
                self.t.bind(format!("xor {ty} {}, {ones}", texts[0]))
            }
            OpKind::Binary(f) => {
                let name =
                    match f {
                        BinaryOp::Add => "add",
                        BinaryOp::Sub => "sub",
                        BinaryOp::Mul => "mul",
                        BinaryOp::And => "and",
                        BinaryOp::Or => "or",
                        BinaryOp::Xor => "xor",
                        BinaryOp::Min | BinaryOp::Max if result == DType::I32 => {
                            let name = if *f == BinaryOp::Min { "smin" } else { "smax" };
                            self.rt.declare(format!("declare i32 @llvm.{name}.i32(i32, i32)"));
                            return Some(self.t.bind(format!(
                                "call i32 @llvm.{name}.i32(i32 {}, i32 {})",
                                texts[0], texts[1]
                            )));
                        }
                        _ => return None,
                    };
                self.t.bind(format!("{name} {ty} {}, {}", texts[0], texts[1]))
            }
            OpKind::Cast if types[0].dtype == DType::Bool && result == DType::I32 => {
                self.t.bind(format!("zext i1 {} to i32", texts[0]))
            }
            OpKind::Cast if types[0].dtype == DType::I32 && result == DType::Bool => {
                self.t.bind(format!("icmp ne i32 {}, 0", texts[0]))
            }
            _ => return None,
        })
    }

    /// An element of a table; an index outside, whose result is poison, reads the nearest end.
    fn lookup(&mut self, table: OperandId, index: &str) -> String {
        let last = self.kernel.operand(table).shape.dims()[0] as i64 - 1;
        self.rt.declare("declare i32 @llvm.smin.i32(i32, i32)");
        self.rt.declare("declare i32 @llvm.smax.i32(i32, i32)");
        let low = self.t.bind(format!("call i32 @llvm.smax.i32(i32 {index}, i32 0)"));
        let inside =
            self.t.bind(format!("call i32 @llvm.smin.i32(i32 {low}, i32 {})", last.min(i32::MAX.into())));
        let wide = self.t.bind(format!("sext i32 {inside} to i64"));
        let base = self.arrays.get(&table).cloned().unwrap_or_default();
        let place = self.t.bind(format!("getelementptr i32, ptr {base}, i64 {wide}"));
        self.t.bind(format!("load i32, ptr {place}, align 4"))
    }

    /// The LLVM type of a rank-0 value as it is kept.
    fn scalar_type(&self, r: &Reg) -> String {
        match r.dtype {
            DType::I32 => "i32".to_string(),
            DType::Bool => "i1".to_string(),
            dtype => self.vector_type(dtype, r.stored),
        }
    }

    /// A rank-0 value in the form in which loops and ifs hand it on: floats opened.
    fn handed(&mut self, v: Value) -> Reg {
        let reg =
            self.scalars.get(&v).cloned().unwrap_or_else(|| self.reg("poison".into(), DType::I32, false));
        self.opened(&reg)
    }

    fn fold(&mut self, op: &'a Op) -> Result<()> {
        let body = &op.regions[0];
        let index = body.args[0];
        let modes = self.plan.carries.get(&index).cloned().unwrap_or_default();
        let (lo, hi) = (self.index(op.operands[0]), self.index(op.operands[1]));
        let mut carried: Vec<(String, String)> = Vec::new();
        let mut kept: Vec<Reg> = Vec::new();
        for (i, (&arg, &init)) in body.args[1..].iter().zip(&op.operands[2..]).enumerate() {
            match (modes[i], self.plan.place(arg)) {
                (Carry::Scalar, _) => {
                    let reg = self.handed(init);
                    carried.push((self.scalar_type(&reg), reg.text.clone()));
                    kept.push(reg);
                }
                (_, Place::Buffer(b)) if self.plan.zero_first.contains(&arg) => {
                    self.when_empty(&lo, &hi, init, b)
                }
                (_, Place::Buffer(b)) => self.copy(init, b),
                _ => {}
            }
        }
        let (l, names) = self.t.begin_loop(&lo, &hi, 1, &carried);
        self.indices.insert(index, l.index.clone());
        let short = self.t.bind(format!("trunc i64 {} to i32", l.index));
        let reg = self.reg(short, DType::I32, false);
        self.scalars.insert(index, reg);
        let mut next_name = names.iter().zip(&kept);
        for (i, &arg) in body.args[1..].iter().enumerate() {
            if modes[i] == Carry::Scalar {
                if let Some((name, reg)) = next_name.next() {
                    self.scalars.insert(arg, Reg { text: name.clone(), ..reg.clone() });
                }
            } else if self.plan.zero_first.contains(&arg) {
                let first = self.t.bind(format!("icmp eq i64 {}, {lo}", l.index));
                self.first.insert(arg, first);
            }
        }
        let first = self.plan.ranges.interval(op.operands[0]).lo;
        let indices = (self.plan.ranges.interval(op.operands[1]).hi - first).max(0) as usize;
        self.folds.push(Enclosing { value: index, index: l.index.clone(), first, indices });
        self.block(body)?;
        self.folds.pop();
        let mut next = Vec::new();
        self.hand_on(body, &modes);
        for (i, &y) in body.yields.iter().enumerate() {
            if modes[i] == Carry::Scalar {
                next.push(self.handed(y).text);
            }
        }
        self.t.end_loop(l, &carried, &next);
        let mut last = names.iter().zip(&kept);
        for (i, &r) in op.results.iter().enumerate() {
            if modes[i] == Carry::Scalar
                && let Some((name, reg)) = last.next()
            {
                self.scalars.insert(r, Reg { text: name.clone(), ..reg.clone() });
            }
        }
        Ok(())
    }

    /// Initialises a carried tile that the first step overwrites, for the case that there is no step.
    fn when_empty(&mut self, lo: &str, hi: &str, init: Value, b: usize) {
        if let (Some(lo), Some(hi)) = (is_literal(lo), is_literal(hi))
            && lo < hi
        {
            return;
        }
        let id = self.t.fresh();
        let empty = self.t.bind(format!("icmp sge i64 {lo}, {hi}"));
        self.t.line(format!("br i1 {empty}, label %empty{id}, label %some{id}"));
        self.t.label(format!("empty{id}"));
        self.copy(init, b);
        self.t.enter(format!("some{id}"));
    }

    /// Copies yielded tiles to the carried tiles' buffers: first what another copy would overwrite, into its own place.
    fn hand_on(&mut self, body: &'a Block, modes: &[Carry]) {
        let copies: Vec<(usize, Value)> =
            (0..modes.len()).filter(|&i| modes[i] == Carry::Copy).map(|i| (i, body.yields[i])).collect();
        for &(i, y) in &copies {
            if let Some(&swap) = self.plan.swaps.get(&body.args[1 + i]) {
                self.copy(y, swap);
            }
        }
        for &(i, y) in &copies {
            let Place::Buffer(to) = self.plan.place(body.args[1 + i]) else { continue };
            match self.plan.swaps.get(&body.args[1 + i]).copied() {
                None => self.copy(y, to),
                Some(swap) => {
                    let shape = self.kernel.ty(y).shape;
                    self.nest(shape, &[], &[], &mut |cell, at| {
                        let value = cell.read_buffer(swap, at);
                        cell.write_buffer(to, at, &value, false);
                    });
                }
            }
        }
    }

    fn branch(&mut self, op: &'a Op) -> Result<()> {
        let id = self.t.fresh();
        let cond = self.scalars.get(&op.operands[0]).map(|r| r.text.clone()).unwrap_or_default();
        self.t.line(format!("br i1 {cond}, label %yes{id}, label %no{id}"));
        let mut ends: Vec<(String, Vec<Reg>)> = Vec::new();
        for (region, label) in op.regions.iter().zip(["yes", "no"]) {
            self.t.label(format!("{label}{id}"));
            self.block(region)?;
            let mut handed = Vec::new();
            for (&r, &y) in op.results.iter().zip(&region.yields) {
                match self.plan.place(r) {
                    Place::Buffer(b) => self.copy(y, b),
                    _ => handed.push(self.handed(y)),
                }
            }
            ends.push((self.t.block().to_string(), handed));
            self.t.line(format!("br label %fi{id}"));
        }
        self.t.label(format!("fi{id}"));
        let scalars = op.results.iter().filter(|&&r| self.plan.place(r) == Place::Scalar);
        for (i, &r) in scalars.enumerate() {
            let (yes, no) = (&ends[0], &ends[1]);
            let ty = self.scalar_type(&yes.1[i]);
            let text = self
                .t
                .bind(format!("phi {ty} [ {}, %{} ], [ {}, %{} ]", yes.1[i].text, yes.0, no.1[i].text, no.0));
            let reg = Reg { text, ..yes.1[i].clone() };
            self.scalars.insert(r, reg);
        }
        Ok(())
    }
}
