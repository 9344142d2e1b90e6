//! The simulator: replays segments, and remembers what they cost from which state.

use std::collections::VecDeque;

use tilewright_diag::Result;

use super::Cause;
use super::background::Background;
use super::bits::Bits;
use super::delta::Delta;
use super::items::{self, Act, Item, Items};
use super::params::{Params, Path};
use super::state::{SLOTS, State, UNITS};
use crate::hash::FastMap;
use crate::listing::Listing;
use crate::observe::{Observer, Segment};
use crate::program::Program;

/// Words of remembered states and paths before the simulator stops remembering more (8 bytes each).
const MEMORY: usize = 32 << 20;

/// So many new states in a row, and the simulator stops naming them for [`REST`] segments: some code never repeats.
const PATIENCE: u32 = 1024;
/// See [`PATIENCE`].
const REST: u32 = 4096;

/// From one state along one path to another.
struct Transition {
    bits: Box<[u64]>,
    facts: Box<[u64]>,
    delta: Delta,
    next: u32,
    hits: u64,
}

/// The observer that keeps time.
pub struct Simulator<'p> {
    listing: &'p Listing,
    program: &'p Program,
    params: Params,
    items: Items,
    state: State,
    now: i64,
    /// The known state that the machine is in, if it is a known one.
    at: Option<u32>,
    /// Whether `state` holds it, or only its number does.
    held: bool,
    states: Vec<Box<[u64]>>,
    ids: FastMap<Box<[u64]>, u32>,
    transitions: Vec<Transition>,
    known: FastMap<u64, Vec<u32>>,
    remembered: usize,
    remember: bool,
    /// New states in a row.
    news: u32,
    /// Segments for which no state is named.
    rest: u32,
    scratch: Vec<u64>,
    /// The segment at hand.
    delta: Delta,
    /// What no transition remembers.
    total: Delta,
    outcomes: u64,
    stalls: Vec<[u64; 11]>,
    /// Bundles that were simulated one by one.
    pub simulated: u64,
}

impl<'p> Simulator<'p> {
    /// A simulator of `program` with the numbers of `params`. Without `remember`, every bundle is simulated.
    pub fn new(listing: &'p Listing, program: &'p Program, params: Params, remember: bool) -> Self {
        let items = items::compile(listing, program, &params);
        let mut sim = Simulator {
            listing,
            program,
            items,
            state: State::new(),
            now: 0,
            at: None,
            held: true,
            states: Vec::new(),
            ids: FastMap::default(),
            transitions: Vec::new(),
            known: FastMap::default(),
            remembered: 0,
            remember,
            news: 0,
            rest: 0,
            scratch: Vec::new(),
            delta: Delta::default(),
            total: Delta::default(),
            outcomes: 0,
            stalls: vec![[0; 11]; listing.bundles.len()],
            simulated: 0,
            params,
        };
        sim.at = sim.name_state();
        sim
    }

    /// Takes up transfers that are in flight as the execution starts; shared memory only.
    pub fn resume(&mut self, flying: &[Background]) {
        self.state.memory.resume(flying);
        self.at = if self.remembers() { self.name_state() } else { None };
    }

    /// What is left of them now.
    pub fn pause(&mut self) -> Vec<Background> {
        self.hold();
        self.state.memory.advance(self.now);
        self.state.memory.pause(self.now)
    }

    /// While another's transfer uses the memory, no state repeats.
    fn remembers(&self) -> bool {
        self.remember && !self.state.memory.is_shared_with_background()
    }

    /// What each bundle means for time.
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// The numbers in use.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The whole cost, and the stalls of each bundle by cause.
    pub fn finish(mut self) -> (Delta, Vec<[u64; 11]>, Items) {
        let mut total = std::mem::take(&mut self.total);
        for t in &self.transitions {
            total.add(&t.delta, t.hits);
            t.delta.spread(&mut self.stalls, t.hits);
        }
        (total, self.stalls, self.items)
    }

    /// The number of the present state; `None` once no more are remembered.
    fn name_state(&mut self) -> Option<u32> {
        if self.rest > 0 {
            self.rest -= 1;
            return None;
        }
        let mut words = std::mem::take(&mut self.scratch);
        self.state.save(&self.params, self.now, &mut words);
        let known = self.ids.get(words.as_slice()).copied();
        let id = match known {
            Some(id) => {
                self.news = 0;
                Some(id)
            }
            None if self.remembered + words.len() * 2 > MEMORY => None,
            None => {
                let id = self.states.len() as u32;
                self.remembered += words.len() * 2;
                self.ids.insert(words.as_slice().into(), id);
                self.states.push(words.as_slice().into());
                self.news += 1;
                if self.news >= PATIENCE {
                    (self.news, self.rest) = (0, REST);
                }
                Some(id)
            }
        };
        self.scratch = words;
        id
    }

