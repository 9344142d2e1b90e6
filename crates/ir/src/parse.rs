//! The text form, read. Every fault names its line and column and the rule it breaks.

mod lex;

use std::collections::HashMap;
use std::sync::Arc;

use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_dtype::DType;

use self::lex::{Lexer, Token, TokenKind};
use crate::ops::{Form, OPS, ReduceOp, op_named};
use crate::program::{
    Block, Const, GridDim, Kernel, Loc, Op, OpKind, Operand, OperandId, Program, Role, Value, ValueInfo,
};
use crate::rules;
use crate::types::{MAX_RANK, Shape, TileType};
use crate::verify;

/// How deep folds and ifs may nest in a text.
const MAX_DEPTH: usize = 64;

/// Parses and verifies a program. `file` names the text in diagnostics and in the ops' source lines.
pub fn parse(text: &str, file: &str) -> Result<Program> {
    let mut parser = Parser::new(text, file)?;
    let mut kernels = Vec::new();
    while parser.peek().kind != TokenKind::End {
        let kernel = parser.kernel()?;
        verify::kernel(&kernel)?;
        verify::wiring(&kernels, &kernel)?;
        kernels.push(kernel);
    }
    if kernels.is_empty() {
        return Err(parser.unexpected(parser.peek(), "`kernel`"));
    }
    Ok(Program { kernels })
}

