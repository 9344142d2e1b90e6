//! How many chips the compiler makes code for, and in what shape.

use std::fmt;

use serde::{Deserialize, Serialize};
use tilewright_diag::{Diagnostic, Result};
use tilewright_hw::Chip;

/// Chips in the shape of their interconnect, such as `v5e:4x4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Topology {
    /// The generation.
    pub chip: Chip,
    /// Chips along each dimension; the third is 1 where the interconnect has two.
    pub shape: [usize; 3],
}

impl Topology {
    /// The smallest topology of at least `devices` devices: a power of two along each dimension, the first dimensions the
    /// longest.
    pub fn fitting(chip: Chip, devices: usize) -> Topology {
        let mut shape = [1; 3];
        // No smaller slice of v5p can be had.
        if chip == Chip::V5p {
            shape = [2, 2, 1];
        }
        let dimensions = if is_3d(chip) { 3 } else { 2 };
        let mut topology = Topology { chip, shape };
        let mut next = 0;
        while topology.devices() < devices && topology.shape[next] < LARGEST {
            topology.shape[next] *= 2;
            next = (next + 1) % dimensions;
        }
        topology
    }

    /// How the devices that a program sees are arranged, neighbours along the first size having consecutive numbers: on
    /// tpu7x the two cores of a chip, then the chips.
    pub fn arrangement(&self) -> Vec<usize> {
        let cores = if self.chip == Chip::Tpu7x { 2 } else { 1 };
        std::iter::once(cores).chain(self.shape).collect()
    }

    /// Reads `v5e:4x4`, or `4x4` for a chip that is known.
    ///
    /// # Errors
    /// `tpu/topology`.
    pub fn parse(text: &str, chip: Chip) -> Result<Topology> {
        let wrong = |rule: &str| {
            Diagnostic::request("tpu/topology", format!("`{text}` is no topology of {}", chip.target()))
                .rule(rule)
                .help(format!("`{}`", Topology::fitting(chip, 4)))
        };
        let shape = match text.split_once(':') {
            Some((name, shape)) if name == chip.name() => shape,
            Some(_) => return Err(wrong("a topology is of the target's chips")),
            None => text,
        };
        let sizes: Option<Vec<usize>> =
            shape.split('x').map(|s| s.parse().ok().filter(|n| (1..=LARGEST).contains(n))).collect();
        match (sizes.as_deref(), is_3d(chip)) {
            (Some(&[x, y]), false) => Ok(Topology { chip, shape: [x, y, 1] }),
            (Some(&[x, y, z]), true) => Ok(Topology { chip, shape: [x, y, z] }),
            (_, false) => Err(wrong("two sizes from 1 to 64: `4x4`")),
            (_, true) => Err(wrong("three sizes from 1 to 64: `2x2x1`")),
        }
    }

    /// Chips in it.
    pub fn chips(&self) -> usize {
        self.shape.iter().product()
    }

    /// Devices that a program sees: two a chip of tpu7x. The two cores of a v5p work as one.
    pub fn devices(&self) -> usize {
        self.chips() * if self.chip == Chip::Tpu7x { 2 } else { 1 }
    }
}

/// The longest dimension.
const LARGEST: usize = 64;

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.shape;
        write!(f, "{}:{x}x{y}", self.chip.name())?;
        if is_3d(self.chip) { write!(f, "x{z}") } else { Ok(()) }
    }
}

/// Whether the chips' interconnect is a torus of three dimensions.
fn is_3d(chip: Chip) -> bool {
    matches!(chip, Chip::V5p | Chip::Tpu7x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_fits() {
        let fitting = |chip, devices| Topology::fitting(chip, devices).to_string();
        assert_eq!(fitting(Chip::V5e, 1), "v5e:1x1");
        assert_eq!(fitting(Chip::V5e, 4), "v5e:2x2");
        assert_eq!(fitting(Chip::V6e, 16), "v6e:4x4");
        assert_eq!(fitting(Chip::V6e, 5), "v6e:4x2");
        assert_eq!(fitting(Chip::Tpu7x, 2), "tpu7x:1x1x1");
        assert_eq!(fitting(Chip::Tpu7x, 8), "tpu7x:2x2x1");
        assert_eq!(fitting(Chip::V5e, usize::MAX), "v5e:64x64");
        assert_eq!(fitting(Chip::V5p, 1), "v5p:2x2x1");
    }

    #[test]
    fn topologies_are_read() {
        assert_eq!(Topology::parse("v5e:4x4", Chip::V5e).unwrap().chips(), 16);
        assert_eq!(Topology::parse("2x2x1", Chip::Tpu7x).unwrap().to_string(), "tpu7x:2x2x1");
        for (text, chip) in [("v6e:4x4", Chip::V5e), ("4", Chip::V5e), ("0x4", Chip::V5e), ("2x2", Chip::V5p)]
        {
            assert_eq!(Topology::parse(text, chip).unwrap_err().code, "tpu/topology", "{text}");
        }
    }
}
