//! The executor: scalar registers, predicates, scalar memory, sync flags, branches with their delay slots.
//!
//! Registers hold 64 bits: the value below, and above it one bit that says the value rests on an assumption.

mod outside;
mod pure;
mod smem;

use std::collections::BTreeMap;

use serde::Serialize;
use tilewright_diag::{Diagnostic, Result};

use crate::hash::{FastMap, mix};
use crate::listing::Listing;
use crate::observe::{Observer, Scalars, Segment};
use crate::program::{Branch, Code, Op, Program};
use pure::{Registers, pure, registers};
use smem::Smem;

/// The bit of a register that marks an assumption.
const ASSUMED: u64 = 1 << 32;
/// A segment ends after this many path words, so that memory stays bounded in code without loops.
const SEGMENT_WORDS: usize = 4096;

/// What the listing does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Values of scalar operands in registers, by operand index.
    pub scalars: BTreeMap<u32, u32>,
    /// Words of operands that reach scalar memory, by operand index, in the order of their layout: of operands in scalar
    /// memory, and of those that a transfer brings there from HBM or vector memory.
    pub tables: BTreeMap<u32, Vec<u32>>,
    /// What an unknown value is taken to be.
    pub default: u32,
    /// Bundles after which an execution ends with a diagnostic.
    pub limit: u64,
}

impl Inputs {
    /// Nothing known, unknown values 0, at most `limit` bundles.
    pub fn unknown(limit: u64) -> Inputs {
        Inputs { scalars: BTreeMap::new(), tables: BTreeMap::new(), default: 0, limit }
    }

    /// Makes the words of operand `index` known, whether the program has it in a register or in memory.
    pub fn give(&mut self, index: u32, words: Vec<u32>) {
        if let Some(first) = words.first() {
            self.scalars.insert(index, *first);
        }
        self.tables.insert(index, words);
    }
}

/// A value that was taken for granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// What it is.
    pub what: String,
    /// Line where it entered.
    pub line: u32,
    /// Times it was read.
    pub count: u64,
}

/// What the scalar side did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Bundles executed, empty ones and delay slots included.
    pub bundles: u64,
    /// Executions of each bundle.
    pub counts: Vec<u64>,
    /// Bytes read from HBM.
    pub hbm_read: u64,
    /// Bytes written to HBM.
    pub hbm_written: u64,
    /// Transfers started.
    pub transfers: u64,
    /// Values taken for granted.
    pub assumptions: Vec<Assumption>,
    /// Branches that an assumed value decided.
    pub assumed_branches: u64,
    /// Checks that failed (`shalt.err`); on assumed values they mean little.
    pub failed_checks: u64,
    /// Of these, the ones that rest on no assumption.
    pub certain_failed_checks: u64,
    /// Calls of other listings.
    pub calls: u64,
}

/// Runs `program` to its end.
pub fn execute<O: Observer>(
    listing: &Listing,
    program: &Program,
    inputs: &Inputs,
    observer: &mut O,
) -> Result<Outcome> {
    let mut machine = Machine {
        listing,
        program,
        inputs,
        regs: registers(program),
        smem: Smem::default(),
        flags: FastMap::default(),
        bits: 1,
        path: Vec::new(),
        facts: Vec::new(),
        hash: 0,
        runs: vec![0; listing.bundles.len() + 1],
        seen: BTreeMap::new(),
        out: Outcome::default(),
        segment_start: 0,
        segment_bundles: 0,
    };
    machine.preload();
    machine.run(observer)?;
    Ok(machine.finish())
}

/// The state of one execution.
struct Machine<'p> {
    listing: &'p Listing,
    program: &'p Program,
    inputs: &'p Inputs,
    regs: Registers,
    smem: Smem,
    flags: FastMap<u32, i64>,
    bits: u64,
    path: Vec<u64>,
    facts: Vec<u64>,
    hash: u64,
    /// Differences of execution counts: +1 where a run of bundles starts, -1 where it stops.
    runs: Vec<i64>,
    seen: BTreeMap<(String, u32), u64>,
    out: Outcome,
    segment_start: u32,
    segment_bundles: u64,
}