    /// Sees to it that `state` holds the present state.
    fn hold(&mut self) {
        if !self.held {
            if let Some(words) = self.at.and_then(|id| self.states.get(id as usize)) {
                self.state.load(&self.params, self.now, words);
            }
            self.held = true;
        }
    }

    /// Replays a segment bundle by bundle.
    fn replay(&mut self, segment: &Segment<'_>) {
        self.hold();
        self.delta.clear();
        let start = self.now;
        let mut path = Bits::new(segment.bits);
        let mut facts = segment.facts.chunks_exact(2);
        let mut bundle = segment.start;
        let mut jump: Option<(u32, u32)> = None;
        let mut starts = Vec::new();
        for _ in 0..segment.bundles {
            if self.bundle(bundle, &mut path, &mut facts, &mut starts)
                && let Some(branch) =
                    self.program.branch_of.get(&bundle).and_then(|b| self.program.branches.get(*b as usize))
            {
                jump = branch.target.map(|t| (branch.stop, t));
            }
            bundle += 1;
            if let Some((stop, target)) = jump
                && bundle == stop
            {
                bundle = target;
                jump = None;
            }
        }
        self.delta.cycles = (self.now - start) as u64;
        self.simulated += segment.bundles;
    }

    /// One bundle; true where its branch is taken.
    fn bundle<'f>(
        &mut self,
        bundle: u32,
        path: &mut Bits<'_>,
        facts: &mut impl Iterator<Item = &'f [u64]>,
        starts: &mut Vec<(u32, u32, Path)>,
    ) -> bool {
        let b = bundle as usize;
        let at = |list: &[u32], i: usize| list.get(i).copied().unwrap_or(0) as usize;
        let guards = at(&self.program.first_guard, b + 1) - at(&self.program.first_guard, b);
        self.outcomes = path.take(guards as u32);
        let (first, effects, end) =
            (at(&self.items.first, b), at(&self.items.effects, b), at(&self.items.first, b + 1));
        let holds = |outcomes: u64, item: &Item| {
            item.guard == 0 || (outcomes >> (guards as u32 - u32::from(item.guard)).min(63)) & 1 == 1
        };
        let due = self.now;
        let mut issue = due;
        let decide = self.items.items.get(first..effects).unwrap_or(&[]);
        for item in decide {
            if !holds(self.outcomes, item) {
                continue;
            }
            let unit = usize::from(item.unit) % UNITS;
            let (ready, cause) = match item.act {
                Act::Read => {
                    let ready = self.state.ready.get(usize::from(item.n)).copied().unwrap_or(0);
                    if ready <= issue {
                        continue;
                    }
                    (
                        ready,
                        if item.n < 128 || (256..items::WAITED).contains(&item.n) {
                            Cause::ScalarOperand
                        } else {
                            Cause::VectorOperand
                        },
                    )
                }
                Act::NeedMatrix => (self.state.mxu_free.get(unit).copied().unwrap_or(0), Cause::MatrixBusy),
                Act::NeedWeights => (self.state.push_free.get(unit).copied().unwrap_or(0), Cause::MatrixBusy),
                Act::NeedXlu => {
                    let free = self.state.xlu_free.get(unit).copied().unwrap_or(0);
                    let start = self.state.transpose_free.get(unit).copied().unwrap_or(0);
                    match item.n {
                        0 => (free, Cause::XluBusy),
                        1 => (free, Cause::TransposeBusy),
                        _ => (free.max(start), Cause::TransposeBusy),
                    }
                }
                Act::MatrixPop => {
                    (pop(self.state.matrix.get_mut(unit), &mut self.delta), Cause::MatrixResult)
                }
                Act::SlotPop => (
                    self.state.slots.get(unit * SLOTS + usize::from(item.n) % SLOTS).copied().unwrap_or(0),
                    Cause::MatrixResult,
                ),
                Act::TransposePop => {
                    (pop(self.state.transposed.get_mut(unit), &mut self.delta), Cause::TransposeResult)
                }
                Act::XluPop => (pop(self.state.crossed.get_mut(unit), &mut self.delta), Cause::XluResult),
                Act::EupPop => (pop(Some(&mut self.state.eup), &mut self.delta), Cause::EupResult),
                Act::Start => {
                    let (granules, flag) = fact(facts.next());
                    if let Some(t) = self.program.transfers.get(item.m as usize) {
                        let mut path = self.params.path(t.direction, t.general);
                        if !self.params.shared && t.direction.fills_smem() {
                            // Scalar memory takes what one flag counts in turn.
                            let before = self.state.memory.flights.iter().filter(|f| f.flag == flag);
                            path.latency += path.granule * before.map(|f| f64::from(f.granules)).sum::<f64>();
                        }
                        starts.push((flag, granules, path));
                    }
                    continue;
                }
                Act::Add => {
                    let (amount, flag) = fact(facts.next());
                    if amount as i32 > 0 {
                        self.state.memory.credit(issue, flag, amount);
                    }
                    continue;
                }
                Act::Call => {
                    facts.next();
                    continue;
                }
                Act::Wait => {
                    let (granules, flag) = fact(facts.next());
                    if !self.state.memory.flights.iter().any(|f| f.flag == flag) {
                        self.delta.waits_for_nothing += 1;
                    }
                    (self.state.memory.wait(&self.params, issue, flag, granules), Cause::DmaWait)
                }
                _ => continue,
            };
            if ready > issue {
                let cycles = (ready - issue) as u64;
                if let Some(n) = self.delta.stalls.get_mut(cause as usize) {
                    *n += cycles;
                }
                self.delta.by_bundle.push((bundle, cause as u8, cycles as u32));
                issue = ready;
            }
        }
        let mut taken = false;
        for item in self.items.items.get(effects..end).unwrap_or(&[]) {
            if !holds(self.outcomes, item) {
                continue;
            }
            taken |= self.state.effect(item, issue, &self.params, &mut self.delta);
        }
        for (flag, granules, path) in starts.drain(..) {
            self.state.memory.start(&self.params, issue, flag, granules, path);
        }
        self.now = issue + i64::from(self.items.cost.get(b).copied().unwrap_or(1));
        taken
    }
}

