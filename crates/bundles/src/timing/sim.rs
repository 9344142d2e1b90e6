//! The clock: replays each segment of the path, bundle by bundle.

use std::collections::HashMap;

use tilewright_diag::Result;

use super::Cause;
use super::items::{Act, Item, Items, compile};
use super::params::Params;
use super::state::{SLOTS, State};
use crate::listing::Listing;
use crate::observe::{Observer, Segment};
use crate::ops::{Meaning, Slot};
use crate::program::{Program, Transfer};

/// What time an execution took, and where it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Cycles from the first bundle to the end of the last transfer that was waited for.
    pub cycles: u64,
    /// Bundles of no operation.
    pub empty: u64,
    /// Cycles in which no bundle could issue, in the order of [`Cause::ALL`].
    pub stalls: [u64; Cause::ALL.len()],
    /// Operations executed, in the order of [`Slot::ALL`].
    pub slots: [u64; Slot::ALL.len()],
    /// Vector spill stores and reloads, scalar spill stores and reloads.
    pub spills: [u64; 4],
    /// Multiplies of 8-bit, bf16 and f32 rows.
    pub multiplies: [u64; 3],
}

/// An observer that keeps time.
pub struct Simulator<'a> {
    listing: &'a Listing,
    program: &'a Program,
    params: &'a Params,
    items: Items,
    transfers: HashMap<u32, Transfer>,
    state: State,
    now: i64,
    totals: Totals,
}

