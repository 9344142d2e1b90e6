//! The explanation: the program's steps on one clock, then each op again without each constraint.

use std::collections::BTreeMap;

use tilewright_bundles::program::Direction;
use tilewright_bundles::timing::Params;
use tilewright_bundles::{Report, utilization};
use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_hw::{Chip, Machine};

use crate::advice;
use crate::collective::{Collective, Mesh};
use crate::context::Context;
use crate::cost;
use crate::hot;
use crate::program::{Item, Program, Step, callee};
use crate::report::{Clock, Exchange, OpReport, Saving, TargetReport};
use crate::savings::{LIMITS, Savings};
use crate::timeline::{self, Ended, Ran, What};
use crate::words::{kind, kind_of_copy, kind_of_exchange, notes, source, useful, vmem};

pub use tilewright_bundles::timing::Model;

/// What is to be explained, and how.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The texts of a dump, by file name.
    pub files: &'a BTreeMap<String, String>,
    /// The program's name, for diagnostics.
    pub name: &'a str,
    /// How its devices are arranged.
    pub mesh: Mesh,
    /// The timing model.
    pub model: Model,
    /// Values of operands that the program is given when it runs, by op and operand.
    pub scalars: &'a BTreeMap<(String, u32), Vec<u32>>,
    /// The op whose hottest bundles are wanted.
    pub listing: Option<&'a str>,
}

