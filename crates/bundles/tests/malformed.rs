//! Listings that are cut, malformed or unknown in part.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{GOLDEN, by_hand, golden};
use proptest::prelude::*;
use tilewright_bundles::ops::Slot;
use tilewright_bundles::timing::{Lift, Model};
use tilewright_bundles::{Options, parse, simulate, utilization};
use tilewright_hw::Chip;

fn code(bundles: &[(&str, &str)]) -> (&'static str, u32) {
    let e = parse(by_hand(bundles), "hand.txt", Chip::V6e).unwrap_err();
    (e.code, e.span.unwrap().line)
}

#[test]
fn an_unknown_opcode_is_reported_with_its_line_and_counted() {
    let text = by_hand(&[
        ("%s1_s0 = smov.u32 1", ""),
        ("%v2_v1 = vfrob.f32 %v3_v0", ""),
        ("%v4_v1 = vfrob.f32 2.5", ""),
    ]);
    let l = parse(text, "hand.txt", Chip::V6e).unwrap();
    assert_eq!(l.unknown.len(), 1);
    assert_eq!((l.unknown[0].name.as_str(), l.unknown[0].line, l.unknown[0].count), ("vfrob.f32", 11, 2));
    assert!(simulate(&l, &Options::new(Model::Vendor)).is_ok());
}

#[test]
fn faults_have_a_code_and_a_line() {
    assert_eq!(code(&[("%s1_s0 = sadd.s32 1", "")]), ("tpu/bad-operands", 10));
    assert_eq!(code(&[("%v1_v0 = sadd.s32 1, 2", "")]), ("tpu/bad-operands", 10));
    assert_eq!(code(&[("", ""), ("%s1_s0 = smov.u32 ?", "")]), ("tpu/bad-listing", 11));
    assert_eq!(code(&[("%s1_s99 = smov.u32 1", "")]), ("tpu/bad-listing", 10));
    assert_eq!(code(&[("", "Start region 3"), ("", "Start region 3")]), ("tpu/duplicate-region", 11));
    assert_eq!(code(&[("%s1_s0 = smov.u32 (%s1_s0), 1", "")]), ("tpu/bad-listing", 10));
    let gap = by_hand(&[("", ""), ("", "")]).replace("0x1 ", "0x2 ");
    assert_eq!(parse(gap, "hand.txt", Chip::V6e).unwrap_err().code, "tpu/address-gap");
    assert_eq!(parse("what is this", "hand.txt", Chip::V6e).unwrap_err().code, "tpu/not-a-listing");
}

#[test]
fn a_cut_listing_is_one_clear_fault_wherever_it_is_cut() {
    for (file, chip, ..) in GOLDEN {
        let text = golden(file);
        let end = text.find("/* exit bundle").unwrap();
        for at in (300..end).step_by(97).chain([end]) {
            let Some(part) = text.get(..at) else { continue };
            let e = parse(part, file, chip).unwrap_err();
            assert!(e.code.starts_with("tpu/"), "{e}");
            assert!(e.span.is_some(), "{file} cut at {at}: {e}");
        }
        // At a line's end, only the missing exit shows.
        let at = text[..end].rfind("\n   ").unwrap();
        assert_eq!(parse(&text[..at], file, chip).unwrap_err().code, "tpu/cut-listing");
    }
}

#[test]
fn a_utilization_table_reads_or_says_where_not() {
    let good = "== CAPACTIY:\nMATMUL, MATPUSH, XLU, VALU, VPOP, EUP, VLOAD, VLOAD:FILL, VSTORE, VSTORE:SPILL, SALU\n    2     2     2     4     2     1     3     3     2     2     2\n== UTILIZATION:\n0 0 0 0 0 0 0 0 0 0 1\n";
    let table = utilization::parse(good, "u.txt").unwrap();
    assert_eq!((table.capacity[3], table.rows.len()), (4, 1));
    let e = utilization::parse(&good.replace("0 0 0 0 0 0 0 0 0 0 1", "0 0 x"), "u.txt").unwrap_err();
    assert_eq!((e.code, e.span.unwrap().line), ("tpu/bad-utilization", 5));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn no_mutation_makes_it_panic(
        which in 0..GOLDEN.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..12u8), 1..6),
        lifts in prop::collection::vec(prop::sample::select(vec![
            Lift::DmaBandwidth,
            Lift::Spills,
            Lift::OperandLatency,
            Lift::CrossLane,
            Lift::Transcendental,
            Lift::ExtraSlot(Slot::Valu),
            Lift::ExtraSlot(Slot::Salu),
        ]), 0..3),
    ) {
        let (file, chip, ..) = GOLDEN[which];
        let mut text: Vec<char> = golden(file).chars().collect();
        for (a, b, kind) in edits {
            let (i, j) = (a.index(text.len()), b.index(text.len()));
            match kind {
                0 => text[i] = text[j],
                1 => { text.remove(i); }
                2 => { let c = text[j]; text.insert(i, c); }
                3 => { let (lo, hi) = (i.min(j), i.max(j).min(i.min(j) + 200)); text.drain(lo..hi); }
                4 => text[i] = ['9', '%', '{', '}', ';', '/', '*', 'v', '(', '\n', 'é'][j % 11],
                // A digit for a digit: most of these still read.
                _ => {
                    if let Some(k) = (i..text.len()).find(|k| text[*k].is_ascii_digit()) {
                        text[k] = char::from(b'0' + (j % 10) as u8);
                    }
                }
            }
        }
        let text: String = text.into_iter().collect();
        if let Ok(l) = parse(text, file, chip) {
            for model in [Model::Vendor, Model::Calibrated] {
                let mut options = Options::new(model);
                options.inputs.limit = 20_000;
                options.inputs.give(0, (0..64).collect());
                options.inputs.give(1, vec![u32::MAX; 16]);
                options.lifts = lifts.clone();
                let fast = simulate(&l, &options);
                options.fast_forward = false;
                let slow = simulate(&l, &options);
                // What it says does not depend on how fast it was found.
                prop_assert_eq!(fast.is_ok(), slow.is_ok());
                if let (Ok(fast), Ok(slow)) = (fast, slow) {
                    prop_assert_eq!((fast.cycles, &fast.stalls), (slow.cycles, &slow.stalls));
                    let stalled: u64 = slow.stalls.iter().map(|s| s.1).sum();
                    prop_assert_eq!(slow.issue_cycles + stalled, slow.cycles);
                }
            }
        }
    }
}
