//! What the text of a program says of its ops, in words and numbers, and what a reader should know.

use tilewright_bundles::program::Direction;
use tilewright_bundles::timing::Model;
use tilewright_hlo::{Dtype, Instruction};
use tilewright_hw::Chip;

use crate::collective::Collective;
use crate::program::{Program, Step};
use crate::report::OpReport;
use crate::timeline::{Copy, Ran, What};

/// The operands of an op that may decide its branches, with their numbers.
fn tables(step: &Step<'_>) -> String {
    let mut index = 0;
    let mut all = Vec::new();
    for operand in step.instruction.operands.iter().filter_map(|o| step.computation.instruction(o)) {
        let arrays = operand.shape.arrays();
        let whole =
            arrays.iter().all(|a| matches!(a.dtype, Dtype::Signed(_) | Dtype::Unsigned(_) | Dtype::Pred));
        if whole && arrays.len() == 1 && operand.opcode != "constant" {
            all.push(format!("{index} ({})", operand.shape));
        }
        index += arrays.len();
    }
    if all.is_empty() { String::new() } else { format!("; of {}: {}", step.instruction.name, all.join(", ")) }
}

/// What a reader should know beside the figures.
pub fn notes(chip: Chip, model: Model, ops: &[OpReport], steps: &[(&Step<'_>, &Ran)]) -> Vec<String> {
    let mut notes = Vec::new();
    match chip {
        Chip::Tpu7x => {
            notes.push("of one TensorCore; the chip has two, which are devices of their own".to_string())
        }
        Chip::V5p => {
            notes.push("of one TensorCore; the chip's two cores share the program's work".to_string())
        }
        Chip::V5e | Chip::V6e => {}
    }
    // The code of an exchange asks for its chip's place among the others; its time is that of the links.
    let assumed: Vec<&str> = ops
        .iter()
        .filter(|o| o.assumed_branches > 0 && o.exchange.is_none())
        .map(|o| o.name.as_str())
        .collect();
    if let Some(first) = assumed.first() {
        let operands = steps
            .iter()
            .find(|(s, _)| s.instruction.name == *first)
            .map_or_else(String::new, |(s, _)| tables(s));
        notes.push(format!(
            "sizes or tables that are given when the program runs decide how much {} does; taken for {}, these figures may be \
             far off. `--scalars OP:OPERAND=N,…` gives them{operands}",
            assumed.join(", "),
            if model == Model::Vendor { "42, as the compiler's estimator does" } else { "0" },
        ));
    }
    let unknown = steps.iter().filter(|(s, _)| s.count.is_none()).count();
    if unknown > 0 {
        notes.push(format!(
            "{unknown} ops run in loops whose trip count is not known before the run: counted once"
        ));
    }
    for ended in steps.iter().flat_map(|(_, ran)| &ran.ended) {
        if matches!(&ended.what, What::Copy(copy) if copy.prefetched) {
            notes.push(format!(
                "{} fetches an operand while the program before this one runs, taken for this one too; after another, or \
                 alone, it costs {:.0} cycles more",
                ended.name, ended.hidden
            ));
        }
    }
    if ops.iter().any(|o| o.exchange.is_some()) {
        notes.push(
            "exchanges between chips are bytes over published link bandwidths, with an assumed microsecond a hop; nothing of them was measured"
                .to_string(),
        );
    }
    notes
}

/// Where an op's author wrote it.
pub fn source(instruction: &Instruction) -> Option<String> {
    instruction.source().map(|(file, line)| format!("{file}:{line}"))
}

/// FLOP of one execution that an op's shapes ask for, or that the author of a custom call declared.
pub fn useful(program: &Program<'_>, step: &Step<'_>) -> Option<f64> {
    if step.instruction.opcode != "custom-call" {
        return Some(program.module.work(step.computation, step.instruction).matrix_flops);
    }
    let config = step.instruction.attribute("backend_config")?;
    let (_, estimate) = config.split_once("\"cost_estimate\":{")?;
    let (_, flops) = estimate.split_once("\"flops\":\"")?;
    flops.split('"').next()?.parse().ok().filter(|f| *f > 0.0)
}

/// Vector memory of an op: what the compiler reserved for it, and operands and results that lie there.
pub fn vmem(step: &Step<'_>) -> u64 {
    const VMEM: usize = 1;
    let operands = step.instruction.operands.iter().filter_map(|o| step.computation.instruction(o));
    let arrays = operands.chain([step.instruction]).flat_map(|i| i.shape.arrays());
    let held = arrays.filter(|a| a.layout.as_ref().is_some_and(|l| l.memory_space == VMEM));
    let held: usize = held.map(|a| a.padded_bytes()).sum();
    held as u64 + scoped(step.instruction).unwrap_or(0)
}

/// `"used_scoped_memory_configs":[{"memory_space":"1","offset":"0","size":"65536"}]`
fn scoped(instruction: &Instruction) -> Option<u64> {
    let (_, rest) =
        instruction.attribute("backend_config")?.split_once("\"used_scoped_memory_configs\":[")?;
    let list = rest.split(']').next()?;
    let sizes = list.split("\"memory_space\":\"1\"").skip(1).filter_map(|space| {
        let (_, size) = space.split_once("\"size\":\"")?;
        size.split('"').next()?.parse::<u64>().ok()
    });
    Some(sizes.sum())
}

/// What a copy is.
pub fn kind_of_copy(copy: &Copy) -> String {
    let way = match copy.direction {
        Direction::HbmToVmem => "from HBM to VMEM",
        Direction::VmemToHbm => "from VMEM to HBM",
        Direction::HbmToSmem => "from HBM to SMEM",
        Direction::SmemToHbm => "from SMEM to HBM",
        Direction::OnChip | Direction::VmemToSmem => "within the chip",
        Direction::HbmToHbm => "within HBM",
        Direction::Host => "to or from the host",
    };
    format!("copy {way}")
}

/// What an exchange is.
pub fn kind_of_exchange(exchange: &Collective) -> String {
    format!("{} over {}", exchange.kind, exchange.devices)
}

/// What an op is: of a fusion what its computation is of, of a custom call the kernel's name.
pub fn kind(program: &Program<'_>, instruction: &Instruction) -> String {
    let inner = instruction.called("calls").and_then(|c| program.module.computation(c));
    match (instruction.opcode.as_str(), inner) {
        ("fusion", Some(inner)) => {
            let product =
                inner.instructions.iter().find(|i| ["convolution", "dot"].contains(&i.opcode.as_str()));
            format!("fusion of {}", product.unwrap_or(inner.root()).opcode)
        }
        ("custom-call", _) => {
            let target = instruction.attribute("custom_call_target").unwrap_or_default().trim_matches('"');
            if target == "tpu_custom_call" { "Pallas kernel".to_string() } else { target.to_string() }
        }
        (opcode, _) => opcode.to_string(),
    }
}
