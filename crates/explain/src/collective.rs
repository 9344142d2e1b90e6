//! What a collective costs on the links between chips.
//!
//! The model: a torus whose axes carry data at the same time; along an axis each chip has two links where the axis closes to a
//! ring and one that counts where it does not. An exchange takes the bytes that its busiest link must carry over that link's
//! bandwidth, and a latency a hop. Link bandwidths are published; the latency is assumed (see `hw`). Nothing of it was
//! measured.

use tilewright_hlo::{Array, Computation, Instruction};
use tilewright_hw::{Chip, Machine};

/// How devices are arranged: sizes along the axes, the one along which neighbours have consecutive numbers first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// Sizes.
    pub sizes: Vec<usize>,
    /// Which chip.
    pub chip: Chip,
}

/// An instruction where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Inner<'a> {
    /// Its computation.
    pub computation: &'a Computation,
    /// It.
    pub instruction: &'a Instruction,
}

/// An exchange between devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// `all-reduce`, `all-gather`, …
    pub kind: String,
    /// Bytes of the whole array as one device of a group ends (or, for a scatter, begins) with it.
    pub bytes: f64,
    /// Seconds on the links.
    pub seconds: f64,
    /// Devices of a group.
    pub devices: usize,
}

/// Opcodes of exchanges, less the `-start` of those that run beside other ops.
const KINDS: [&str; 7] = [
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
];

/// Which exchange an instruction is or starts.
pub fn kind(instruction: &Instruction) -> Option<&'static str> {
    let opcode = instruction.opcode.strip_suffix("-start").unwrap_or(&instruction.opcode);
    KINDS.into_iter().find(|k| *k == opcode)
}

/// What an exchange costs; where its text does not say between which devices it is, between all.
pub fn cost(inner: Inner<'_>, mesh: &Mesh, machine: &Machine) -> Option<Collective> {
    let Inner { computation, instruction } = inner;
    let kind = kind(instruction)?;
    let bytes = |arrays: Vec<&Array>| arrays.iter().map(|a| a.padded_bytes() as f64).sum::<f64>();
    let operands = instruction.operands.iter().filter_map(|o| computation.instruction(o));
    let given: f64 = operands.map(|o| bytes(o.shape.arrays())).sum();
    let link = machine.ici.link_bandwidth.value;
    let hop = machine.ici.hop_latency.value;
    let (axes, devices) = if kind == "collective-permute" {
        let pairs = instruction.source_target_pairs().unwrap_or_default();
        let far = pairs.iter().map(|(a, b)| mesh.distance(*a, *b)).max().unwrap_or(1);
        // Neighbours that all shift the same way share each link as often as they shift far.
        let seconds = given * far as f64 / link + far as f64 * hop;
        return Some(Collective { kind: kind.to_string(), bytes: given, seconds, devices: pairs.len() });
    } else {
        let groups = instruction.replica_groups(mesh.devices()).unwrap_or_default();
        let group = groups.into_iter().next().unwrap_or_else(|| (0..mesh.devices()).collect());
        (mesh.axes(&group), group.len())
    };
    let n = devices.max(1) as f64;
    let links: f64 = axes.iter().map(|a| a.links()).sum::<f64>().max(1.0);
    let hops: f64 = axes.iter().map(Axis::hops).sum();
    // Of an array that is whole on each device after a gather or before a scatter, each device misses this share.
    let rest = (n - 1.0) / n;
    let whole = if kind == "all-gather" { given * n } else { given };
    let pass = whole * rest / (links * link) + hops * hop;
    let seconds = match kind {
        "all-reduce" => 2.0 * pass,
        "all-to-all" | "ragged-all-to-all" => {
            let way: f64 = axes.iter().map(|a| a.mean_distance()).sum();
            given * way / (links * link) + hops * hop
        }
        _ => pass,
    };
    Some(Collective { kind: kind.to_string(), bytes: whole, seconds, devices })
}

/// The part of an axis that a group spans.
struct Axis {
    size: usize,
    ring: bool,
}

impl Axis {
    fn links(&self) -> f64 {
        if self.ring { 2.0 } else { 1.0 }
    }

