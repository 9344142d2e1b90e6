//! Whole programs by hand: ops that share their code, copies and exchanges beside them, what cannot be simulated.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use tilewright_bundles::timing::Model;
use tilewright_explain::{Mesh, OpReport, Request, TargetReport, explain};
use tilewright_hw::Chip;

/// A listing that libtpu made for a v5e: exp of f32[768,128], 8,613 cycles or so.
const EXP: &str = include_str!("../../bundles/tests/listings/exp-grid-v5e.txt");

const HEAD: &str = "HloModule m, is_scheduled=true, num_partitions=4

%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}

ENTRY %main (a: f32[768,128], b: f32[8192,1024]) -> f32[768,128] {
  %a = f32[768,128]{1,0:T(8,128)} parameter(0)
  %b = f32[8192,1024]{1,0:T(8,128)} parameter(1)
";

fn explained(body: &str, calls: &[&str]) -> TargetReport {
    let top: String = calls
        .iter()
        .map(|c| format!("   0x1   :  {{ %9 = inlined_call %s0 /* %{c} = exponential(%a) */ }}\n"))
        .collect();
    let files: BTreeMap<String, String> = [
        ("1-TLP-hlo.txt".to_string(), format!("{HEAD}{body}}}\n")),
        ("1-TLP-01-final_bundles.txt".to_string(), top),
        ("2-e.1-01-final_bundles.txt".to_string(), EXP.to_string()),
    ]
    .into();
    let request = Request {
        files: &files,
        name: "by hand",
        mesh: Mesh { sizes: vec![1, 2, 2, 1], chip: Chip::V5e },
        model: Model::Calibrated,
        scalars: &BTreeMap::new(),
        listing: None,
    };
    let report = explain(&request).unwrap();
    let sum: f64 = report.ops.iter().map(|o| o.cycles).sum();
    assert!((sum - report.cycles).abs() < 1e-6, "{sum} of {}", report.cycles);
    report
}

/// As [`explained`], with more files and values; the code of its refusal.
fn refused(file: (&str, &str), scalars: &BTreeMap<(String, u32), Vec<u32>>) -> &'static str {
    let body = format!("{E1}  ROOT %r = f32[768,128]{{1,0:T(8,128)}} copy(%e.1)\n");
    let files: BTreeMap<String, String> = [
        ("1-TLP-hlo.txt".to_string(), format!("{HEAD}{body}}}\n")),
        ("2-e.1-01-final_bundles.txt".to_string(), EXP.to_string()),
        (file.0.to_string(), file.1.to_string()),
    ]
    .into();
    let request = Request {
        files: &files,
        name: "by hand",
        mesh: Mesh { sizes: vec![1, 2, 2, 1], chip: Chip::V5e },
        model: Model::Calibrated,
        scalars,
        listing: None,
    };
    explain(&request).map_or_else(|d| d.code, |_| "explained")
}

#[test]
fn a_dump_of_another_chip_and_operands_that_are_none_are_refused() {
    let table = |slots: &str| {
        format!(
            "== CAPACTIY:\nMATMUL, MATPUSH, XLU, VALU, VPOP, EUP, VLOAD, VLOAD:FILL, VSTORE, VSTORE:SPILL, SALU\n{slots}\n== UTILIZATION:\n"
        )
    };
    let name = "1-TLP-00-final_hlo-static-per-bundle-utilization.txt";
    let (v5e, v6e) = (table("4 4 3 4 2 1 3 3 1 1 2"), table("2 2 2 4 2 1 3 3 2 2 2"));
    let none = BTreeMap::new();
    assert_eq!(refused((name, &v5e), &none), "explained");
    assert_eq!(refused((name, &v6e), &none), "tpu/wrong-target");
    let given = |op: &str, operand| BTreeMap::from([((op.to_string(), operand), vec![1])]);
    assert_eq!(refused((name, &v5e), &given("e.1", 0)), "explained");
    assert_eq!(refused((name, &v5e), &given("e.1", 1)), "explain/unknown-operand");
    assert_eq!(refused((name, &v5e), &given("r", 0)), "explain/unknown-op");
}

fn op<'r>(report: &'r TargetReport, name: &str) -> &'r OpReport {
    report.ops.iter().find(|o| o.name == name).unwrap_or_else(|| panic!("{name} is missing"))
}

const E1: &str = "  %e.1 = f32[768,128]{1,0:T(8,128)} exponential(%a)\n";
const E2: &str = "  %e.2 = f32[768,128]{1,0:T(8,128)} exponential(%e.1)\n";

#[test]
fn an_op_that_is_the_same_as_another_costs_the_same() {
    let report =
        explained(&format!("{E1}{E2}  ROOT %r = f32[768,128]{{1,0:T(8,128)}} copy(%e.2)\n"), &["e.1", "e.2"]);
    assert_eq!(report.unaccounted, 0.0);
    assert!(op(&report, "e.1").cycles > 5000.0);
    assert_eq!(op(&report, "e.1").cycles, op(&report, "e.2").cycles);
    // Two bundles of the top level, each once.
    assert_eq!(op(&report, "(top level)").cycles, 2.0);
}