struct Parser<'a> {
    file: Arc<str>,
    tokens: Vec<Token<'a>>,
    next: usize,
    kernel: Kernel,
    /// Names in scope; a block's names are dropped at its end.
    scope: HashMap<&'a str, Value>,
    scoped: Vec<&'a str>,
    ops: Vec<Vec<Op>>,
    /// Scalar operands of the kernel, whose values follow the grid's.
    scalars: Vec<&'a str>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, file: &'a str) -> Result<Parser<'a>> {
        Ok(Parser {
            file: file.into(),
            tokens: Lexer::new(text, file).all()?,
            next: 0,
            kernel: Kernel::default(),
            scope: HashMap::new(),
            scoped: Vec::new(),
            ops: Vec::new(),
            scalars: Vec::new(),
        })
    }

    fn kernel(&mut self) -> Result<Kernel> {
        self.kernel = Kernel::default();
        self.scope.clear();
        self.scoped.clear();
        self.ops.clear();
        self.scalars.clear();
        self.kernel.loc = self.loc();
        self.word("kernel")?;
        self.kernel.name = self.name("a kernel's name")?.to_string();
        self.expect("(")?;
        self.operands(false)?;
        self.expect("->")?;
        self.expect("(")?;
        self.operands(true)?;
        self.word("grid")?;
        self.expect("(")?;
        let mut args = Vec::new();
        while !self.eat(")") {
            let name = self.name("a grid dimension's name")?;
            self.expect(":")?;
            let extent = self.size()?;
            self.kernel.grid.push(GridDim { name: name.to_string(), extent });
            args.push(self.define(name, TileType::INDEX)?);
            self.separator(")")?;
        }
        for name in std::mem::take(&mut self.scalars) {
            args.push(self.define(name, TileType::INDEX)?);
        }
        self.expect("{")?;
        self.kernel.body = self.block(args, 0)?;
        Ok(std::mem::take(&mut self.kernel))
    }

    fn operands(&mut self, outputs: bool) -> Result<()> {
        while !self.eat(")") {
            let loc = self.loc();
            let word = self.name("an operand's name")?;
            let name = word.to_string();
            self.expect(":")?;
            let operand = if !outputs && self.eat("scalar") {
                self.scalars.push(word);
                let (min, max) = self.range()?;
                Operand {
                    name,
                    dtype: DType::I32,
                    shape: Shape::SCALAR,
                    role: Role::Scalar { min, max },
                    loc,
                }
            } else if !outputs && self.eat("table") {
                let shape = self.shape()?;
                if shape.rank() != 1 {
                    return Err(self.fault("ir/rank", "a table has rank 1".to_string()));
                }
                let (min, max) = self.range()?;
                Operand { name, dtype: DType::I32, shape, role: Role::Table { min, max }, loc }
            } else {
                let ty = self.tile_type()?;
                let role = if outputs {
                    let combine = if self.eat("combine") { Some(self.combine()?) } else { None };
                    Role::Output { combine }
                } else {
                    let pad = if self.eat("pad") { Some(self.constant(ty.dtype)?) } else { None };
                    Role::Input { pad }
                };
                Operand { name, dtype: ty.dtype, shape: ty.shape, role, loc }
            };
            self.kernel.operands.push(operand);
            self.separator(")")?;
        }
        Ok(())
    }

    fn combine(&mut self) -> Result<ReduceOp> {
        let name = self.name("how writes combine")?;
        let known = [("add", ReduceOp::Add), ("max", ReduceOp::Max), ("min", ReduceOp::Min)];
        match known.iter().find(|(n, _)| *n == name) {
            Some((_, op)) => Ok(*op),
            None => Err(Diagnostic::unknown("ir/parse", "combination", name, known.map(|(n, _)| n))
                .at(self.last_span())),
        }
    }

    fn range(&mut self) -> Result<(i32, i32)> {
        let min = self.int32()?;
        self.expect("..=")?;
        Ok((min, self.int32()?))
    }

    /// Parses ops up to the closing brace. The opening brace is already read.
    fn block(&mut self, args: Vec<Value>, depth: usize) -> Result<Block> {
        if depth > MAX_DEPTH {
            return Err(self.fault("ir/parse", format!("blocks nest deeper than {MAX_DEPTH}")));
        }
        self.ops.push(Vec::new());
        let mark = self.scoped.len();
        let mut yields = Vec::new();
        while !self.eat("}") {
            if self.eat("yield") {
                loop {
                    yields.push(self.value()?);
                    if !self.eat(",") {
                        break;
                    }
                }
                self.expect("}")?;
                break;
            }
            self.op(depth)?;
        }
        for name in self.scoped.drain(mark..) {
            self.scope.remove(name);
        }
        let ops = self.ops.pop().unwrap_or_default();
        Ok(Block { args, ops, yields })
    }

    fn op(&mut self, depth: usize) -> Result<()> {
        let start = self.peek();
        let loc = self.loc();
        let mut defs = Vec::new();
        let effect_only =
            matches!(start.text, "store" | "if" | "fold") && self.tokens[self.next + 1].text != "=";
        if !effect_only {
            loop {
                defs.push(self.name("a value's name, or an op")?);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect("=")?;
        }
        let name = self.name("an op")?;
        let Some(decl) = op_named(name) else {
            return Err(Diagnostic::unknown("ir/unknown-op", "op", name, OPS.iter().map(|d| d.name))
                .at(self.last_span()));
        };
        match decl.form {
            Form::Fold => self.fold(defs, loc, depth),
            Form::If => self.branch(defs, loc, depth),
            form => self.simple(form, defs, loc),
        }
    }

    fn simple(&mut self, form: Form, defs: Vec<&'a str>, loc: Loc) -> Result<()> {
        let (kind, operands) = self.kind(form)?;
        let declared = if self.eat(":") { Some(self.tile_type()?) } else { None };
        let types: Vec<TileType> = operands.iter().map(|&v| self.kernel.ty(v)).collect();
        let made = rules::result_type(&kind, &types, declared, &self.kernel.operands)
            .map_err(|e| Diagnostic::request(e.code, e.message).rule(e.rule).at(loc.span()))?;
        if defs.len() != usize::from(made.is_some()) {
            return Err(named(form, usize::from(made.is_some()), defs.len()).at(loc.span()));
        }
        let results = match (made, defs.first()) {
            (Some(ty), Some(name)) => vec![self.define(name, ty)?],
            _ => Vec::new(),
        };
        self.push(Op { kind, operands, results, regions: Vec::new(), loc });
        Ok(())
    }

    /// The op after its name, up to its type.
    fn kind(&mut self, form: Form) -> Result<(OpKind, Vec<Value>)> {
        Ok(match form {
            Form::Splat => (OpKind::Splat(self.splat()?), Vec::new()),
            Form::Iota => (OpKind::Iota { dim: self.size()? }, Vec::new()),
            Form::Load => {
                let (array, indices) = self.block_of()?;
                (OpKind::Load { array }, indices)
            }
            Form::Lookup => {
                let (table, indices) = self.block_of()?;
                (OpKind::Lookup { table }, indices)
            }
            Form::Store => {
                let (array, mut operands) = self.block_of()?;
                self.expect(",")?;
                operands.push(self.value()?);
                (OpKind::Store { array }, operands)
            }
            Form::Transpose | Form::Slice => {
                let x = self.value()?;
                self.expect(",")?;
                let mut list = [0; MAX_RANK];
                let given = self.sizes()?;
                if given.len() != self.kernel.ty(x).shape.rank() {
                    return Err(
                        self.fault("ir/rank", format!("{} entries for {}", given.len(), self.kernel.ty(x)))
                    );
                }
                list[..given.len()].copy_from_slice(&given);
                let kind = if form == Form::Slice {
                    OpKind::Slice { start: list }
                } else {
                    OpKind::Transpose { perm: list }
                };
                (kind, vec![x])
            }
            Form::Reduce(op) => {
                let x = self.value()?;
                self.expect(",")?;
                (OpKind::Reduce { op, dim: self.size()? }, vec![x])
            }
            Form::Concat => {
                let x = self.value()?;
                self.expect(",")?;
                let y = self.value()?;
                self.expect(",")?;
                (OpKind::Concat { dim: self.size()? }, vec![x, y])
            }
            Form::Unary(op) => (OpKind::Unary(op), self.values(1)?),
            Form::Cast => (OpKind::Cast, self.values(1)?),
            Form::Broadcast => (OpKind::Broadcast, self.values(1)?),
            Form::Reshape => (OpKind::Reshape, self.values(1)?),
            Form::Binary(op) => (OpKind::Binary(op), self.values(2)?),
            Form::Compare(op) => (OpKind::Compare(op), self.values(2)?),
            Form::Select => (OpKind::Select, self.values(3)?),
            Form::Dot => (OpKind::Dot, self.values(3)?),
            Form::Fold | Form::If => return Err(self.fault("ir/parse", "a block op here".to_string())),
        })
    }

    /// The constant of a splat. The dtype of the type after it says what it is.
    fn splat(&mut self) -> Result<Const> {
        let start = self.next;
        self.constant(DType::F64)?;
        let typed = self.eat(":");
        let dtype = if typed { self.tile_type()?.dtype } else { DType::F64 };
        self.next = start;
        self.constant(dtype)
    }

    fn block_of(&mut self) -> Result<(OperandId, Vec<Value>)> {
        let name = self.name("an operand's name")?;
        let Some((id, _)) = self.kernel.operand_named(name) else {
            let known = self.kernel.operands.iter().map(|o| o.name.as_str());
            return Err(
                Diagnostic::unknown("ir/unknown-operand", "operand", name, known).at(self.last_span())
            );
        };
        self.expect("[")?;
        let mut indices = Vec::new();
        while !self.eat("]") {
            indices.push(self.value()?);
            self.separator("]")?;
        }
        Ok((id, indices))
    }

    fn fold(&mut self, defs: Vec<&'a str>, loc: Loc, depth: usize) -> Result<()> {
        let index = self.name("the fold's index")?;
        self.word("in")?;
        let mut operands = vec![self.value()?];
        self.expect("..")?;
        operands.push(self.value()?);
        self.expect("(")?;
        let mut carried = Vec::new();
        while !self.eat(")") {
            let name = self.name("a carried tile's name")?;
            self.expect("=")?;
            let init = self.value()?;
            operands.push(init);
            carried.push((name, self.kernel.ty(init)));
            self.separator(")")?;
        }
        self.expect("{")?;
        let mark = self.scoped.len();
        let mut args = vec![self.define(index, TileType::INDEX)?];
        for &(name, ty) in &carried {
            args.push(self.define(name, ty)?);
        }
        let body = self.block(args, depth + 1)?;
        for name in self.scoped.drain(mark..) {
            self.scope.remove(name);
        }
        if defs.len() != carried.len() {
            return Err(named(Form::Fold, carried.len(), defs.len()).at(loc.span()));
        }
        let results =
            defs.iter().zip(&carried).map(|(name, &(_, ty))| self.define(name, ty)).collect::<Result<_>>()?;
        self.push(Op { kind: OpKind::Fold, operands, results, regions: vec![body], loc });
        Ok(())
    }

    fn branch(&mut self, defs: Vec<&'a str>, loc: Loc, depth: usize) -> Result<()> {
        let operands = vec![self.value()?];
        self.expect("{")?;
        let yes = self.block(Vec::new(), depth + 1)?;
        self.word("else")?;
        self.expect("{")?;
        let no = self.block(Vec::new(), depth + 1)?;
        if defs.len() != yes.yields.len() {
            return Err(named(Form::If, yes.yields.len(), defs.len()).at(loc.span()));
        }
        let types: Vec<TileType> = yes.yields.iter().map(|&v| self.kernel.ty(v)).collect();
        let results =
            defs.iter().zip(types).map(|(name, ty)| self.define(name, ty)).collect::<Result<_>>()?;
        self.push(Op { kind: OpKind::If, operands, results, regions: vec![yes, no], loc });
        Ok(())
    }

    fn push(&mut self, op: Op) {
        if let Some(ops) = self.ops.last_mut() {
            ops.push(op);
        }
    }

    fn new_value(&mut self, ty: TileType, name: Option<&str>) -> Value {
        self.kernel.values.push(ValueInfo { ty, name: name.map(str::to_string) });
        Value(self.kernel.values.len() as u32 - 1)
    }

    fn define(&mut self, name: &'a str, ty: TileType) -> Result<Value> {
        if self.scope.contains_key(name) {
            return Err(self
                .fault("ir/redefined", format!("`{name}` is defined twice"))
                .rule("a name stands for one value while it is in scope"));
        }
        let value = self.new_value(ty, Some(name));
        self.scope.insert(name, value);
        self.scoped.push(name);
        Ok(value)
    }

    fn values(&mut self, count: usize) -> Result<Vec<Value>> {
        let mut all = vec![self.value()?];
        while all.len() < count {
            self.expect(",")?;
            all.push(self.value()?);
        }
        Ok(all)
    }

    /// A name in scope, or an integer, which stands for an i32 scalar constant.
    fn value(&mut self) -> Result<Value> {
        let token = self.peek();
        if token.kind == TokenKind::Number || token.text == "-" {
            let value = self.int32()?;
            let result = self.new_value(TileType::INDEX, None);
            let loc = self.loc();
            let kind = OpKind::Splat(Const::Int(value.into()));
            self.push(Op { kind, operands: Vec::new(), results: vec![result], regions: Vec::new(), loc });
            return Ok(result);
        }
        let name = self.name("a value")?;
        match self.scope.get(name) {
            Some(&v) => Ok(v),
            None => {
                let mut known: Vec<&str> = self.scope.keys().copied().collect();
                known.sort_unstable();
                Err(Diagnostic::unknown("ir/use-before-definition", "value", name, known)
                    .rule("a value is used after its op, in the same block or a block inside it")
                    .at(self.last_span()))
            }
        }
    }

    fn tile_type(&mut self) -> Result<TileType> {
        let name = self.name("an element type")?;
        let dtype = DType::parse(name).map_err(|d| d.at(self.last_span()))?;
        Ok(TileType::new(dtype, self.shape()?))
    }

    fn shape(&mut self) -> Result<Shape> {
        let dims = self.sizes()?;
        rules::shape_of(&dims).map_err(|e| self.fault(e.code, e.message).rule(e.rule))
    }

    fn sizes(&mut self) -> Result<Vec<usize>> {
        self.expect("[")?;
        let mut all = Vec::new();
        while !self.eat("]") {
            all.push(self.size()?);
            self.separator("]")?;
        }
        Ok(all)
    }

    fn size(&mut self) -> Result<usize> {
        let token = self.advance();
        match token.text.parse::<usize>() {
            Ok(n) if token.kind == TokenKind::Number && i64::try_from(n).is_ok() => Ok(n),
            _ => Err(self.unexpected(token, "a size")),
        }
    }

    fn int32(&mut self) -> Result<i32> {
        let minus = self.eat("-");
        let token = self.advance();
        let text = format!("{}{}", if minus { "-" } else { "" }, token.text);
        text.parse::<i32>().map_err(|_| self.unexpected(token, "an i32"))
    }

    /// A constant of `dtype`. One of another kind is left for the type rules to refuse.
    fn constant(&mut self, dtype: DType) -> Result<Const> {
        let minus = self.eat("-");
        let token = self.advance();
        let sign = if minus { -1.0 } else { 1.0 };
        match token.text {
            "true" if !minus => return Ok(Const::Int(1)),
            "false" if !minus => return Ok(Const::Int(0)),
            "inf" => return Ok(Const::Float(sign * f64::INFINITY)),
            "nan" if !minus => return Ok(Const::Float(f64::NAN)),
            _ => {}
        }
        if token.kind == TokenKind::Number {
            let text = format!("{}{}", if minus { "-" } else { "" }, token.text);
            if let (false, Ok(v)) = (dtype.is_float(), text.parse::<i64>()) {
                return Ok(Const::Int(v));
            }
            if let Ok(v) = text.parse::<f64>() {
                return Ok(Const::Float(v));
            }
        }
        Err(self.unexpected(token, "a constant"))
    }

    fn peek(&self) -> Token<'a> {
        self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.peek().text == text && self.peek().kind != TokenKind::End;
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, text: &str) -> Result<()> {
        if self.eat(text) {
            return Ok(());
        }
        let token = self.peek();
        Err(self.unexpected(token, &format!("`{text}`")))
    }

    fn word(&mut self, text: &str) -> Result<()> {
        self.expect(text)
    }

    fn separator(&mut self, end: &str) -> Result<()> {
        if self.eat(",") || self.peek().text == end {
            return Ok(());
        }
        let token = self.peek();
        Err(self.unexpected(token, &format!("`,` or `{end}`")))
    }

    fn name(&mut self, what: &str) -> Result<&'a str> {
        let token = self.advance();
        if token.kind == TokenKind::Word { Ok(token.text) } else { Err(self.unexpected(token, what)) }
    }

    fn unexpected(&self, token: Token<'a>, wanted: &str) -> Box<Diagnostic> {
        let found = if token.kind == TokenKind::End {
            "the end of the text".to_string()
        } else {
            format!("`{}`", token.text)
        };
        Diagnostic::request("ir/parse", format!("expected {wanted}, found {found}")).at(Span::new(
            &*self.file,
            token.line,
            token.col,
        ))
    }

    /// The place of the next token.
    fn loc(&self) -> Loc {
        let token = self.peek();
        Loc { file: self.file.clone(), line: token.line, col: token.col }
    }

    fn last_span(&self) -> Span {
        let token = self.tokens[self.next.saturating_sub(1)];
        Span::new(&*self.file, token.line, token.col)
    }

    fn fault(&self, code: &'static str, message: String) -> Box<Diagnostic> {
        Diagnostic::request(code, message).at(self.last_span())
    }
}

fn named(form: Form, made: usize, names: usize) -> Box<Diagnostic> {
    let tiles = if made == 1 { "1 tile".to_string() } else { format!("{made} tiles") };
    Diagnostic::request("ir/results", format!("`{}` makes {tiles}, {names} named", form.name()))
        .rule("each tile that an op makes has a name")
}