    fn hops(&self) -> f64 {
        if self.ring { (self.size / 2) as f64 } else { (self.size - 1) as f64 }
    }

    /// Mean hops between two devices of it.
    fn mean_distance(&self) -> f64 {
        self.size as f64 / if self.ring { 4.0 } else { 3.0 }
    }
}

impl Mesh {
    /// Devices.
    pub fn devices(&self) -> usize {
        self.sizes.iter().product()
    }

    fn place(&self, mut device: usize) -> Vec<usize> {
        let along = self.sizes.iter().map(|&size| {
            let at = device % size.max(1);
            device /= size.max(1);
            at
        });
        along.collect()
    }

    /// Whether an axis closes to a ring: on a 2D torus only at its full 16 chips, on a 3D torus from cubes of 4 on.
    fn is_ring(&self, size: usize) -> bool {
        match self.chip {
            Chip::V5e | Chip::V6e => size == 16,
            Chip::V5p | Chip::Tpu7x => size >= 4 && size.is_multiple_of(4),
        }
    }

    /// The axes along which a group's devices differ.
    fn axes(&self, group: &[usize]) -> Vec<Axis> {
        let places: Vec<Vec<usize>> = group.iter().map(|d| self.place(*d)).collect();
        let axes = self.sizes.iter().enumerate().filter_map(|(axis, &whole)| {
            let mut at: Vec<usize> = places.iter().filter_map(|p| p.get(axis).copied()).collect();
            at.sort_unstable();
            at.dedup();
            (at.len() > 1).then(|| Axis { size: at.len(), ring: at.len() == whole && self.is_ring(whole) })
        });
        axes.collect()
    }

    /// Hops between two devices.
    fn distance(&self, a: usize, b: usize) -> usize {
        let along = self.sizes.iter().zip(self.place(a).into_iter().zip(self.place(b)));
        let hops = along.map(|(&size, (a, b))| {
            let straight = a.abs_diff(b);
            if self.is_ring(size) { straight.min(size - straight) } else { straight }
        });
        hops.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(op: &str, chip: Chip, sizes: &[usize]) -> f64 {
        let text = format!(
            "HloModule m

ENTRY %main (a: bf16[1024,1024]) -> bf16[1024,1024] {{
  %a = bf16[1024,1024]{{1,0:T(8,128)(2,1)}} parameter(0)
  ROOT %r = bf16[1024,1024]{{1,0:T(8,128)(2,1)}} {op}
}}
"
        );
        let module = tilewright_hlo::parse(&text, "t").unwrap();
        let mesh = Mesh { sizes: sizes.to_vec(), chip };
        let machine = Machine::of(chip).unwrap();
        let inner = Inner { computation: module.entry(), instruction: module.entry().root() };
        cost(inner, &mesh, machine).unwrap().seconds
    }

    /// By hand: 2 MiB over links of 50 GB/s (v5e), 1 µs a hop.
    #[test]
    fn time_is_bytes_over_links_and_hops() {
        let bytes = f64::from(1 << 21);
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} against {b}");
        let pair = "replica_groups=[2,2]<=[4], to_apply=%f";
        near(
            seconds(&format!("all-reduce(%a), {pair}"), Chip::V5e, &[2, 2]),
            2.0 * (bytes / 2.0 / 50e9 + 1e-6),
        );
        // All four chips of a 2x2: two axes at once, no rings.
        near(
            seconds("reduce-scatter(%a), replica_groups={}, dimensions={0}", Chip::V5e, &[2, 2]),
            bytes * 0.75 / 100e9 + 2e-6,
        );
        // A ring of 16: both ways.
        near(
            seconds("all-gather(%a), replica_groups=[1,16]<=[16], dimensions={0}", Chip::V6e, &[16]),
            bytes * 15.0 / 200e9 + 8e-6,
        );
        near(
            seconds("collective-permute(%a), source_target_pairs={{0,1},{1,0}}", Chip::V5e, &[2, 2]),
            bytes / 50e9 + 1e-6,
        );
    }
}
