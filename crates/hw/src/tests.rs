//! Machines read, and every number says truly how it is known.

use super::*;

#[test]
fn every_machine_reads_and_every_number_has_a_source() {
    for chip in Chip::ALL {
        let m = Machine::of(chip).unwrap();
        let numbers = [
            m.facts.all(),
            m.ici.all(),
            m.slots.all(),
            m.vendor.units.all(),
            m.vendor.dma.all(),
            m.vendor.issue.all(),
        ];
        for (name, n) in numbers.into_iter().flatten().chain(m.calibrated.dma.all()) {
            assert!(!n.source.is_empty() && !n.unit.is_empty(), "{} {name}", chip.name());
            assert!(n.value.is_finite() && n.value >= 0.0, "{} {name}", chip.name());
        }
    }
}

#[test]
fn sources_say_what_was_printed_fitted_or_published() {
    // What the vendor's compiler prints that a number can be read from.
    let prints = [
        "critical path of ",
        "static estimates of ",
        "unrolled bundles of ",
        "listings",
        "utilization tables",
    ];
    for chip in Chip::ALL {
        let m = Machine::of(chip).unwrap();
        let tables = [
            m.facts.all(),
            m.ici.all(),
            m.slots.all(),
            m.vendor.units.all(),
            m.vendor.dma.all(),
            m.vendor.issue.all(),
            m.calibrated.dma.all(),
            m.calibrated.issue.all(),
        ];
        for (name, n) in tables.into_iter().flatten() {
            let s = n.source.as_str();
            let told = match n.kind {
                Kind::Printed => s.starts_with("libtpu 0.0.52, ") && prints.iter().any(|p| s.contains(p)),
                // To rows: of an estimate, a measurement, or a fact beside it.
                Kind::Fitted => {
                    ["static estimate", "pallas_doc_matmul", "peak_bf16"].iter().any(|p| s.contains(p))
                }
                Kind::Published => s.contains("page") || s.contains("JAX, "),
                Kind::Assumed => true,
            };
            assert!(told, "{} {name}: {:?} by `{s}`", chip.name(), n.kind);
        }
        assert_ne!(m.facts.clock.kind, Kind::Published, "{}: no page states a clock", chip.name());
        for (name, n) in m.calibrated.dma.all() {
            let measured = chip == Chip::V5e && name == "read_latency";
            assert_eq!(n.kind == Kind::Assumed, !measured, "{} {name}", chip.name());
        }
    }
}

#[test]
fn names_are_read_with_or_without_the_prefix() {
    assert_eq!(Chip::parse("tpu-v6e").unwrap(), Chip::V6e);
    assert_eq!(Chip::parse("tpu7x").unwrap(), Chip::Tpu7x);
    assert!(Chip::parse("v7").is_err());
}
