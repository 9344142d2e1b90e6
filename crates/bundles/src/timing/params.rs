//! The numbers of a timing model, resolved for one chip, with constraints lifted where asked.

use tilewright_diag::Result;
use tilewright_hw::{Chip, Machine, Sharing, Timing};

use crate::ops::{Latency, RowBits, Slot};
use crate::program::{Direction, Shadow};

/// Which of a machine's timing models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Model {
    /// The assumptions of libtpu's own static estimator.
    Vendor,
    /// Physical: shared memory bandwidth, real delay slots.
    Calibrated,
}

/// A constraint taken away, to see what it costs. Where transfers share one memory, one that starts earlier can make
/// another end later: a program may then take a little longer (0.3 % at most was seen) without a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lift {
    /// Transfers take no time for their size.
    DmaBandwidth,
    /// Transfers start at once.
    DmaLatency,
    /// Spill stores and reloads take no slot; a bundle of nothing else takes no cycle.
    Spills,
    /// Operands are ready with the next bundle: [`Lift::ScalarLatency`] and [`Lift::VectorLatency`] together.
    OperandLatency,
    /// Results of the scalar side, loads from scalar memory and what it pops included, are ready with the next bundle.
    ScalarLatency,
    /// Results of vector arithmetic, and what vector stores and transfers leave in vector memory, are ready with the next
    /// bundle.
    VectorLatency,
    /// Matrix units are never taken.
    MatrixOccupancy,
    /// Matrix results are there at once.
    MatrixLatency,
    /// Transpose units and their results are there at once.
    Transpose,
    /// Cross-lane reductions, permutes and broadcasts take no time of their units, and their results are there at once.
    CrossLane,
    /// Transcendental results are there at once.
    Transcendental,
    /// One more slot of a class: a bundle joins the one before it where both together need one slot more of this class than
    /// there are, and no more of any other. A lower bound of what the slot would save: operations move by one bundle at
    /// most and keep their order, where a compiler that has the slot would schedule anew.
    ExtraSlot(Slot),
}

/// A direction's part of the cost of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Cycles before the first data.
    pub latency: f64,
    /// Cycles a granule.
    pub granule: f64,
}

/// Resolved numbers, in cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The chip.
    pub chip: Chip,
    /// Bytes of a granule.
    pub granule_bytes: f64,
    /// Whether transfers share bandwidth.
    pub shared: bool,
    /// Delay slots.
    pub shadow: Shadow,
    /// Cost of an empty bundle.
    pub empty: u64,
    /// Cost of a scalar operand of the program.
    pub call_operand: u64,
    /// Operations of each class that a bundle holds, in the order of [`Slot::ALL`].
    pub slots: [u32; 9],
    /// Matrix units.
    pub mxus: usize,
    /// Occupancy of a multiply of 8-bit, bf16 and f32 rows.
    pub matmul: [u64; 3],
    /// Weight push, plain and turned.
    pub matpush: [u64; 2],
    /// Results of a multiply of 8-bit, bf16 and f32 rows.
    pub results: [u64; 3],
    /// Multiply to first result, of units 0 and 1 and of units 2 and 3.
    pub matmul_latency: [u64; 2],
    /// Between results of a multiply.
    pub matmul_spacing: u64,
    /// Transpose push.
    pub transpose: u64,
    /// Last push of a whole transpose to its first result.
    pub transpose_latency: u64,
    /// Between results of a transpose.
    pub transpose_spacing: u64,
    /// Store, or end of a wait, to a load of vector memory.
    pub vmem_forward: u64,
    /// Cross-lane push.
    pub xlu: u64,
    /// Reduction to result, of units 0 and 1 and of unit 2.
    pub xlu_reduce_latency: [u64; 2],
    /// Permute to result, of units 0 and 1 and of unit 2.
    pub xlu_permute_latency: [u64; 2],
    /// Transcendental to result.
    pub eup_latency: u64,
    /// Sync flag or vector element to its pop.
    pub to_scalar: [u64; 2],
    latencies: [u64; 4],
    read: Path,
    scalar_read: Path,
    write: Path,
    on_chip: Path,
    general: Path,
    /// Constraints taken away.
    pub lifts: Vec<Lift>,
}

impl Params {
    /// The numbers of `model` for `chip`.
    pub fn new(chip: Chip, model: Model, lifts: &[Lift]) -> Result<Params> {
        let machine = Machine::of(chip)?;
        let timing = match model {
            Model::Vendor => &machine.vendor,
            Model::Calibrated => &machine.calibrated,
        };
        Ok(Params::from_timing(machine, timing, lifts))
    }

