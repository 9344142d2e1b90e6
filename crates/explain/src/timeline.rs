//! A program's steps one after another: what each takes, with the transfers and exchanges that run beside them.
//!
//! One clock. A copy that an op does not wait for shares the memory with the ops that follow; its end waits for what is left.
//! Exchanges between chips run one after another on the links, beside the ops.

use std::collections::BTreeMap;
use std::sync::Arc;

use tilewright_bundles::exec::Inputs;
use tilewright_bundles::listing::Listing;
use tilewright_bundles::program::Direction;
use tilewright_bundles::timing::{Background, Params, wait};
use tilewright_bundles::{Report, parse};
use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_hlo::Array;

use crate::collective::{self, Collective, Inner};
use crate::context::Context;
use crate::cost;
use crate::program::{Beside, Item, Program, Step};

/// What one execution of a step took.
#[derive(Default)]
pub struct Ran {
    /// Cycles on the program's clock, without those in which it waits for what runs beside.
    pub cycles: f64,
    /// What was simulated of it; ops of the same code, values and neighbours share one.
    pub simulated: Option<Arc<Simulated>>,
    /// The exchange that it is.
    pub exchange: Option<Collective>,
    /// Why its listing could not be simulated.
    pub fault: Option<Box<Diagnostic>>,
    /// What its time is, where it was not simulated.
    pub model: Option<&'static str>,
    /// What it waited for.
    pub ended: Vec<Ended>,
}

/// One execution of a listing.
pub struct Simulated {
    /// The listing.
    pub listing: Arc<Listing>,
    /// What was known of its values.
    pub inputs: Inputs,
    /// Transfers in flight when it began.
    pub flying: Vec<Background>,
    /// What it cost.
    pub report: Report,
}

impl Ran {
    /// Cycles on the program's clock, waits included.
    pub fn total(&self) -> f64 {
        self.cycles + self.ended.iter().map(|e| e.cycles).sum::<f64>()
    }
}

/// Something that ran beside the steps, and what was left of it to wait for.
pub struct Ended {
    /// Its name.
    pub name: String,
    /// Cycles that were waited for it.
    pub cycles: f64,
    /// Cycles that it ran beside other steps.
    pub hidden: f64,
    /// What it was.
    pub what: What,
}

/// What runs beside the steps.
#[derive(Clone, Debug)]
pub enum What {
    /// A copy.
    Copy(Copy),
    /// An exchange between devices.
    Exchange(Collective),
    /// Another core's work.
    Elsewhere,
}

impl What {
    /// What its time is.
    pub fn model(&self) -> &'static str {
        match self {
            What::Copy(_) => "a transfer beside the ops, on the same memory",
            What::Exchange(_) => LINKS,
            What::Elsewhere => {
                "another core's work: its result read once and written once over HBM bandwidth, at best"
            }
        }
    }
}

/// What an exchange's time is.
const LINKS: &str = "bytes over the links between chips";

/// A copy beside the ops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Copy {
    /// Bytes.
    pub bytes: f64,
    /// From where to where.
    pub direction: Direction,
    /// Whether the program before this one made it.
    pub prefetched: bool,
}

/// Something that runs beside the steps.
enum Flight {
    /// A transfer: its number, and cycles that it takes alone.
    Copy(Copy, u16, f64),
    /// Something with an end on the program's clock.
    Until { end: f64, cycles: f64, what: What },
}

/// Runs the items in order; for each item, what its step took.
pub fn run(program: &Program<'_>, items: &[Item<'_>], context: &Context<'_>) -> Vec<Ran> {
    let mut clock = Clock {
        program,
        context,
        now: 0.0,
        links: 0.0,
        flying: Vec::new(),
        beside: BTreeMap::new(),
        next: 0,
        simulated: BTreeMap::new(),
    };
    let mut began = Vec::with_capacity(items.len());
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        began.push(clock.now);
        let ran = match item {
            Item::Step(step) => clock.step(step),
            Item::LoopEnd { first, trips } => {
                let body = clock.now - began.get(*first).copied().unwrap_or(clock.now);
                clock.pass(body * (trips.unwrap_or(1).max(1) - 1) as f64);
                Ran::default()
            }
        };
        all.push(ran);
    }
    all
}