impl<'a> Simulator<'a> {
    /// A clock at 0 for a program of a listing.
    pub fn new(listing: &'a Listing, program: &'a Program, params: &'a Params) -> Simulator<'a> {
        Simulator {
            listing,
            program,
            params,
            items: compile(listing, program, params),
            transfers: program.transfers.iter().map(|t| (t.instr, *t)).collect(),
            state: State::new(),
            now: 0,
            totals: Totals::default(),
        }
    }

    /// What has been seen.
    pub fn totals(&self) -> Totals {
        Totals { cycles: self.now.max(0) as u64, ..self.totals.clone() }
    }

    fn bundle(
        &mut self,
        bundle: u32,
        outcomes: &mut Outcomes<'_>,
        facts: &mut std::slice::ChunksExact<'_, u64>,
    ) -> bool {
        let b = bundle as usize;
        let at = |list: &[u32], i: usize| list.get(i).copied().unwrap_or(0) as usize;
        let guards = at(&self.program.first_guard, b + 1).saturating_sub(at(&self.program.first_guard, b));
        let mut holds = 0u64;
        for g in 0..guards.min(63) {
            holds |= u64::from(outcomes.next()) << g;
        }
        let active = |item: &Item| item.guard == 0 || holds >> (item.guard - 1) & 1 == 1;
        let (from, to) = (at(&self.items.first, b), at(&self.items.first, b + 1));
        let mut until = self.now;
        let mut cause = Cause::VectorOperand;
        let mut wait = |cycle: i64, why: Cause| {
            if cycle > until {
                (until, cause) = (cycle, why);
            }
        };
        let s = &self.state;
        for item in self.items.items.get(from..to).unwrap_or(&[]).iter().filter(|i| active(i)) {
            let unit = usize::from(item.unit) % s.mxu_free.len();
            match item.act {
                Act::Read => {
                    let scalar = item.n < 128 || item.n >= 256;
                    let why = if scalar { Cause::ScalarOperand } else { Cause::VectorOperand };
                    wait(s.ready.get(usize::from(item.n)).copied().unwrap_or(0), why);
                }
                Act::Matmul | Act::MatmulSlot => wait(s.mxu_free[unit], Cause::MatrixBusy),
                Act::MatrixPop => wait(s.matrix[unit].front().copied().unwrap_or(0), Cause::MatrixResult),
                Act::SlotPop => {
                    let slot = unit * SLOTS + usize::from(item.n) % SLOTS;
                    wait(s.slots.get(slot).copied().unwrap_or(0), Cause::MatrixResult);
                }
                Act::Transpose | Act::TransposeEnd => wait(s.xlu_free[unit], Cause::TransposeBusy),
                Act::Xlu => wait(s.xlu_free[unit], Cause::XluBusy),
                Act::TransposePop => {
                    wait(s.transposed[unit].front().copied().unwrap_or(0), Cause::TransposeResult)
                }
                Act::XluPop => wait(s.crossed[unit].front().copied().unwrap_or(0), Cause::XluResult),
                Act::EupPop => wait(s.eup.front().copied().unwrap_or(0), Cause::EupResult),
                Act::Write | Act::Eup | Act::Fact | Act::Branch | Act::Count | Act::Multiply => {}
            }
        }
        self.stall(until, cause);
        let mut taken = false;
        for i in from..to {
            let Some(item) = self.items.items.get(i).copied().filter(active) else { continue };
            match item.act {
                Act::Fact => self.fact(facts),
                Act::Branch => taken = true,
                _ => self.effect(&item),
            }
        }
        let cost = self.items.cost.get(b).copied().unwrap_or(1);
        self.totals.empty += u64::from(self.listing.bundles.get(b).is_some_and(|x| x.instrs.is_empty()));
        for (sum, n) in self.totals.slots.iter_mut().zip(self.items.slots.get(b).into_iter().flatten()) {
            *sum += u64::from(*n);
        }
        for (sum, n) in self.totals.spills.iter_mut().zip(self.items.spills.get(b).into_iter().flatten()) {
            *sum += u64::from(*n);
        }
        self.now += i64::from(cost);
        taken
    }

    fn stall(&mut self, until: i64, cause: Cause) {
        if until > self.now {
            let cycles = (until - self.now) as u64;
            if let Some(sum) =
                Cause::ALL.iter().position(|c| *c == cause).and_then(|c| self.totals.stalls.get_mut(c))
            {
                *sum += cycles;
            }
            self.now = until;
        }
    }

    /// What an operation that has issued leaves pending.
    fn effect(&mut self, item: &Item) {
        let (now, params, s) = (self.now, self.params, &mut self.state);
        let unit = usize::from(item.unit) % s.mxu_free.len();
        let results = |first: u64, n: u16, spacing: u64| {
            (0..u64::from(n)).map(move |i| now + (first + i * spacing) as i64)
        };
        match item.act {
            Act::Write => {
                if let Some(ready) = s.ready.get_mut(usize::from(item.n)) {
                    *ready = now + i64::from(item.m);
                }
            }
            Act::Matmul => {
                s.mxu_free[unit] = now + i64::from(item.m);
                s.matrix[unit].extend(results(params.matmul_latency, item.n, params.matmul_spacing));
            }
            Act::MatmulSlot => {
                s.mxu_free[unit] = now + i64::from(item.m >> 16);
                for (i, ready) in
                    results(params.matmul_latency, (item.m & 0xffff) as u16, params.matmul_spacing)
                        .enumerate()
                {
                    let slot = unit * SLOTS + (usize::from(item.n) + i) % SLOTS;
                    if let Some(place) = s.slots.get_mut(slot) {
                        *place = ready;
                    }
                }
            }
            Act::MatrixPop => drop(s.matrix[unit].pop_front()),
            Act::Transpose => s.xlu_free[unit] = now + i64::from(item.m),
            Act::TransposeEnd => {
                s.xlu_free[unit] = now + i64::from(item.m);
                s.transposed[unit].extend(results(
                    params.transpose_latency,
                    item.n,
                    params.transpose_spacing,
                ));
            }
            Act::TransposePop => drop(s.transposed[unit].pop_front()),
            Act::Xlu => {
                s.xlu_free[unit] = now + i64::from(item.m >> 16);
                s.crossed[unit].push_back(now + i64::from(item.m & 0xffff));
            }
            Act::XluPop => drop(s.crossed[unit].pop_front()),
            Act::Eup => s.eup.push_back(now + i64::from(item.m)),
            Act::EupPop => drop(s.eup.pop_front()),
            Act::Count => {
                if let Some(sum) = self.totals.slots.get_mut(usize::from(item.n)) {
                    *sum += 1;
                }
            }
            Act::Multiply => {
                if let Some(sum) = self.totals.multiplies.get_mut(usize::from(item.n)) {
                    *sum += 1;
                }
            }
            Act::Read | Act::SlotPop | Act::Fact | Act::Branch => {}
        }
    }

    /// The next fact of the path: a transfer starts, or a wait for one.
    fn fact(&mut self, facts: &mut std::slice::ChunksExact<'_, u64>) {
        let Some(&[word, flag]) = facts.next() else { return };
        let (instr, granules, flag) = ((word >> 32) as u32, word as u32, flag as u32);
        if let Some(t) = self.transfers.get(&instr) {
            let path = self.params.path(t.direction, t.general);
            self.state.memory.start(self.params, self.now, flag, granules, path);
            return;
        }
        let waits = self.listing.instrs.get(instr as usize).and_then(|i| self.listing.entry(i));
        if waits.is_some_and(|f| f.meaning == Meaning::DmaWait) {
            let until = self.state.memory.wait(self.params, self.now, flag, granules);
            self.stall(until, Cause::DmaWait);
        }
    }
}

/// The outcomes of guards along a path.
struct Outcomes<'a> {
    words: std::slice::Iter<'a, u64>,
    word: u64,
    left: u32,
}

impl Outcomes<'_> {
    fn next(&mut self) -> bool {
        while self.left == 0 {
            let Some(&word) = self.words.next() else { return false };
            (self.word, self.left) = (word, 63u32.saturating_sub(word.leading_zeros()));
        }
        self.left -= 1;
        self.word >> self.left & 1 == 1
    }
}

impl Observer for Simulator<'_> {
    const EVERY_BUNDLE: bool = false;

    fn segment(&mut self, segment: Segment<'_>) -> Result<()> {
        let mut outcomes = Outcomes { words: segment.bits.iter(), word: 0, left: 0 };
        let mut facts = segment.facts.chunks_exact(2);
        let (mut at, mut left) = (segment.start, segment.bundles);
        let mut jump: Option<(u32, u32)> = None;
        while left > 0 {
            if let Some((stop, target)) = jump
                && at >= stop
            {
                at = target;
                jump = None;
            }
            let taken = self.bundle(at, &mut outcomes, &mut facts);
            if taken
                && let Some(branch) =
                    self.program.branch_of.get(&at).and_then(|b| self.program.branches.get(*b as usize))
            {
                jump = branch.target.map(|target| (branch.stop, target));
            }
            at += 1;
            left -= 1;
        }
        Ok(())
    }
}