/// Explains a compiled program.
///
/// # Errors
/// `tpu/dump`, `tpu/hlo`, `tpu/wrong-target`; `explain/unknown-op` and `explain/unknown-operand` where values or a listing of an op are asked for that is none. An op whose
/// listing cannot be read or run is reported with its fault; the rest stands.
pub fn explain(request: &Request<'_>) -> Result<TargetReport> {
    let chip = request.mesh.chip;
    let machine = Machine::of(chip)?;
    let program = Program::of(request.files, request.name)?;
    is_of(chip, request)?;
    let asked = request.listing.into_iter().chain(request.scalars.keys().map(|(op, _)| op.as_str()));
    for op in asked {
        if program.listing(op).is_none() {
            let known = program.ops();
            return Err(Diagnostic::unknown("explain/unknown-op", "op with machine code", op, known));
        }
    }
    for (op, operand) in request.scalars.keys() {
        let operands = program.module.find(op).map_or(0, |(computation, instruction)| {
            let given = instruction.operands.iter().filter_map(|o| computation.instruction(o));
            given.map(|o| o.shape.arrays().len()).sum()
        });
        if *operand as usize >= operands {
            return Err(Diagnostic::request(
                "explain/unknown-operand",
                format!("`{op}` has {operands} operands, numbered from 0: none is {operand}"),
            ));
        }
    }
    let context = Context {
        machine,
        params: Params::new(chip, request.model, &[])?,
        model: request.model,
        mesh: request.mesh.clone(),
        scalars: request.scalars,
    };
    let items = program.items();
    let mut ran = timeline::run(&program, &items, &context);
    timeline::expose_prefetches(&items, &mut ran, &context.params);
    let steps: Vec<(&Step<'_>, &Ran)> = items
        .iter()
        .zip(&ran)
        .filter_map(|(item, ran)| match item {
            Item::Step(step) => Some((step, ran)),
            Item::LoopEnd { .. } => None,
        })
        .collect();
    let savings = Savings::of(&ran, &context);
    let mut ops: Vec<OpReport> = steps
        .iter()
        .filter(|(step, ran)| step.called || ran.exchange.is_some())
        .map(|(step, ran)| op(&program, step, ran, &savings, machine))
        .collect();
    for (step, ran) in &steps {
        ops.extend(ran.ended.iter().map(|ended| beside(&program, step, ended, machine)));
    }
    ops.push(frame(&program, &steps, machine));
    if let Some(wanted) = request.listing {
        for (step, ran) in steps.iter().filter(|(s, _)| s.instruction.name == wanted) {
            if let (Some(s), Some(op)) =
                (&ran.simulated, ops.iter_mut().find(|o| o.name == step.instruction.name))
            {
                op.listing = hot::bundles(&s.listing, &s.report);
            }
        }
    }
    let cycles: f64 = ops.iter().map(|o| o.cycles).sum();
    let lost: f64 = ops.iter().filter(|o| o.fault.is_some()).map(|o| o.cycles).fold(0.0, |sum, c| sum + c);
    for op in &mut ops {
        op.share = op.cycles / cycles.max(1.0);
    }
    ops.sort_by(|a, b| b.cycles.total_cmp(&a.cycles));
    let seconds = cycles / machine.facts.clock.value;
    let cores = machine.facts.cores.whole();
    Ok(TargetReport {
        target: chip.target(),
        devices: program.devices(),
        cycles,
        seconds,
        cores,
        // A v5p program runs on both cores of a chip; on tpu7x each core is a device.
        chip_seconds: if chip == Chip::Tpu7x { seconds / f64::from(cores) } else { seconds },
        estimate: true,
        model: match request.model {
            Model::Vendor => "vendor",
            Model::Calibrated => "calibrated",
        },
        clock: Clock { hz: machine.facts.clock.value, source: machine.facts.clock.source.clone() },
        compiler: None,
        unaccounted: lost / cycles.max(1.0),
        notes: notes(chip, request.model, &ops, &steps),
        ops,
    })
}

/// That a dump is of the chip, where its tables of slots say what it is of.
///
/// # Errors
/// `tpu/wrong-target`.
fn is_of(chip: Chip, request: &Request<'_>) -> Result<()> {
    const TABLE: &str = "final_hlo-static-per-bundle-utilization.txt";
    let Some((file, text)) = request.files.iter().find(|(f, _)| f.ends_with(TABLE)) else { return Ok(()) };
    let table = utilization::parse(text, file)?;
    let has = |chip: Chip| -> Result<bool> {
        let slots = &Machine::of(chip)?.slots;
        let [matmul, matpush, xlu, valu, vpop, eup, vload, _, vstore, _, salu] = table.capacity;
        let printed = [matmul, matpush, xlu, valu, vpop, eup, vload, vstore, salu];
        Ok(slots.all().iter().zip(printed).all(|((_, ours), theirs)| ours.whole() == u32::from(theirs)))
    };
    if has(chip)? {
        return Ok(());
    }
    let mut fitting = Vec::new();
    for other in Chip::ALL {
        if has(other)? {
            fitting.push(other.target());
        }
    }
    let d = Diagnostic::request("tpu/wrong-target", format!("the dump is not of {}", chip.target()))
        .at(Span::file(file.clone()))
        .rule("a bundle of the dump has as many slots of each class as one of the target");
    Err(if fitting.is_empty() {
        d
    } else {
        d.help(format!("`--target {}`", fitting.join("` or `--target ")))
    })
}

/// Devices that the program of a dump is split over.
///
/// # Errors
/// As [`explain`].
pub fn devices(files: &BTreeMap<String, String>, name: &str) -> Result<usize> {
    Ok(Program::of(files, name)?.devices())
}

fn op(program: &Program<'_>, step: &Step<'_>, ran: &Ran, savings: &Savings, machine: &Machine) -> OpReport {
    let count = step.count.unwrap_or(1);
    let times = count as f64;
    let instruction = step.instruction;
    let mut report = OpReport {
        kind: ran.exchange.as_ref().map_or_else(|| kind(program, instruction), kind_of_exchange),
        shape: instruction.shape.to_string(),
        source: source(instruction),
        count,
        cycles: ran.cycles * times,
        seconds: ran.cycles * times / machine.facts.clock.value,
        useful_flops: useful(program, step).map(|f| f * times),
        vmem_bytes: vmem(step),
        exchange: ran.exchange.as_ref().map(exchange),
        time_is: ran.model,
        fault: ran.fault.as_ref().map(ToString::to_string),
        ..OpReport::named(&instruction.name)
    };
    let mut simulated = 0.0;
    if let Some(s) = &ran.simulated {
        simulated = s.report.cycles as f64;
        fill(&mut report, &s.report, machine, ran.cycles, times);
        // Where the links take longer than the core, nothing of the core's saves time.
        if ran.cycles <= simulated {
            report.savings =
                savings.get(s).iter().map(|s| Saving { cycles: s.cycles * times, ..s.clone() }).collect();
        }
    }
    // Without the links the core's own bundles are left: its waits are for the links.
    let core = ran.simulated.as_ref().map_or(0.0, |s| s.report.issue_cycles as f64);
    let on_links = ran.cycles - core;
    if ran.exchange.is_some() && ran.cycles > simulated {
        let share = on_links / ran.cycles;
        report.savings.push(Saving {
            of: "links between chips",
            cycles: on_links * times,
            share,
            bound: false,
        });
    }
    report.savings.sort_by(|a, b| b.cycles.total_cmp(&a.cycles));
    if let Some(most) = report.savings.first().filter(|s| s.share >= LIMITS) {
        (report.limiter, report.saving) = (Some(most.of), most.share);
        report.advice.extend(advice::of_limiter(most));
    }
    report.advice.extend(advice::of_waste(&report, machine.facts.mxu_size.value));
    report.advice.extend(advice::of_padding(step.computation, instruction, report.hbm_fraction));
    report
}

/// Something that ran beside the ops: what it costs is what was waited for it.
fn beside(program: &Program<'_>, step: &Step<'_>, ended: &Ended, machine: &Machine) -> OpReport {
    let count = step.count.unwrap_or(1);
    let times = count as f64;
    let begun = step.computation.instruction(&ended.name);
    let (kind, of) = match &ended.what {
        What::Copy(copy) => (kind_of_copy(copy), "HBM bandwidth"),
        What::Exchange(exchange) => (kind_of_exchange(exchange), "links between chips"),
        What::Elsewhere => {
            let call = begun.map_or_else(String::new, |i| kind(program, i));
            (format!("{} on another core", call.trim_end_matches("-start")), "another core's work")
        }
    };
    let bytes = match &ended.what {
        What::Copy(copy) if copy.direction == Direction::HbmToHbm => 2.0 * copy.bytes,
        What::Copy(copy) => copy.bytes,
        _ => 0.0,
    };
    let cycles = ended.cycles * times;
    let saving = Saving { of, cycles, share: 1.0, bound: false };
    let costs = ended.cycles > 0.0;
    OpReport {
        kind,
        shape: step.instruction.shape.to_string(),
        source: begun.or(Some(step.instruction)).and_then(source),
        count,
        cycles,
        seconds: cycles / machine.facts.clock.value,
        hidden_seconds: ended.hidden * times / machine.facts.clock.value,
        hbm_bytes: bytes * times,
        hbm_fraction: bytes
            / machine.facts.hbm_bandwidth.value
            / ((ended.cycles + ended.hidden) / machine.facts.clock.value).max(1e-15),
        limiter: costs.then_some(of),
        saving: if costs { 1.0 } else { 0.0 },
        advice: advice::of_limiter(&saving).filter(|_| costs).into_iter().collect(),
        savings: if costs { vec![saving] } else { Vec::new() },
        exchange: match &ended.what {
            What::Exchange(e) => Some(exchange(e)),
            _ => None,
        },
        time_is: Some(ended.what.model()),
        ..OpReport::named(&ended.name)
    }
}

fn exchange(of: &Collective) -> Exchange {
    Exchange { kind: of.kind.clone(), devices: of.devices, bytes: of.bytes, seconds: of.seconds }
}

fn fill(report: &mut OpReport, cost: &Report, machine: &Machine, cycles: f64, times: f64) {
    let bytes = (cost.outcome.hbm_read + cost.outcome.hbm_written) as f64;
    let seconds = (cycles / machine.facts.clock.value).max(1e-15);
    report.flops = (cost.matrix_flops + cost.matrix_flops_8bit) as f64 * times;
    report.hbm_bytes = bytes * times;
    let matrix = cost.matrix_flops as f64 / machine.facts.peak_bf16.value
        + cost.matrix_flops_8bit as f64 / machine.facts.peak_8bit.value;
    report.matrix_fraction = matrix / seconds;
    report.hbm_fraction = bytes / seconds / machine.facts.hbm_bandwidth.value;
    report.bundles = cost.outcome.bundles * report.count;
    report.empty_bundles = cost.empty_bundles * report.count;
    report.spills = (cost.spills.vector_stores + cost.spills.vector_loads) * report.count;
    report.units = cost::units(cost);
    report.stalls =
        cost.stalls.iter().map(|(cause, cycles)| (cause.name(), *cycles as f64 * times)).collect();
    report.assumptions = cost::assumptions(cost);
    report.assumed_branches = cost.outcome.assumed_branches;
}

/// What the top level itself executes between ops: its bundles, once for each time that the op after them runs.
fn frame(program: &Program<'_>, steps: &[(&Step<'_>, &Ran)], machine: &Machine) -> OpReport {
    let times: BTreeMap<&str, u64> =
        steps.iter().map(|(s, _)| (s.instruction.name.as_str(), s.count.unwrap_or(1))).collect();
    let (mut cycles, mut since) = (0u64, 0u64);
    let text = program.listings.get("TLP").map_or("", |(_, text)| text);
    let bundles = text.lines().map(str::trim_start).filter(|l| l.starts_with("0x") || l.starts_with("0 "));
    for line in bundles {
        // Empty bundles take no cycle.
        since += u64::from(!line.contains("{}"));
        if let Some(callee) = callee(line) {
            cycles += since * times.get(callee).copied().unwrap_or(1);
            since = 0;
        }
    }
    let cycles = (cycles + since) as f64;
    OpReport {
        kind: "between ops".to_string(),
        cycles,
        seconds: cycles / machine.facts.clock.value,
        time_is: Some("its bundles, each once a call"),
        ..OpReport::named("(top level)")
    }
}
