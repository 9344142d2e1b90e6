//! The explanation: each op simulated, then again without each constraint.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tilewright_bundles::listing::Listing;
use tilewright_bundles::timing::Lift;
use tilewright_bundles::{Report as Cost, parse};
use tilewright_diag::Result;
use tilewright_hw::{Chip, Machine};

use crate::advice;
use crate::cost;
use crate::program::{Program, Step};
use crate::report::{Clock, OpReport, Saving, TargetReport};

pub use tilewright_bundles::timing::Model;

/// A removal that saves less than this share is not called a limit.
const LIMITS: f64 = 0.01;

/// Explains a compiled program: `files` are the texts of a dump by file name, `name` names it in diagnostics.
///
/// # Errors
/// `tpu/dump`, `tpu/hlo`. An op whose listing cannot be read or run is reported with its fault; the rest stands.
pub fn explain(
    files: &BTreeMap<String, String>,
    name: &str,
    chip: Chip,
    model: Model,
) -> Result<TargetReport> {
    let program = Program::of(files, name)?;
    let machine = Machine::of(chip)?;
    let steps = program.steps();
    let reports: Vec<OpReport> = steps.par_iter().map(|step| op(&program, step, machine, model)).collect();
    let mut ops = reports;
    let cycles: f64 = ops.iter().map(|o| o.cycles).sum();
    let lost: f64 = ops.iter().filter(|o| o.fault.is_some()).map(|o| o.cycles).fold(0.0, |sum, c| sum + c);
    for op in &mut ops {
        op.share = op.cycles / cycles.max(1.0);
    }
    ops.sort_by(|a, b| b.cycles.total_cmp(&a.cycles));
    let unknown = steps.iter().filter(|s| s.count.is_none()).count();
    let mut notes =
        vec!["asynchronous copies between ops and the gaps between ops are not counted".to_string()];
    if matches!(chip, Chip::V5p | Chip::Tpu7x) {
        notes.push("everything is of one TensorCore; the chip has two".to_string());
    }
    let assumed: Vec<&str> = ops.iter().filter(|o| o.assumed_branches > 0).map(|o| o.name.as_str()).collect();
    if !assumed.is_empty() {
        notes.push(format!(
            "branches of {} are decided by data (sizes, tables) that no text tells, taken for 0: these figures may be far off",
            assumed.join(", ")
        ));
    }
    if unknown > 0 {
        notes.push(format!(
            "{unknown} ops run in loops whose trip count is not known before the run: counted once"
        ));
    }
    Ok(TargetReport {
        target: chip.target(),
        cycles,
        seconds: cycles / machine.facts.clock.value,
        estimate: true,
        model: match model {
            Model::Vendor => "vendor",
            Model::Calibrated => "calibrated",
        },
        clock: Clock { hz: machine.facts.clock.value, source: machine.facts.clock.source.clone() },
        compiler: None,
        ops,
        unaccounted: lost / cycles.max(1.0),
        notes,
    })
}

/// Constraints and their names, in the order in which they are tried.
const CONSTRAINTS: [(&str, Lift); 7] = [
    ("HBM bandwidth", Lift::DmaBandwidth),
    ("transfer latency", Lift::DmaLatency),
    ("spills", Lift::Spills),
    ("operand latency", Lift::OperandLatency),
    ("matrix units", Lift::MatrixOccupancy),
    ("matrix results", Lift::MatrixLatency),
    ("transposes", Lift::Transpose),
];

fn op(program: &Program<'_>, step: &Step<'_>, machine: &Machine, model: Model) -> OpReport {
    let instruction = step.instruction;
    let count = step.count.unwrap_or(1);
    let work = program.module.work(step.computation, instruction);
    let times = count as f64;
    let custom = instruction.opcode == "custom-call";
    let mut report = OpReport {
        name: instruction.name.clone(),
        kind: kind(program, step),
        shape: instruction.shape.to_string(),
        source: instruction.source().map(|(file, line)| format!("{file}:{line}")),
        count,
        cycles: 0.0,
        seconds: 0.0,
        share: 0.0,
        flops: 0.0,
        useful_flops: (!custom).then_some(work.matrix_flops * times),
        hbm_bytes: 0.0,
        matrix_fraction: 0.0,
        hbm_fraction: 0.0,
        bundles: 0,
        empty_bundles: 0,
        limiter: None,
        savings: Vec::new(),
        units: BTreeMap::new(),
        stalls: BTreeMap::new(),
        spills: 0,
        advice: Vec::new(),
        assumptions: Vec::new(),
        assumed_branches: 0,
        fault: None,
    };
    let (file, text) = program.listings[instruction.name.as_str()];
    let simulated =
        parse(text.to_string(), file, machine.chip).and_then(|l| Ok((cost::of(&l, model, &[])?, l)));
    match simulated {
        Err(d) => {
            let bundles = text.lines().filter(|l| l.trim_start().starts_with("0x")).count();
            report.cycles = bundles as f64 * times;
            report.seconds = report.cycles / machine.facts.clock.value;
            report.fault = Some(d.to_string());
        }
        Ok((cost, listing)) => {
            fill(&mut report, &cost, machine, times);
            report.savings = savings(&listing, model, &cost, times);
            report.limiter = report.savings.first().filter(|s| s.share >= LIMITS).cloned();
        }
    }
    report.advice.extend(report.limiter.as_ref().and_then(advice::of_limiter));
    report.advice.extend(advice::of_padding(&program.module, step.computation, instruction));
    report
}

fn fill(report: &mut OpReport, cost: &Cost, machine: &Machine, times: f64) {
    let bytes = (cost.outcome.hbm_read + cost.outcome.hbm_written) as f64;
    let flops = cost.matrix_flops as f64;
    report.cycles = cost.cycles as f64 * times;
    report.seconds = cost.seconds * times;
    report.flops = flops * times;
    report.hbm_bytes = bytes * times;
    report.matrix_fraction = flops / cost.seconds.max(1e-15) / machine.facts.peak_bf16.value;
    report.hbm_fraction = bytes / cost.seconds.max(1e-15) / machine.facts.hbm_bandwidth.value;
    report.bundles = cost.outcome.bundles * report.count;
    report.empty_bundles = cost.empty_bundles * report.count;
    report.spills = (cost.spills.vector_stores + cost.spills.vector_loads) * report.count;
    report.units = cost::units(cost);
    report.stalls =
        cost.stalls.iter().map(|(cause, cycles)| (cause.name(), *cycles as f64 * times)).collect();
    report.assumptions = cost::assumptions(cost);
    report.assumed_branches = cost.outcome.assumed_branches;
}

/// What each constraint's removal saves, most first.
fn savings(listing: &Listing, model: Model, cost: &Cost, times: f64) -> Vec<Saving> {
    let without = |of: &'static str, lift: Lift| {
        let lifted = cost::of(listing, model, &[lift]).ok()?;
        let saved = cost.cycles.saturating_sub(lifted.cycles) as f64;
        Some(Saving { of, cycles: saved * times, share: saved / cost.cycles.max(1) as f64 })
    };
    let slots = cost::SLOTS.map(|(of, slot)| (of, Lift::ExtraSlot(slot)));
    let mut all: Vec<Saving> =
        CONSTRAINTS.into_iter().chain(slots).filter_map(|(of, lift)| without(of, lift)).collect();
    all.sort_by(|a, b| b.cycles.total_cmp(&a.cycles));
    all
}

/// What an op is: of a fusion what its computation is of, of a custom call the kernel's name.
fn kind(program: &Program<'_>, step: &Step<'_>) -> String {
    let instruction = step.instruction;
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