    /// The numbers of any timing for a machine.
    pub fn from_timing(machine: &Machine, timing: &Timing, lifts: &[Lift]) -> Params {
        let lifted = |l: Lift| lifts.contains(&l);
        let u = &timing.units;
        let whole = |n: &tilewright_hw::Number| u64::from(n.whole());
        let unless = |l: Lift, n: u64| if lifted(l) { 0 } else { n };
        let d = &timing.dma;
        let path = |latency: &tilewright_hw::Number, granule: &tilewright_hw::Number| Path {
            latency: if lifted(Lift::DmaLatency) { 0.0 } else { latency.value },
            granule: if lifted(Lift::DmaBandwidth) { 0.0 } else { granule.value },
        };
        let ready = |l: Lift, n: u64| if lifted(l) || lifted(Lift::OperandLatency) { n.min(1) } else { n };
        let scalar = |n: &tilewright_hw::Number| ready(Lift::ScalarLatency, whole(n));
        let vector = |n: &tilewright_hw::Number| ready(Lift::VectorLatency, whole(n));
        let slots = &machine.slots;
        Params {
            chip: machine.chip,
            granule_bytes: machine.facts.granule.value.max(1.0),
            shared: timing.sharing == Sharing::Shared,
            shadow: match timing.issue.delay_slots.whole() {
                0 => Shadow::Marks,
                n => Shadow::Fixed(n),
            },
            empty: whole(&timing.issue.empty_bundle),
            call_operand: whole(&timing.issue.scalar_operand),
            slots: [
                &slots.matmul,
                &slots.matpush,
                &slots.xlu,
                &slots.valu,
                &slots.vpop,
                &slots.eup,
                &slots.vload,
                &slots.vstore,
                &slots.salu,
            ]
            .map(tilewright_hw::Number::whole),
            mxus: machine.facts.mxus.whole() as usize,
            matmul: [&u.matmul_i8, &u.matmul_bf16, &u.matmul_f32]
                .map(|n| unless(Lift::MatrixOccupancy, whole(n))),
            matpush: [&u.matpush, &u.matpush_turned].map(|n| unless(Lift::MatrixOccupancy, whole(n))),
            results: [&u.results_i8, &u.results_bf16, &u.results_f32].map(whole),
            matmul_latency: [&u.matmul_latency, &u.matmul_latency_far]
                .map(|n| unless(Lift::MatrixLatency, whole(n))),
            matmul_spacing: unless(Lift::MatrixLatency, whole(&u.matmul_spacing)),
            transpose: unless(Lift::Transpose, whole(&u.transpose_occupancy)),
            transpose_latency: unless(Lift::Transpose, whole(&u.transpose_latency)),
            transpose_spacing: unless(Lift::Transpose, whole(&u.transpose_spacing)),
            vmem_forward: vector(&u.vmem_forward),
            xlu: unless(Lift::CrossLane, whole(&u.xlu_occupancy)),
            xlu_reduce_latency: [&u.xlu_reduce_latency, &u.xlu_reduce_latency_far]
                .map(|n| unless(Lift::CrossLane, whole(n))),
            xlu_permute_latency: [&u.xlu_permute_latency, &u.xlu_permute_latency_far]
                .map(|n| unless(Lift::CrossLane, whole(n))),
            eup_latency: unless(Lift::Transcendental, whole(&u.eup_latency)),
            to_scalar: [scalar(&u.sync_read), scalar(&u.vector_to_scalar)],
            latencies: [
                scalar(&u.scalar_load),
                scalar(&u.compare),
                scalar(&u.scalar_multiply),
                vector(&u.vector_float),
            ],
            read: path(&d.read_latency, &d.granule_time),
            scalar_read: path(&d.scalar_read_latency, &d.granule_time),
            write: path(&d.write_latency, &d.granule_time),
            on_chip: path(&d.on_chip_latency, &d.granule_time),
            general: path(&d.general_latency, &d.general_granule_time),
            lifts: lifts.to_vec(),
        }
    }

    /// Whether a constraint is lifted.
    pub fn lifted(&self, lift: Lift) -> bool {
        self.lifts.contains(&lift)
    }

    /// Cycles from issue to the first use of a result.
    pub fn latency(&self, latency: Latency) -> u64 {
        let [load, compare, multiply, float] = self.latencies;
        match latency {
            Latency::One => 1,
            Latency::ScalarLoad => load,
            Latency::Compare => compare,
            Latency::ScalarMultiply => multiply,
            Latency::VectorFloat => float,
        }
    }

    /// The cost of a transfer.
    pub fn path(&self, direction: Direction, general: bool) -> Path {
        match direction {
            _ if general => self.general,
            Direction::HbmToVmem => self.read,
            Direction::HbmToSmem => self.scalar_read,
            Direction::VmemToSmem | Direction::OnChip => self.on_chip,
            Direction::VmemToHbm | Direction::SmemToHbm => self.write,
            _ => self.general,
        }
    }

    /// The cost of a wait whose flag no transfer counts.
    pub fn unknown_path(&self) -> Path {
        self.general
    }

    /// Index of a row width in [`Params::matmul`] and [`Params::results`].
    pub fn row(bits: RowBits) -> usize {
        match bits {
            RowBits::B8 => 0,
            RowBits::B16 => 1,
            RowBits::B32 => 2,
        }
    }
}
