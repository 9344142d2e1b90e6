//! What comes from outside the listing: operands, tables, and transfers that bring them.

use tilewright_diag::Result;
use tilewright_hw::Chip;

use super::Machine;
use crate::observe::{Observer, Started};
use crate::program::{Direction, Op, Operand, Source};

/// Words of scalar memory that one transfer changes at most: more than a chip has.
const LARGEST_TABLE: u32 = 1 << 19;

impl Machine<'_> {
    pub(super) fn outside<O: Observer>(&mut self, op: &Op, observer: &mut O) -> u64 {
        let program = self.program;
        let Some(source) = program.outside.get(op.extra as usize) else { return 0 };
        match source {
            Source::Address { index, .. } => {
                let operand = program.operands.iter().find(|o| o.index == *index);
                u64::from(operand.map_or(0, |o| o.address))
            }
            Source::Scalar { index } => match self.inputs.scalars.get(index) {
                Some(v) => u64::from(*v),
                None => self.assume(format!("scalar operand {index}"), 0),
            },
            Source::Vector { line } => match observer.vector_value(source, op) {
                Some(v) => u64::from(v),
                None => self.assume("a vector element".to_owned(), *line),
            },
            Source::Loader { line } => self.assume("a value of the loader".to_owned(), *line),
        }
    }

    pub(super) fn transfer<O: Observer>(&mut self, op: &Op, observer: &mut O) -> Result<()> {
        let program = self.program;
        let Some(t) = program.transfers.get(op.extra as usize) else { return Ok(()) };
        let (granules, flag) = (self.reg(t.size) as u32, self.reg(t.flag) as u32);
        *self.flags.entry(flag).or_default() += i64::from(granules);
        self.out.transfers += 1;
        let bytes = u64::from(granules) * 32;
        self.out.hbm_read += if t.direction.reads_hbm() { bytes } else { 0 };
        self.out.hbm_written += if t.direction.writes_hbm() { bytes } else { 0 };
        self.fact(t.instr, granules, flag);
        let from = match t.direction {
            Direction::HbmToSmem => "hbm",
            Direction::VmemToSmem => "vmem",
            _ => "",
        };
        if !from.is_empty() {
            self.table(from, self.reg(t.src) as u32, self.reg(t.dst) as u32, granules);
        }
        if O::EVERY_BUNDLE {
            observer.transfer(Started {
                transfer: t,
                src: self.reg(t.src) as u32,
                dst: self.reg(t.dst) as u32,
                granules,
                flag,
                strides: t.strides.map(|s| s.map(|r| self.reg(r) as u32)),
            })?;
        }
        Ok(())
    }

    /// What a transfer from `space` does to scalar memory: words of a known table come in, and what else was there is
    /// not known any more.
    fn table(&mut self, space: &str, src: u32, dst: u32, granules: u32) {
        let inputs = self.inputs;
        let count = granules.min(LARGEST_TABLE / 8) * 8;
        self.smem.forget(dst, count);
        for operand in self.program.operands.iter().filter(|o| o.space == space) {
            let Some(words) = inputs.tables.get(&operand.index) else { continue };
            let offset = src.wrapping_sub(transfer_address(operand, self.listing.chip)) as usize * 8;
            for (i, word) in words.iter().skip(offset).take(count as usize).enumerate() {
                self.smem.store(dst.wrapping_add(i as u32), u64::from(*word));
            }
        }
    }

    /// Tables of operands that are in scalar memory from the start.
    pub(super) fn preload(&mut self) {
        for operand in self.program.operands.iter().filter(|o| o.space == "smem") {
            let words = self.inputs.tables.get(&operand.index).map_or(&[][..], Vec::as_slice);
            for (i, word) in words.iter().take(LARGEST_TABLE as usize).enumerate() {
                self.smem.store(operand.address.wrapping_add(i as u32), u64::from(*word));
            }
        }
    }
}

/// The address of an operand in HBM or vector memory as transfers get it: the listing shifts an address of 512-byte units
/// before.
fn transfer_address(operand: &Operand, chip: Chip) -> u32 {
    match (operand.space.as_str(), chip) {
        ("hbm", Chip::V5p | Chip::V6e | Chip::Tpu7x) => operand.address,
        _ => operand.address.wrapping_mul(16),
    }
}
