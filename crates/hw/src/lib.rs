//! Machines as data: one file a chip under `machines/`, every number with its unit, its source and how it is known.
//!
//! A [`Machine`] has the published facts of a chip, the slots of its instruction word, and two timing models:
//! `vendor`, which follows the assumptions of libtpu's own static estimator, and `calibrated`, which is physical
//! (transfers share one memory) and fitted to published measurements.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tilewright_diag::{Diagnostic, Result};

/// A TPU generation whose listings are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chip {
    /// TPU v5e (v5 lite): four 128×128 matrix units.
    V5e,
    /// TPU v5p: four 128×128 matrix units a core.
    V5p,
    /// TPU v6e (Trillium): two 256×256 matrix units.
    V6e,
    /// TPU7x (Ironwood), one of the two cores of a chip: two 256×256 matrix units.
    Tpu7x,
}

impl Chip {
    /// Every chip, oldest first.
    pub const ALL: [Chip; 4] = [Chip::V5e, Chip::V5p, Chip::V6e, Chip::Tpu7x];

    /// The chip's name in targets and files, e.g. `v5e`.
    pub fn name(self) -> &'static str {
        match self {
            Chip::V5e => "v5e",
            Chip::V5p => "v5p",
            Chip::V6e => "v6e",
            Chip::Tpu7x => "tpu7x",
        }
    }

    /// The name of the target that makes code for it.
    pub fn target(self) -> &'static str {
        match self {
            Chip::V5e => "tpu-v5e",
            Chip::V5p => "tpu-v5p",
            Chip::V6e => "tpu-v6e",
            Chip::Tpu7x => "tpu7x",
        }
    }

    /// The chip that `name` means; a target's `tpu-` prefix is allowed (`tpu-v5e`, `v5e`, `tpu7x`).
    pub fn parse(name: &str) -> Result<Chip> {
        let short = name.strip_prefix("tpu-").unwrap_or(name);
        Chip::ALL.into_iter().find(|c| c.name() == short).ok_or_else(|| {
            Diagnostic::unknown("hw/unknown-chip", "chip", name, Chip::ALL.iter().map(|c| c.name()))
        })
    }
}

/// How a number is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The maker published it.
    Published,
    /// The vendor's compiler prints it, or it follows exactly from what it prints.
    Printed,
    /// Fitted to the rows that the source names.
    Fitted,
    /// Taken over from another chip or model; nothing measured or printed supports it yet.
    Assumed,
}

/// One number and where it comes from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// The value, in `unit`.
    pub value: f64,
    /// The unit, e.g. `cycles`, `bytes/s`.
    pub unit: String,
    /// How it is known.
    pub kind: Kind,
    /// Where it stands or which rows it was fitted to.
    pub source: String,
}

impl Number {
    /// The value rounded to whole cycles (or whatever the unit is).
    pub fn whole(&self) -> u32 {
        self.value.round().clamp(0.0, f64::from(u32::MAX)) as u32
    }
}

macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$fdoc])* pub $field: Number,)*
        }

        impl $name {
            /// Every number with its name.
            pub fn all(&self) -> Vec<(&'static str, &Number)> {
                vec![$((stringify!($field), &self.$field)),*]
            }
        }
    };
}

numbers!(
    /// Published facts of a chip, a core where a chip has several.
    Facts {
        /// Clock of the core.
        clock,
        /// Nominal bandwidth of HBM.
        hbm_bandwidth,
        /// HBM of a whole chip.
        hbm_capacity,
        /// TensorCores of a chip.
        cores,
        /// Peak of bf16 products.
        peak_bf16,
        /// Peak of 8-bit products.
        peak_8bit,
        /// Matrix units.
        mxus,
        /// Rows and columns of a matrix unit.
        mxu_size,
        /// Vector memory.
        vmem,
        /// Unit in which transfers are counted.
        granule,
    }
);

numbers!(
    /// Links between chips.
    Ici {
        /// Bandwidth of a link, one way.
        link_bandwidth,
        /// Links of a chip: two an axis of its torus.
        links,
        /// From chip to chip, before the first data.
        hop_latency,
    }
);

numbers!(
    /// Operations of each class that one bundle can hold.
    Slots {
        /// Matrix multiplies.
        matmul,
        /// Weight pushes.
        matpush,
        /// Cross-lane operations.
        xlu,
        /// Vector arithmetic.
        valu,
        /// Pops of result queues.
        vpop,
        /// Transcendentals.
        eup,
        /// Vector loads.
        vload,
        /// Vector stores.
        vstore,
        /// Scalar operations.
        salu,
    }
);