impl Machine<'_> {
    fn run<O: Observer>(&mut self, observer: &mut O) -> Result<()> {
        let end = self.listing.bundles.len() as u32;
        let mut at = 0;
        while at < end {
            // Run straight on until a branch is taken, then through its delay slots.
            let taken = self.straight(at, end, None, observer)?;
            let Some(branch) = taken else {
                self.count(at, end);
                break;
            };
            let stop = branch.stop.min(end);
            if stop > branch.bundle + 1 {
                self.straight(branch.bundle + 1, stop, Some(&branch), observer)?;
            }
            self.count(at, stop);
            let Some(target) = branch.target else {
                return Err(self.lost(&branch));
            };
            if target <= branch.bundle || self.path.len() + self.facts.len() > SEGMENT_WORDS {
                self.boundary(target, observer)?;
            }
            at = target;
        }
        self.boundary(end, observer)
    }

    fn lost(&self, branch: &Branch) -> Box<Diagnostic> {
        let line = self.listing.bundles.get(branch.bundle as usize).map_or(0, |b| b.line);
        Diagnostic::request("tpu/unknown-target", format!("a taken branch goes to region {}, which no mark places", branch.region))
            .at(self.listing.span(line))
            .rule("a branch goes to the bundle whose note starts its region; where none does, the target is not guessed")
    }

    /// Executes bundles from `at` to a taken branch or `stop`. In delay slots, `within` is the branch they belong to.
    fn straight<O: Observer>(
        &mut self,
        at: u32,
        stop: u32,
        within: Option<&Branch>,
        observer: &mut O,
    ) -> Result<Option<Branch>> {
        if O::EVERY_BUNDLE {
            for b in at..stop {
                observer.bundle(b, Scalars { registers: &self.regs[..] })?;
                let ops = self.ops_of(b, b + 1);
                if let Some(branch) = self.ops(ops, within, observer)? {
                    return Ok(Some(branch));
                }
            }
            return Ok(None);
        }
        let ops = self.ops_of(at, stop);
        self.ops(ops, within, observer)
    }

    fn ops_of(&self, at: u32, stop: u32) -> std::ops::Range<usize> {
        let first = |b: u32| self.program.first.get(b as usize).copied().unwrap_or(0) as usize;
        first(at)..first(stop)
    }

    /// Executes operations; a taken branch ends them after the rest of its bundle.
    fn ops<O: Observer>(
        &mut self,
        range: std::ops::Range<usize>,
        within: Option<&Branch>,
        observer: &mut O,
    ) -> Result<Option<Branch>> {
        let program = self.program;
        let mut ops = program.ops.get(range.clone()).unwrap_or(&[]);
        let mut taken = None;
        while let Some((op, rest)) = ops.split_first() {
            ops = rest;
            if op.guarded {
                let guard = self.reg(op.guard);
                let holds = (guard & 1 == 1) != op.negated;
                self.bits = (self.bits << 1) | u64::from(holds);
                if op.code == Code::Branch && guard & ASSUMED != 0 {
                    self.out.assumed_branches += 1;
                }
                if !holds {
                    if op.code == Code::Branch {
                        self.flush();
                    }
                    continue;
                }
            }
            if pure(op, &mut self.regs) {
                continue;
            }
            if let Some(branch) = self.effect(op, observer)? {
                if within.is_some() {
                    return Err(self.nested(&branch));
                }
                // The rest of the branch's own bundle still runs.
                let over = range.end.saturating_sub(self.ops_of(branch.bundle, branch.bundle + 1).end);
                ops = ops.get(..ops.len().saturating_sub(over)).unwrap_or(&[]);
                taken = Some(branch);
            }
        }
        Ok(taken)
    }

    fn nested(&self, branch: &Branch) -> Box<Diagnostic> {
        let line = self.listing.bundles.get(branch.bundle as usize).map_or(0, |b| b.line);
        Diagnostic::request("tpu/branch-in-delay-slot", "a branch is taken in the delay slots of another")
            .at(self.listing.span(line))
            .rule("between a taken branch and its target no other branch is taken")
    }

    #[inline]
    fn reg(&self, index: u16) -> u64 {
        self.regs[usize::from(index)]
    }

    #[inline]
    fn set(&mut self, index: u16, value: u64) {
        self.regs[usize::from(index)] = value;
    }

    /// Operations that touch more than registers.
    fn effect<O: Observer>(&mut self, op: &Op, observer: &mut O) -> Result<Option<Branch>> {
        let (ra, rb) = (self.reg(op.a), self.reg(op.b));
        let (a, b) = (ra as u32, rb as u32);
        match op.code {
            Code::Load => {
                let value = match self.smem.load(a.wrapping_add(b)) {
                    Some(v) => v,
                    None => self.assume_load(op.extra),
                };
                self.set(op.dst, value | ((ra | rb) & ASSUMED));
            }
            Code::LoadCore => {
                let value = self.smem.load(a.wrapping_add(b)).unwrap_or(0);
                self.set(op.dst, value);
            }
            Code::Store => {
                let value = self.reg(op.c);
                self.smem.store(a.wrapping_add(b), value);
            }
            Code::ReadFlag => {
                let value = self.flags.get(&a).copied().unwrap_or(0) as u32;
                self.set(op.dst, u64::from(value));
            }
            Code::Outside => {
                let value = self.outside(op, observer);
                self.set(op.dst, value);
            }
            Code::Branch => {
                self.flush();
                return Ok(self.program.branches.get(op.extra as usize).copied());
            }
            Code::Dma => self.transfer(op, observer)?,
            Code::Wait => self.fact(op.extra, b, a),
            Code::SyncAdd => {
                let amount = b as i32;
                *self.flags.entry(a).or_default() += i64::from(amount);
                self.fact(op.extra, b, a);
            }
            Code::SyncSet => {
                self.flags.insert(a, i64::from(b as i32));
            }
            Code::Halt => {
                self.out.failed_checks += 1;
                if op.guarded && self.reg(op.guard) & ASSUMED == 0 {
                    self.out.certain_failed_checks += 1;
                }
            }
            Code::Call => {
                self.out.calls += 1;
                self.fact(op.extra, 0, 0);
            }
            Code::Flush => self.flush(),
            _ => {}
        }
        Ok(None)
    }

    #[inline]
    fn fact(&mut self, instr: u32, amount: u32, flag: u32) {
        let word = u64::from(instr) << 32 | u64::from(amount);
        self.hash = mix(mix(self.hash, word), u64::from(flag));
        self.facts.push(word);
        self.facts.push(u64::from(flag));
    }

    #[inline]
    fn flush(&mut self) {
        self.hash = mix(self.hash, self.bits);
        self.path.push(self.bits);
        self.bits = 1;
    }

    fn assume(&mut self, what: String, line: u32) -> u64 {
        *self.seen.entry((what, line)).or_default() += 1;
        u64::from(self.inputs.default) | ASSUMED
    }

    fn assume_load(&mut self, instr: u32) -> u64 {
        let line = self.listing.instrs.get(instr as usize).map_or(0, |i| i.line);
        self.assume("a word of scalar memory that nothing wrote".to_owned(), line)
    }

    /// Counts a run of bundles and holds the limit.
    fn count(&mut self, at: u32, stop: u32) {
        if let Some(r) = self.runs.get_mut(at as usize) {
            *r += 1;
        }
        if let Some(r) = self.runs.get_mut(stop as usize) {
            *r -= 1;
        }
        let n = u64::from(stop.saturating_sub(at));
        self.out.bundles += n;
        self.segment_bundles += n;
    }

    fn boundary<O: Observer>(&mut self, next: u32, observer: &mut O) -> Result<()> {
        self.flush();
        observer.segment(Segment {
            start: self.segment_start,
            bundles: self.segment_bundles,
            bits: &self.path,
            facts: &self.facts,
            hash: self.hash,
            next,
        })?;
        self.path.clear();
        self.facts.clear();
        self.hash = 0;
        self.segment_start = next;
        self.segment_bundles = 0;
        if self.out.bundles > self.inputs.limit {
            let line = self.listing.bundles.get(next as usize).map_or(0, |b| b.line);
            let mut d = Diagnostic::request(
                "tpu/no-end",
                format!("the program had not ended after {} bundles", self.out.bundles),
            )
            .at(self.listing.span(line))
            .rule("an execution ends within its limit of bundles")
            .help("give the scalar operands and tables that its loops depend on, or raise the limit");
            if self.out.assumed_branches > 0 {
                d = d.note(format!("{} branches were decided by assumed values", self.out.assumed_branches));
            }
            for ((what, line), count) in self.seen.iter().take(8) {
                d = d.note(format!("assumed: {what} (line {line}, {count} times)"));
            }
            return Err(d);
        }
        Ok(())
    }

    fn finish(mut self) -> Outcome {
        let mut n = 0i64;
        self.out.counts = self
            .runs
            .iter()
            .take(self.listing.bundles.len())
            .map(|d| {
                n += d;
                n.max(0) as u64
            })
            .collect();
        self.out.assumptions =
            self.seen.into_iter().map(|((what, line), count)| Assumption { what, line, count }).collect();
        self.out
    }
}
