//! From a listing to a [`Program`].

use std::collections::HashMap;

use tilewright_diag::{Diagnostic, Result};

use super::outside::FIRST_ROW;
use super::shadow::Shadows;
use super::{Code, FREE, Index, Op, PREDICATES, Placement, Program, Shadow, Source, TRUE, ZERO};
use crate::listing::{Class, Instr, Listing, Operand, Part, Reg, Symbol, Value};
use crate::ops::Meaning;

/// Path bits in one word before it is written out.
const BITS_A_WORD: u32 = 56;

pub fn lower(listing: &Listing, shadow: Shadow, placement: &Placement) -> Result<Program> {
    let mut lower = Lower {
        listing,
        placement,
        registers: vec![0; usize::from(FREE)],
        constants: HashMap::new(),
        tokens: HashMap::new(),
        temporaries: Vec::new(),
        next_operand: 1 << 10,
        next_row: FIRST_ROW,
        out: Program {
            ops: Vec::with_capacity(listing.instrs.len() / 4),
            first: Vec::with_capacity(listing.bundles.len() + 1),
            guards: Vec::new(),
            first_guard: Vec::with_capacity(listing.bundles.len() + 1),
            registers: Vec::new(),
            transfers: Vec::new(),
            branches: Vec::new(),
            branch_of: HashMap::new(),
            outside: Vec::new(),
            operands: Vec::new(),
        },
    };
    if let Some(r) = lower.registers.get_mut(usize::from(TRUE)) {
        *r = 1;
    }
    let shadows = Shadows::new(listing, shadow);
    let mut bits = 0;
    for (b, bundle) in listing.bundles.iter().enumerate() {
        lower.out.first.push(lower.out.ops.len() as u32);
        lower.out.first_guard.push(lower.out.guards.len() as u32);
        let guarded = listing.of(bundle).iter().filter(|i| i.guard.is_some()).count() as u32;
        if bits + guarded > BITS_A_WORD {
            lower.out.ops.push(plain(Code::Flush));
            bits = 0;
        }
        bits += guarded;
        lower.bundle(b as u32, listing.of(bundle), &shadows)?;
    }
    lower.out.first.push(lower.out.ops.len() as u32);
    lower.out.first_guard.push(lower.out.guards.len() as u32);
    lower.out.registers = lower.registers;
    Ok(lower.out)
}

/// An operation without operands.
pub(super) fn plain(code: Code) -> Op {
    Op { code, guarded: false, negated: false, guard: TRUE, dst: ZERO, a: ZERO, b: ZERO, c: ZERO, extra: 0 }
}

/// An operation with the instruction it came from.
pub(super) struct Pending {
    pub op: Op,
    pub instr: u32,
    pub writes: bool,
}

/// A lowering at work.
pub(super) struct Lower<'l> {
    pub listing: &'l Listing,
    placement: &'l Placement,
    registers: Vec<u64>,
    constants: HashMap<u32, Index>,
    tokens: HashMap<u32, Index>,
    pub temporaries: Vec<Index>,
    pub next_operand: u32,
    pub next_row: u32,
    pub out: Program,
}