#[test]
fn a_called_op_of_unknown_code_is_unaccounted_for() {
    let other = "  %o = f32[8192,1024]{1,0:T(8,128)} exponential(%b)\n";
    let report = explained(
        &format!("{E1}{other}  ROOT %r = f32[768,128]{{1,0:T(8,128)}} copy(%e.1)\n"),
        &["e.1", "o"],
    );
    let o = op(&report, "o");
    assert!(o.fault.as_ref().is_some_and(|f| f.contains("tpu/no-listing")), "{:?}", o.fault);
    // 64 MiB over 819 GB/s.
    assert!((o.seconds - 67_108_864.0 / 819e9).abs() < 1e-9, "{}", o.seconds);
    assert!((report.unaccounted - o.share).abs() < 1e-12 && o.share > 0.9);
}

#[test]
fn a_copy_costs_what_the_ops_beside_it_do_not_hide() {
    let start = |bytes: usize| {
        format!(
            "  %c = (f32[{bytes},1024]{{1,0:T(8,128)S(1)}}, f32[{bytes},1024]{{1,0:T(8,128)}}, u32[]{{:S(2)}}) copy-start(%b)\n"
        )
    };
    let done = |bytes: usize| format!("  %d = f32[{bytes},1024]{{1,0:T(8,128)S(1)}} copy-done(%c)\n");
    let root = "  ROOT %r = f32[768,128]{1,0:T(8,128)} copy(%e.1)\n";
    let run = |rows: usize| explained(&format!("{}{E1}{}{root}", start(rows), done(rows)), &["e.1"]);
    let alone = explained(&format!("{E1}{root}"), &["e.1"]);
    let small = run(64);
    assert_eq!(op(&small, "c").cycles, 0.0);
    assert!(op(&small, "c").hidden_seconds > 0.0);
    let large = run(8192);
    let c = op(&large, "c");
    // At least its bytes at full bandwidth less the op that ran beside it, which it slowed.
    let whole = 8192.0 * 4096.0 / 819e9;
    let beside = op(&large, "e.1").seconds;
    assert!(c.seconds > whole - beside && c.hidden_seconds > 0.0 && c.hidden_seconds <= beside, "{c:?}");
    assert!(op(&large, "e.1").cycles > op(&alone, "e.1").cycles);
}

#[test]
fn an_exchange_runs_beside_the_ops_or_in_their_way() {
    let root = "  ROOT %r = f32[768,128]{1,0:T(8,128)} copy(%e.1)\n";
    let groups = "replica_groups=[2,2]<=[4], to_apply=%sum";
    let array = "f32[8192,1024]{1,0:T(8,128)}";
    let whole = format!("  %x = {array} all-reduce(%b), {groups}\n{E1}{root}");
    let start = format!(
        "  %x = {array} all-reduce-start(%b), {groups}\n{E1}  %y = {array} all-reduce-done(%x)\n{root}"
    );
    // 32 MiB between two chips: half of it each way, twice, over one link of 50 GB/s.
    let seconds = 33_554_432.0 / 50e9 + 2e-6;
    let exposed = explained(&whole, &["e.1"]);
    let x = op(&exposed, "x");
    assert!((x.seconds / seconds - 1.0).abs() < 1e-6 && x.hidden_seconds == 0.0, "{x:?}");
    assert_eq!((x.limiter, x.exchange.as_ref().map(|e| e.devices)), (Some("links between chips"), Some(2)));
    let beside = explained(&start, &["e.1"]);
    let x = op(&beside, "x");
    let e = op(&beside, "e.1").seconds;
    assert!((x.hidden_seconds / e - 1.0).abs() < 1e-6, "{x:?}");
    assert!(((x.seconds + x.hidden_seconds) / seconds - 1.0).abs() < 1e-6, "{x:?}");
}

#[test]
fn steps_of_one_exchange_in_several_fusions_are_one_exchange() {
    let array = "f32[8192,1024]{1,0:T(8,128)}";
    let inner = |name: &str| {
        format!(
            "%{name} (p: {array}) -> {array} {{\n  %p = {array} parameter(0)\n  ROOT %g = {array} all-gather(%p), channel_id=7, replica_groups=[1,4]<=[4], dimensions={{0}}\n}}\n\n"
        )
    };
    let body = format!(
        "  %s = {array} fusion(%b), kind=kCustom, calls=%f1\n{E1}  %d = {array} fusion(%s), kind=kCustom, calls=%f2\n  ROOT %r = f32[768,128]{{1,0:T(8,128)}} copy(%e.1)\n"
    );
    let files: BTreeMap<String, String> = [
        (
            "1-TLP-hlo.txt".to_string(),
            format!("{HEAD}{body}}}\n").replace("ENTRY", &format!("{}{}ENTRY", inner("f1"), inner("f2"))),
        ),
        ("2-e.1-01-final_bundles.txt".to_string(), EXP.to_string()),
    ]
    .into();
    let request = Request {
        files: &files,
        name: "by hand",
        mesh: Mesh { sizes: vec![1, 2, 2, 1], chip: Chip::V5e },
        model: Model::Calibrated,
        scalars: &BTreeMap::new(),
        listing: None,
    };
    let report = explain(&request).unwrap();
    let x = op(&report, "all-gather (channel 7)");
    // 128 MiB in the end, three quarters of it from elsewhere, over two axes of one link each.
    let seconds = 134_217_728.0 * 0.75 / 100e9 + 2e-6;
    assert!(((x.seconds + x.hidden_seconds) / seconds - 1.0).abs() < 1e-6, "{x:?}");
    assert!(x.hidden_seconds > 0.0);
}