/// A copy that the program before this one makes runs in the time that that program leaves the memory. Taken for programs of
/// one kind, back to back: what does not fit into this one's own idle memory time is not hidden.
pub fn expose_prefetches(items: &[Item<'_>], ran: &mut [Ran], params: &Params) {
    let times = |item: &Item<'_>| match item {
        Item::Step(s) => s.count.unwrap_or(1) as f64,
        Item::LoopEnd { .. } => 0.0,
    };
    let (mut total, mut bytes) = (0.0, 0.0);
    for (item, r) in items.iter().zip(ran.iter()) {
        total += r.total() * times(item);
        let moved =
            r.simulated.as_ref().map_or(0, |s| s.report.outcome.hbm_read + s.report.outcome.hbm_written)
                as f64;
        let copied = r.ended.iter().filter_map(|e| match &e.what {
            What::Copy(copy) if !copy.prefetched => Some(copy.bytes),
            _ => None,
        });
        bytes += (moved + copied.sum::<f64>()) * times(item);
    }
    let taken = bytes / params.granule_bytes * params.path(Direction::HbmToVmem, false).granule;
    let mut idle = (total - taken).max(0.0);
    for e in ran.iter_mut().flat_map(|r| &mut r.ended) {
        if matches!(&e.what, What::Copy(copy) if copy.prefetched) {
            let exposed = (e.hidden - idle).max(0.0);
            idle = (idle - e.hidden).max(0.0);
            e.cycles += exposed;
            e.hidden -= exposed;
        }
    }
}

struct Clock<'p> {
    program: &'p Program<'p>,
    context: &'p Context<'p>,
    /// Cycles since the program's start.
    now: f64,
    /// When the links are free.
    links: f64,
    flying: Vec<Background>,
    beside: BTreeMap<String, Flight>,
    next: u16,
    /// What was simulated, by file.
    simulated: BTreeMap<String, Vec<Arc<Simulated>>>,
}