impl Lower<'_> {
    pub(super) fn register(&mut self, value: u64) -> Result<Index> {
        let index = Index::try_from(self.registers.len()).map_err(|_| {
            Diagnostic::request("tpu/too-large", "more than 65,000 distinct constants and tokens")
                .at(self.listing.span(0))
        })?;
        self.registers.push(value);
        Ok(index)
    }

    fn constant(&mut self, value: u32) -> Result<Index> {
        if let Some(known) = self.constants.get(&value) {
            return Ok(*known);
        }
        let index = self.register(u64::from(value))?;
        self.constants.insert(value, index);
        Ok(index)
    }

    fn symbol(&mut self, symbol: Symbol) -> Result<Index> {
        self.constant(self.placement.address(symbol))
    }

    fn token(&mut self, id: u32) -> Result<Index> {
        if let Some(known) = self.tokens.get(&id) {
            return Ok(*known);
        }
        let index = self.register(0)?;
        self.tokens.insert(id, index);
        Ok(index)
    }

    fn value(&mut self, value: Value) -> Result<Index> {
        match value.reg {
            Some(reg) => Ok(scalar_index(reg)),
            None => self.token(value.id),
        }
    }

    fn part(&mut self, part: Part) -> Result<Index> {
        match part {
            Part::None => Ok(ZERO),
            Part::Imm(i) => self.constant(i as u32),
            Part::Value(v) => self.value(v),
            Part::Symbol(s) => self.symbol(s),
        }
    }

    fn operand(&mut self, operand: Operand) -> Result<Index> {
        match operand {
            Operand::Value(v) => self.value(v),
            Operand::Int(i) => self.constant(i as u32),
            Operand::Float(f) => self.constant(f.to_bits()),
            Operand::Symbol(s) => self.symbol(s),
            Operand::Pair(..) | Operand::Mem(_) | Operand::Region(_) => Ok(ZERO),
        }
    }

    fn arg(&mut self, instr: &Instr, n: usize) -> Result<Index> {
        match self.listing.args(instr).get(n) {
            Some(a) => self.operand(a.operand),
            None => Ok(ZERO),
        }
    }

    pub(super) fn labelled(&mut self, instr: &Instr, labels: &[&str]) -> Result<Index> {
        let found = labels.iter().find_map(|l| self.listing.labelled(instr, l)).map(|a| a.operand);
        match found {
            Some(operand) => self.operand(operand),
            None => Err(Diagnostic::request(
                "tpu/bad-operands",
                format!("`{}` has no operand labelled `{}`", self.listing.name(instr), labels.join("` or `")),
            )
            .at(self.listing.span(instr.line))
            .rule("a transfer names its ends, its size and its flag")),
        }
    }

    fn bundle(&mut self, bundle: u32, instrs: &[Instr], shadows: &Shadows) -> Result<()> {
        let start = self.listing.bundles.get(bundle as usize).map_or(0, |b| b.instrs.start);
        let mut pending = Vec::new();
        for (i, instr) in instrs.iter().enumerate() {
            let at = start + i as u32;
            let Some(family) = instr.op.entry() else {
                if instr.guard.is_some() {
                    pending.push(Pending { op: guarded(plain(Code::Note), instr), instr: at, writes: false });
                }
                continue;
            };
            self.instr(bundle, at, instr, family.meaning, shadows, &mut pending)?;
        }
        self.order(pending)
    }

    /// One instruction's operations.
    fn instr(
        &mut self,
        bundle: u32,
        at: u32,
        instr: &Instr,
        meaning: Meaning,
        shadows: &Shadows,
        pending: &mut Vec<Pending>,
    ) -> Result<()> {
        let dst = instr.dest.and_then(|d| d.reg).map(scalar_index);
        let code = match meaning {
            Meaning::Add => Code::Add,
            Meaning::Sub => Code::Sub,
            Meaning::Mul => Code::Mul,
            Meaning::MulHigh => Code::MulHigh,
            Meaning::And => Code::And,
            Meaning::Or => Code::Or,
            Meaning::Xor => Code::Xor,
            Meaning::Shl => Code::Shl,
            Meaning::ShlOnes => Code::ShlOnes,
            Meaning::Shr => Code::Shr,
            Meaning::Sar => Code::Sar,
            Meaning::Carry => Code::Carry,
            Meaning::Eq => Code::Eq,
            Meaning::Ne => Code::Ne,
            Meaning::LtS => Code::LtS,
            Meaning::LeS => Code::LeS,
            Meaning::GtS => Code::GtS,
            Meaning::GeS => Code::GeS,
            Meaning::LtU => Code::LtU,
            Meaning::LeU => Code::LeU,
            Meaning::GtU => Code::GtU,
            Meaning::GeU => Code::GeU,
            Meaning::PredOr => Code::PredOr,
            Meaning::PredNand => Code::PredNand,
            Meaning::PredNot => Code::PredNot,
            Meaning::Select => Code::Select,
            Meaning::IntToFloat => Code::IntToFloat,
            Meaning::Move => return self.moves(at, instr, dst, pending),
            Meaning::Lea => return self.lea(at, instr, dst, pending),
            Meaning::Alias => return self.alias(instr),
            Meaning::Load | Meaning::Store => return self.memory(at, instr, dst, pending),
            Meaning::DivRem => {
                let remainder = self.listing.slice(&instr.note).contains("kRem");
                let mut op = plain(if remainder { Code::Rem } else { Code::Div });
                op.dst = self.token(instr.dest.map_or(0, |d| d.id))?;
                op.a = self.arg(instr, 0)?;
                op.b = self.arg(instr, 1)?;
                pending.push(Pending { op: guarded(op, instr), instr: at, writes: true });
                return Ok(());
            }
            Meaning::Pop | Meaning::PopRemainder => return self.pop(at, instr, dst, pending),
            Meaning::Operand => return self.input(at, instr, dst, pending),
            Meaning::Loader => {
                return self.outside(Source::Loader { line: instr.line }, at, instr, dst, pending);
            }
            Meaning::Halt => Code::Halt,
            Meaning::SyncAdd => Code::SyncAdd,
            Meaning::SyncSet => Code::SyncSet,
            Meaning::DmaWait => Code::Wait,
            Meaning::Call => Code::Call,
            Meaning::Branch => return self.branch(bundle, at, instr, shadows, pending),
            Meaning::Dma | Meaning::DmaGeneral => return self.transfer(at, instr, pending),
            Meaning::None | Meaning::SyncWait => {
                if self.listing.name(instr) == "vsyncmov" {
                    let mut op = plain(Code::ReadFlag);
                    op.dst = self.token(instr.dest.map_or(0, |d| d.id))?;
                    op.a = self.arg(instr, 0)?;
                    pending.push(Pending { op: guarded(op, instr), instr: at, writes: true });
                } else if instr.guard.is_some() {
                    pending.push(Pending { op: guarded(plain(Code::Note), instr), instr: at, writes: false });
                }
                return Ok(());
            }
        };
        let mut op = plain(code);
        op.dst = dst.unwrap_or(ZERO);
        op.a = self.arg(instr, 0)?;
        op.b = self.arg(instr, 1)?;
        op.c = self.arg(instr, 2)?;
        op.extra = at;
        pending.push(Pending { op: guarded(op, instr), instr: at, writes: dst.is_some() });
        Ok(())
    }

    /// A move; with an alternative in another register it is a select.
    fn moves(
        &mut self,
        at: u32,
        instr: &Instr,
        dst: Option<Index>,
        pending: &mut Vec<Pending>,
    ) -> Result<()> {
        let mut op = plain(Code::Move);
        op.dst = dst.unwrap_or(ZERO);
        op.a = self.arg(instr, 0)?;
        if let Some(otherwise) = instr.guard.and_then(|g| g.otherwise) {
            let other = self.value(otherwise)?;
            if other != op.dst {
                return Err(Diagnostic::request(
                    "tpu/bad-operands",
                    format!("`{}` keeps a value of another register", self.listing.name(instr)),
                )
                .at(self.listing.span(instr.line))
                .rule("the alternative of a guarded move is in the register that it writes"));
            }
        }
        if op.a == op.dst && instr.guard.is_none() {
            return Ok(());
        }
        pending.push(Pending { op: guarded(op, instr), instr: at, writes: true });
        Ok(())
    }

    fn alias(&mut self, instr: &Instr) -> Result<()> {
        let dest = instr.dest.and_then(|d| d.reg);
        for arg in self.listing.args(instr) {
            if !matches!(arg.operand, Operand::Value(v) if v.reg == dest) {
                return Err(Diagnostic::request("tpu/bad-operands", "a phi joins different registers")
                    .at(self.listing.span(instr.line))
                    .rule("after register allocation every value of a phi has the phi's register"));
            }
        }
        Ok(())
    }

    fn lea(&mut self, at: u32, instr: &Instr, dst: Option<Index>, pending: &mut Vec<Pending>) -> Result<()> {
        let mut op = plain(Code::Add);
        op.dst = dst.unwrap_or(ZERO);
        op.a = self.arg(instr, 0)?;
        op.b = self.arg(instr, 1)?;
        pending.push(Pending { op: guarded(op, instr), instr: at, writes: true });
        Ok(())
    }

    fn memory(
        &mut self,
        at: u32,
        instr: &Instr,
        dst: Option<Index>,
        pending: &mut Vec<Pending>,
    ) -> Result<()> {
        let mem = match self.listing.args(instr).first().map(|a| a.operand) {
            Some(Operand::Mem(m)) => self.listing.mems.get(m as usize).copied(),
            _ => None,
        };
        let Some(mem) = mem else {
            return Err(Diagnostic::request("tpu/bad-operands", "a scalar load or store without an address")
                .at(self.listing.span(instr.line))
                .rule("the first operand is `[smem:…]`"));
        };
        let core = self.listing.slice(&instr.note).contains("core id");
        let mut op = plain(match dst {
            Some(_) if core => Code::LoadCore,
            Some(_) => Code::Load,
            None => Code::Store,
        });
        op.dst = dst.unwrap_or(ZERO);
        op.a = self.part(mem.base)?;
        op.b = self.part(mem.index)?;
        op.c = self.arg(instr, 1)?;
        op.extra = at;
        pending.push(Pending { op: guarded(op, instr), instr: at, writes: dst.is_some() });
        Ok(())
    }

    fn pop(&mut self, at: u32, instr: &Instr, dst: Option<Index>, pending: &mut Vec<Pending>) -> Result<()> {
        if self.listing.name(instr) == "spop" {
            return self.outside(Source::Vector { line: instr.line }, at, instr, dst, pending);
        }
        let mut op = plain(Code::Move);
        op.dst = dst.unwrap_or(ZERO);
        op.a = self.arg(instr, 0)?;
        pending.push(Pending { op: guarded(op, instr), instr: at, writes: true });
        Ok(())
    }

    pub(super) fn outside(
        &mut self,
        source: Source,
        at: u32,
        instr: &Instr,
        dst: Option<Index>,
        pending: &mut Vec<Pending>,
    ) -> Result<()> {
        let mut op = plain(Code::Outside);
        op.dst = dst.unwrap_or(ZERO);
        op.extra = self.out.outside.len() as u32;
        self.out.outside.push(source);
        pending.push(Pending { op: guarded(op, instr), instr: at, writes: true });
        Ok(())
    }
}

/// `op` under the guard of its instruction.
pub(super) fn guarded(mut op: Op, instr: &Instr) -> Op {
    if let Some(guard) = instr.guard
        && let Some(reg) = guard.value.reg
    {
        op.guarded = true;
        op.negated = guard.negated;
        op.guard = scalar_index(reg);
    }
    op
}

/// Place of a register in the executor's file; vector registers have none and alias `s0` harmlessly, as no scalar
/// operation names them.
fn scalar_index(reg: Reg) -> Index {
    match reg.class {
        Class::Predicate => PREDICATES + Index::from(reg.index),
        Class::Scalar | Class::Vector | Class::Mask => Index::from(reg.index),
    }
}
