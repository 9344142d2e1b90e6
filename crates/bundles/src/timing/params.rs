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

/// A constraint taken away, to see what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lift {
    /// Transfers take no time for their size.
    DmaBandwidth,
    /// Transfers start at once.
    DmaLatency,
    /// Spill stores and reloads take no slot; a bundle of nothing else takes no cycle.
    Spills,
    /// Operands are ready with the next bundle.
    OperandLatency,
    /// Matrix units are never taken.
    MatrixOccupancy,
    /// Matrix results are there at once.
    MatrixLatency,
    /// Transpose units and their results are there at once.
    Transpose,
    /// One more slot of a class: a bundle that holds operations of this class alone joins the one before it.
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
        let operand = |n: u64| if lifted(Lift::OperandLatency) { 1 } else { n };
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
            vmem_forward: operand(whole(&u.vmem_forward)),
            xlu: whole(&u.xlu_occupancy),
            xlu_reduce_latency: [&u.xlu_reduce_latency, &u.xlu_reduce_latency_far].map(whole),
            xlu_permute_latency: [&u.xlu_permute_latency, &u.xlu_permute_latency_far].map(whole),
            eup_latency: whole(&u.eup_latency),
            to_scalar: [whole(&u.sync_read), whole(&u.vector_to_scalar)],
            latencies: [&u.scalar_load, &u.compare, &u.scalar_multiply, &u.vector_float]
                .map(|n| operand(whole(n))),
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
            Direction::OnChip => self.on_chip,
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
