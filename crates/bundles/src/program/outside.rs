//! What reaches beyond registers: operands of the program, branches, transfers.

use tilewright_diag::{Diagnostic, Result};
use tilewright_hw::Chip;

use super::lower::{Lower, Pending, guarded, plain};
use super::shadow::Shadows;
use super::shape::shape_bytes;
use super::{Branch, Code, Direction, Index, Operand as ProgramOperand, Source, Transfer};
use crate::listing::{Instr, Mark, Operand};

/// First row of vector memory for operands: allocations lie below.
pub(super) const FIRST_ROW: u32 = 0x0800_0000;
/// The last row whose address in granules fits a register.
const LAST_ROW: u32 = 0x0fff_ffff;

impl Lower<'_> {
    /// An operand of the program: its address or its value.
    pub(super) fn input(
        &mut self,
        at: u32,
        instr: &Instr,
        dst: Option<Index>,
        pending: &mut Vec<Pending>,
    ) -> Result<()> {
        let attributes = self.listing.slice(&instr.attributes);
        let field = |name: &str| attributes.split_once(name).map(|(_, rest)| rest);
        // A table of all operands' addresses, which stands for them where they are many, has the index -1.
        let index = field("index: ").and_then(|r| r.split([',', ']']).next()).and_then(|n| match n.trim() {
            "-1" => Some(u32::MAX),
            n => n.parse().ok(),
        });
        let (Some(index), Some(shape)) =
            (index, field("shape: ").and_then(|r| r.split_once(", index").map(|x| x.0)))
        else {
            return Err(Diagnostic::request("tpu/bad-operands", "an operand without shape and index")
                .at(self.listing.span(instr.line))
                .rule("`inlined_call_operand` says `[shape: …, index: …, kind: …]`"));
        };
        let name = self.listing.name(instr);
        let space = name.strip_prefix("inlined_call_operand.").filter(|s| !s.starts_with('<')).unwrap_or("");
        let output = attributes.contains("kind: output");
        let shape = shape.to_owned();
        let (space, source) = (
            space.to_owned(),
            match space {
                "" => Source::Scalar { index },
                s => Source::Address { index, space: s.to_owned() },
            },
        );
        let address = self.place(&shape, &space);
        self.out.operands.push(ProgramOperand { index, space, shape, output, address });
        self.outside(source, at, instr, dst, pending)
    }

    /// The next free address for an operand, in units of its memory.
    fn place(&mut self, shape: &str, space: &str) -> u32 {
        let granules = (shape_bytes(shape) / 32).clamp(16, 1 << 28) as u32;
        if space == "vmem" {
            // In rows of 16 granules, past any allocation, so that the address that a transfer gets is unique too.
            let address = self.next_row;
            self.next_row = address.saturating_add(granules.min(1 << 22) / 16 + 16).min(LAST_ROW);
            return address;
        }
        let address = self.next_operand;
        self.next_operand = self.next_operand.wrapping_add(granules.next_multiple_of(256));
        match (space, self.listing.chip) {
            ("hbm", Chip::V5e) => address / 16,
            ("hbm", _) => address,
            // Other operands share the allocations' numbering of addresses, past any of them.
            (_, _) => 0x8000_0000u32.wrapping_add(address),
        }
    }

    pub(super) fn branch(
        &mut self,
        bundle: u32,
        at: u32,
        instr: &Instr,
        shadows: &Shadows,
        pending: &mut Vec<Pending>,
    ) -> Result<()> {
        let region = match self.listing.args(instr).first().map(|a| a.operand) {
            Some(Operand::Region(r)) => r,
            _ => {
                return Err(Diagnostic::request("tpu/bad-operands", "a branch without a target region")
                    .at(self.listing.span(instr.line))
                    .rule("a branch says `target = $regionN`"));
            }
        };
        let mut op = plain(Code::Branch);
        op.extra = self.out.branches.len() as u32;
        self.out.branch_of.insert(bundle, op.extra);
        self.out.branches.push(Branch {
            bundle,
            stop: shadows.stop(bundle),
            target: self.listing.regions.get(&region).copied().or_else(|| self.end(region)),
            region,
        });
        pending.push(Pending { op: guarded(op, instr), instr: at, writes: false });
        Ok(())
    }

    /// The end of the program, where a region that no mark names must be: an empty region is marked at the bundle that
    /// follows it, and only behind the first region's end there is none (or the empty exit bundle, whose note says
    /// something else).
    fn end(&self, region: u32) -> Option<u32> {
        let marks = &self.listing.marks;
        let is_named = marks
            .iter()
            .any(|(_, m)| matches!(m, Mark::Start(r) | Mark::End(r) | Mark::Empty(r) if *r == region));
        let (last, _) = marks.iter().find(|(_, m)| *m == Mark::End(0))?;
        let rest = self.listing.bundles.get(*last as usize + 1..)?;
        (!is_named && rest.iter().all(|b| b.instrs.is_empty())).then_some(last + 1)
    }

    pub(super) fn transfer(&mut self, at: u32, instr: &Instr, pending: &mut Vec<Pending>) -> Result<()> {
        let name = self.listing.name(instr);
        let note = self.listing.slice(&instr.note);
        let general = name == "dma.general";
        let direction = match name {
            "dma.hbm_to_vmem" => Direction::HbmToVmem,
            "dma.vmem_to_hbm" => Direction::VmemToHbm,
            "dma.hbm_to_smem" => Direction::HbmToSmem,
            "dma.smem_to_hbm" => Direction::SmemToHbm,
            "dma.vmem_to_smem" => Direction::VmemToSmem,
            "dma.smem_to_host_iova" => Direction::Host,
            "dma.general" if note.contains("vmem-to-hbm") => Direction::VmemToHbm,
            "dma.general" if note.contains("smem-to-hbm") => Direction::SmemToHbm,
            "dma.general" if note.contains("hbm-to-vmem") => Direction::HbmToVmem,
            "dma.general" if note.contains("vmem-to-vmem") => Direction::OnChip,
            "dma.general" => Direction::HbmToHbm,
            _ => Direction::OnChip,
        };
        let (src, dst): (&[&str], &[&str]) = match name {
            "dma.hbm_to_vmem" => (&["hbm"], &["vmem"]),
            "dma.vmem_to_hbm" => (&["vmem"], &["hbm"]),
            "dma.hbm_to_smem" => (&["hbm"], &["smem"]),
            "dma.smem_to_hbm" => (&["smem"], &["hbm"]),
            "dma.vmem_to_smem" => (&["vmem"], &["smem"]),
            "dma.smem_to_vmem" => (&["smem"], &["vmem"]),
            "dma.smem_to_host_iova" => (&["src_address"], &["host_iova_low"]),
            _ => (&["src"], &["dst"]),
        };
        let strides = match self.listing.labelled(instr, "src_stride") {
            Some(_) => Some([
                self.labelled(instr, &["src_stride"])?,
                self.labelled(instr, &["dst_stride"])?,
                self.labelled(instr, &["steps_per_stride"])?,
            ]),
            None => None,
        };
        let transfer = Transfer {
            direction,
            general,
            instr: at,
            src: self.labelled(instr, src)?,
            dst: self.labelled(instr, dst)?,
            size: self.labelled(instr, &["size_in_granules"])?,
            flag: self.labelled(instr, &["dst_syncflagno", "dst_syncflagno_1"])?,
            strides,
        };
        let mut op = plain(Code::Dma);
        op.extra = self.out.transfers.len() as u32;
        self.out.transfers.push(transfer);
        pending.push(Pending { op: guarded(op, instr), instr: at, writes: false });
        Ok(())
    }
}