impl Clock<'_> {
    /// Time passes in which nothing new begins.
    fn pass(&mut self, cycles: f64) {
        self.now += cycles;
        self.flying = self.flying.iter().filter_map(|b| b.aged(cycles as u64)).collect();
    }

    fn step(&mut self, step: &Step<'_>) -> Ran {
        let mut ran = Ran::default();
        for name in &step.ends {
            ran.ended.extend(self.end(name));
        }
        let context = self.context;
        let exchange = |inner: Option<Inner<'_>>| collective::cost(inner?, &context.mesh, context.machine);
        if step.called {
            self.call(step, &mut ran);
        }
        if let Some(exchange) = exchange(step.exchange) {
            // The links and the core work on it together; the longer of the two decides.
            let links = exchange.seconds * context.machine.facts.clock.value;
            let more = (links - ran.cycles).max(0.0);
            ran.cycles += more;
            self.flying = self.flying.iter().filter_map(|b| b.aged(more as u64)).collect();
            ran.model = Some(LINKS);
            ran.exchange = Some(exchange);
        }
        self.now += ran.cycles;
        for beside in &step.begins {
            let flight = match exchange(beside.exchange) {
                Some(exchange) => self.on_links(exchange),
                None => self.transfer(step, beside),
            };
            self.beside.insert(beside.name.clone(), flight);
        }
        ran
    }

    fn call(&mut self, step: &Step<'_>, ran: &mut Ran) {
        let name = step.instruction.name.as_str();
        let Some((file, text)) = self.program.listing(name) else {
            // Its operands and results moved once: the least that it can take.
            let operands = step.instruction.operands.iter().filter_map(|o| step.computation.instruction(o));
            let arrays = operands.chain([step.instruction]).flat_map(|i| i.shape.arrays());
            let bytes: usize = arrays.map(|a| a.padded_bytes()).sum();
            let facts = &self.context.machine.facts;
            ran.cycles = bytes as f64 / facts.hbm_bandwidth.value * facts.clock.value;
            ran.model = Some("its operands and results, each once over HBM bandwidth");
            ran.fault = Some(
                Diagnostic::request(
                    "tpu/no-listing",
                    format!("the program calls `{name}`, of which there is no listing"),
                )
                .at(Span::file(self.program.file.to_string()))
                .rule("each op that the top level calls has a listing, or is the same as one that has"),
            );
            return;
        };
        let inputs = self.context.inputs(self.program, step);
        match self.simulate(file, text, inputs) {
            Ok(simulated) => {
                ran.cycles = simulated.report.cycles as f64;
                self.flying.clone_from(&simulated.report.flying);
                ran.simulated = Some(simulated);
            }
            Err(fault) => {
                // Each bundle once: no more is known.
                let bundles = text.lines().filter(|l| l.trim_start().starts_with("0x")).count();
                ran.cycles = bundles as f64;
                self.flying = self.flying.iter().filter_map(|b| b.aged(bundles as u64)).collect();
                ran.model = Some("the bundles of its listing, each once");
                ran.fault = Some(fault);
            }
        }
    }

    fn simulate(&mut self, file: &str, text: &str, inputs: Inputs) -> Result<Arc<Simulated>> {
        let known = self.simulated.entry(file.to_string()).or_default();
        if let Some(same) = known.iter().find(|s| s.flying == self.flying && s.inputs == inputs) {
            return Ok(Arc::clone(same));
        }
        let listing = match known.first() {
            Some(s) => Arc::clone(&s.listing),
            None => Arc::new(parse(text.to_string(), file, self.context.machine.chip)?),
        };
        let report = cost::of(&listing, self.context.model, &[], &inputs, &self.flying)?;
        let simulated = Arc::new(Simulated { listing, inputs, flying: self.flying.clone(), report });
        known.push(Arc::clone(&simulated));
        Ok(simulated)
    }

    /// Exchanges take the links one after another.
    fn on_links(&mut self, exchange: Collective) -> Flight {
        let cycles = exchange.seconds * self.context.machine.facts.clock.value;
        let end = self.now.max(self.links) + cycles;
        self.links = end;
        Flight::Until { end, cycles, what: What::Exchange(exchange) }
    }

    fn transfer(&mut self, step: &Step<'_>, beside: &Beside<'_>) -> Flight {
        let machine = self.context.machine;
        let bytes: usize = beside.done.shape.arrays().iter().map(|a| a.padded_bytes()).sum();
        let opcode = step.instruction.opcode.as_str();
        if ["copy-start", "slice-start"].contains(&opcode) || is_copy(self.program, step) {
            let from = step.instruction.operands.first().and_then(|o| step.computation.instruction(o));
            let from = from.and_then(|i| i.shape.array()).map_or(0, space);
            let to = beside.done.shape.array().map_or(0, space);
            let copy = Copy {
                bytes: bytes as f64,
                direction: direction(from, to),
                prefetched: step.instruction.attribute("cross_program_prefetch_index").is_some(),
            };
            self.next = self.next.wrapping_add(1);
            let flight = Background::new(&self.context.params, self.next, copy.direction, bytes as u64);
            if !copy.prefetched {
                self.flying.push(flight);
            }
            return Flight::Copy(copy, self.next, flight.alone() as f64);
        }
        // Another core's work (gathers on SparseCores): what it yields is read once and written once, at best.
        let cycles = 2.0 * bytes as f64 / machine.facts.hbm_bandwidth.value * machine.facts.clock.value;
        Flight::Until { end: self.now + cycles, cycles, what: What::Elsewhere }
    }

    /// Waits for something that runs beside.
    fn end(&mut self, name: &str) -> Option<Ended> {
        let (cycles, alone, what) = match self.beside.remove(name)? {
            Flight::Copy(copy, id, alone) => {
                let (cycles, flying) = wait(&self.context.params, &self.flying, id);
                self.flying = flying;
                (cycles as f64, alone, What::Copy(copy))
            }
            Flight::Until { end, cycles, what } => {
                let left = (end - self.now).max(0.0);
                self.flying = self.flying.iter().filter_map(|b| b.aged(left as u64)).collect();
                (left, cycles, what)
            }
        };
        self.now += cycles;
        Some(Ended { name: name.to_string(), cycles, hidden: (alone - cycles).max(0.0), what })
    }
}

/// Whether an `async-start` only moves data.
fn is_copy(program: &Program<'_>, step: &Step<'_>) -> bool {
    let called = step.instruction.called("calls").or(step.instruction.called("called_computation"));
    let root = called.and_then(|c| program.module.computation(c)).map(|c| c.root().opcode.as_str());
    root.is_some_and(|r| ["copy", "slice", "dynamic-slice", "dynamic-update-slice", "bitcast"].contains(&r))
}

fn space(array: &Array) -> usize {
    array.layout.as_ref().map_or(0, |l| l.memory_space)
}

/// The way between two memories, as XLA numbers them.
fn direction(from: usize, to: usize) -> Direction {
    const HBM: usize = 0;
    const VMEM: usize = 1;
    const SMEM: usize = 6;
    match (from, to) {
        (HBM, VMEM) => Direction::HbmToVmem,
        (VMEM, HBM) => Direction::VmemToHbm,
        (HBM, SMEM) => Direction::HbmToSmem,
        (SMEM, HBM) => Direction::SmemToHbm,
        (HBM, HBM) => Direction::HbmToHbm,
        (VMEM | SMEM, VMEM | SMEM) => Direction::OnChip,
        _ => Direction::Host,
    }
}