/// Granules and flag of a fact.
fn fact(words: Option<&[u64]>) -> (u32, u32) {
    match words {
        Some([first, flag]) => (*first as u32, *flag as u32),
        _ => (0, 0),
    }
}

/// The time of a queue's next result.
fn pop(queue: Option<&mut VecDeque<i64>>, delta: &mut Delta) -> i64 {
    match queue.and_then(VecDeque::pop_front) {
        Some(t) => t,
        None => {
            delta.underflows += 1;
            0
        }
    }
}

impl Observer for Simulator<'_> {
    const EVERY_BUNDLE: bool = false;

    fn segment(&mut self, segment: Segment<'_>) -> Result<()> {
        let key = |at: u32| {
            use crate::hash::mix;
            mix(mix(segment.hash, u64::from(segment.start)), u64::from(at))
        };
        let from = self.at.filter(|_| self.remember);
        if let Some(from) = from
            && let Some(list) = self.known.get(&key(from))
        {
            for id in list {
                if let Some(t) = self.transitions.get_mut(*id as usize)
                    && *t.bits == *segment.bits
                    && *t.facts == *segment.facts
                {
                    t.hits += 1;
                    self.now += t.delta.cycles as i64;
                    self.at = Some(t.next);
                    self.held = false;
                    return Ok(());
                }
            }
        }
        self.replay(&segment);
        let next = if self.remembers() { self.name_state() } else { None };
        match (from, next) {
            (Some(from), Some(next)) => {
                self.remembered +=
                    segment.bits.len() + segment.facts.len() + self.delta.by_bundle.len() * 2 + 64;
                self.known.entry(key(from)).or_default().push(self.transitions.len() as u32);
                self.transitions.push(Transition {
                    bits: segment.bits.into(),
                    facts: segment.facts.into(),
                    delta: self.delta.clone(),
                    next,
                    hits: 1,
                });
            }
            _ => {
                self.total.add(&self.delta, 1);
                self.delta.spread(&mut self.stalls, 1);
            }
        }
        self.at = next;
        Ok(())
    }
}

impl Simulator<'_> {
    /// The listing that is simulated.
    pub fn listing(&self) -> &Listing {
        self.listing
    }
}