numbers!(
    /// How long results take and units stay occupied.
    Units {
        /// Scalar load to use.
        scalar_load,
        /// Scalar compare or predicate logic to use.
        compare,
        /// Scalar multiply to use.
        scalar_multiply,
        /// Vector floating-point, pack, combine or sublane rotate to use.
        vector_float,
        /// Read of a sync flag to its pop.
        sync_read,
        /// Matrix multiply of packed bf16 rows: cycles its unit is taken.
        matmul_bf16,
        /// Matrix multiply of f32 rows: cycles its unit is taken.
        matmul_f32,
        /// Matrix multiply of packed 8-bit rows: cycles its unit is taken.
        matmul_i8,
        /// Weight push: cycles the unit's weights are taken.
        matpush,
        /// Weight push that turns the tile: cycles the unit's weights are taken.
        matpush_turned,
        /// Results of 8 rows that a bf16 multiply yields.
        results_bf16,
        /// Results of 8 rows that an f32 multiply yields.
        results_f32,
        /// Results of 8 rows that an 8-bit multiply yields.
        results_i8,
        /// Matrix multiply to its first result.
        matmul_latency,
        /// The same, of matrix units 2 and 3.
        matmul_latency_far,
        /// Between the results of one multiply.
        matmul_spacing,
        /// Transpose push: cycles its unit is taken.
        transpose_occupancy,
        /// Last push of a whole transpose (128 rows at full rate) to the first result.
        transpose_latency,
        /// Between the results of one transpose.
        transpose_spacing,
        /// Store to vector memory, or end of a wait for a transfer, to a load of it.
        vmem_forward,
        /// Cross-lane operation: cycles its unit is taken.
        xlu_occupancy,
        /// Cross-lane reduction to its result.
        xlu_reduce_latency,
        /// The same, of cross-lane unit 2.
        xlu_reduce_latency_far,
        /// Cross-lane rotate, permute or broadcast to its result.
        xlu_permute_latency,
        /// The same, of cross-lane unit 2.
        xlu_permute_latency_far,
        /// Transcendental to its result.
        eup_latency,
        /// Vector value to scalar register.
        vector_to_scalar,
    }
);

numbers!(
    /// Transfers between memories. Strides cost nothing in either model: the vendor's estimator charges a transfer in runs
    /// of 512 bytes as a contiguous one (on v5e and v6e; shorter runs do not occur in tiled layouts), and no published
    /// measurement says what strides cost on a chip. The blocks of the measured matmuls on v5e are strided, in runs of 2
    /// to 16 KiB, and need no penalty.
    Dma {
        /// Start of a read of HBM to the first data.
        read_latency,
        /// Start of a read of HBM into scalar memory to the first data.
        scalar_read_latency,
        /// Cycles a granule of reads of HBM into scalar memory.
        scalar_granule_time,
        /// Start of a write of HBM to the first data.
        write_latency,
        /// Start of any other transfer to the first data.
        general_latency,
        /// Start of a transfer between vector and scalar memory to the first data.
        on_chip_latency,
        /// Cycles a granule between vector and scalar memory.
        on_chip_granule_time,
        /// Cycles a granule of reads and writes at full rate.
        granule_time,
        /// Cycles a granule of other transfers.
        general_granule_time,
    }
);

numbers!(
    /// How bundles are issued.
    Issue {
        /// Bundles after a taken branch that still run; 0 means that the listing's own marks decide (tpu7x).
        delay_slots,
        /// Cycles that an empty bundle takes.
        empty_bundle,
        /// Cycles a scalar operand of a call takes to arrive (added once each).
        scalar_operand,
    }
);

/// Whether transfers in flight share the memory's bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Every transfer has the full bandwidth to itself.
    Private,
    /// All transfers in flight share one memory.
    Shared,
}

/// One timing model of a chip.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Whether transfers share bandwidth.
    pub sharing: Sharing,
    /// Issue of bundles.
    pub issue: Issue,
    /// Latencies and occupancies.
    pub units: Units,
    /// Transfers.
    pub dma: Dma,
}

/// A chip: its facts, its instruction word and its two timing models.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Which chip.
    pub chip: Chip,
    /// Published facts.
    pub facts: Facts,
    /// Links between chips.
    pub ici: Ici,
    /// Slots of a bundle.
    pub slots: Slots,
    /// The assumptions of libtpu's own static estimator.
    pub vendor: Timing,
    /// Physical, fitted to published measurements.
    pub calibrated: Timing,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    facts: Facts,
    ici: Ici,
    slots: Slots,
    units: Units,
    vendor: Model,
    calibrated: Model,
}

/// The part of a model that is not shared between the two.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    sharing: Sharing,
    issue: Issue,
    dma: Dma,
}

impl Machine {
    /// The machine of `chip`, from the files built into the program.
    pub fn of(chip: Chip) -> Result<&'static Machine> {
        static MACHINES: [OnceLock<Result<Machine>>; 4] = [const { OnceLock::new() }; 4];
        let text = match chip {
            Chip::V5e => include_str!("../machines/v5e.toml"),
            Chip::V5p => include_str!("../machines/v5p.toml"),
            Chip::V6e => include_str!("../machines/v6e.toml"),
            Chip::Tpu7x => include_str!("../machines/tpu7x.toml"),
        };
        MACHINES[chip as usize].get_or_init(|| Machine::parse(chip, text)).as_ref().map_err(Clone::clone)
    }

    /// Reads a machine file.
    pub fn parse(chip: Chip, text: &str) -> Result<Machine> {
        let file: File = toml::from_str(text)
            .map_err(|e| Diagnostic::request("hw/bad-machine", format!("{}: {e}", chip.name())))?;
        let timing =
            |m: Model| Timing { sharing: m.sharing, issue: m.issue, units: file.units.clone(), dma: m.dma };
        Ok(Machine {
            chip,
            facts: file.facts,
            ici: file.ici,
            slots: file.slots,
            vendor: timing(file.vendor),
            calibrated: timing(file.calibrated),
        })
    }
}

#[cfg(test)]
mod tests;
