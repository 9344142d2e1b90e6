//! What the scalar side computes, on listings written by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::by_hand;
use tilewright_bundles::exec::{Inputs, Outcome, execute};
use tilewright_bundles::observe::{Observer, Scalars};
use tilewright_bundles::parse;
use tilewright_bundles::program::{Placement, Program, Shadow};
use tilewright_diag::Result;
use tilewright_hw::Chip;

/// The scalars before the last bundle.
#[derive(Default)]
struct Last {
    values: Vec<u32>,
}

impl Observer for Last {
    const EVERY_BUNDLE: bool = true;

    fn bundle(&mut self, _: u32, scalars: Scalars<'_>) -> Result<()> {
        self.values = (0..32).map(|i| scalars.scalar(i)).collect();
        Ok(())
    }
}

fn run(bundles: &[(&str, &str)], inputs: &Inputs) -> Result<(Vec<u32>, Outcome)> {
    let l = parse(by_hand(bundles), "hand.txt", Chip::V5e)?;
    let p = Program::new(&l, Shadow::Fixed(4), &Placement::default())?;
    let mut last = Last::default();
    let outcome = execute(&l, &p, inputs, &mut last)?;
    Ok((last.values, outcome))
}

fn values(bundles: &[(&str, &str)]) -> Vec<u32> {
    run(bundles, &Inputs::unknown(10_000)).unwrap().0
}

#[test]
fn all_reads_of_a_bundle_come_before_its_writes() {
    let v = values(&[
        ("%s1_s0 = smov.u32 7  ;;  %s2_s1 = smov.u32 9", ""),
        ("%s3_s0 = sadd.s32 1, %s2_s1  ;;  %s4_s1 = sadd.s32 2, %s1_s0", ""),
        ("", ""),
    ]);
    assert_eq!((v[0], v[1]), (10, 9));
}

#[test]
fn a_guarded_write_in_a_swap_keeps_the_old_value() {
    let v = values(&[
        ("%s1_s0 = smov.u32 7  ;;  %s2_s1 = smov.u32 9  ;;  %p3_p0 = pmov 0", ""),
        ("%s3_s0 = sadd.s32 (%p3_p0), 0, %s2_s1  ;;  %s4_s1 = sadd.s32 (!%p3_p0), 0, %s1_s0", ""),
        ("", ""),
    ]);
    assert_eq!((v[0], v[1]), (7, 7));
}

#[test]
fn delay_slots_run_before_a_jump() {
    let v = values(&[
        ("%s1_s0 = smov.u32 0  ;;  %p1_p0 = pmov 1", ""),
        ("%2 = sbr.rel (%p1_p0) target = $region5", ""),
        ("%s1_s0 = sadd.s32 1, %s1_s0", ""),
        ("", ""),
        ("%s1_s0 = sadd.s32 1, %s1_s0", ""),
        ("%s1_s0 = sadd.s32 1, %s1_s0", ""),
        ("%s1_s0 = sadd.s32 100, %s1_s0", ""),
        ("", "Start region 5"),
    ]);
    assert_eq!(v[0], 3);
}

#[test]
fn scalar_memory_and_spills_hold_values() {
    let v = values(&[
        ("%s1_s0 = smov.u32 7  ;;  %s2_s1 = smov.u32 2", ""),
        ("%3 = sst [smem:[#allocation4_spill]] %s1_s0", ""),
        ("%4 = sst [smem:[#allocation5 + %s2_s1]] /*sx=*/%s1_s0", ""),
        ("%s5_s2 = sld [smem:[#allocation4_spill]]  ;;  %s6_s3 = sld [smem:[#allocation5 + $0x2]]", ""),
        ("", ""),
    ]);
    assert_eq!((v[2], v[3]), (7, 7));
}

#[test]
fn arithmetic_is_that_of_32_bits() {
    let v = values(
        &[
            ("%s1_s0 = smov.u32 4294967295  ;;  %s2_s1 = smov.u32 3", ""),
            ("%s3_s2 = smulhi.u32 4294967295, %s1_s0  ;;  %s4_s3 = sshra.s32 %s1_s0, 31", ""),
            ("%s5_s4 = sshrl.u32 %s1_s0, 28  ;;  %s6_s5 = sshllo.u32 %s2_s1, 2", ""),
            ("%p7_p1 = scmp.lt.s32.totalorder %s1_s0, 0  ;;  %p8_p2 = scmp.lt.u32.totalorder %s1_s0, 1", ""),
            ("%s9_s6 = scalar_select /*predicate=*/%p7_p1, /*on_true=*/1, /*on_false=*/2", ""),
            ("%s10_s7 = scalar_select /*predicate=*/%p8_p2, /*on_true=*/1, /*on_false=*/2", ""),
            (
                "%s11_s8 = smov.u32 (%p8_p2, %s2_s1), 4  ;;  %s12_s9 = scalar_lea.vmem %s2_s1, 8 [#allocation3]",
                "",
            ),
            ("", ""),
        ][..6],
    );
    assert_eq!((v[2], v[3], v[4], v[5]), (0xffff_fffe, u32::MAX, 15, 15));
}

#[test]
fn the_alternative_of_a_move_must_be_in_its_register() {
    let e = run(&[("%s11_s8 = smov.u32 (%p8_p2, %s2_s1), 4", "")], &Inputs::unknown(10)).unwrap_err();
    assert_eq!(e.code, "tpu/bad-operands");
    assert_eq!(e.span.unwrap().line, 10);
}

const UNKNOWN_TRIPS: [(&str, &str); 9] = [
    (
        "%s1_s0 = inlined_call_operand.<no memory space> [shape: s32[], index: 0, kind: input, shape index: {}]",
        "",
    ),
    ("%s2_s1 = smov.u32 0", ""),
    ("%s2_s1 = sadd.s32 1, %s2_s1", "Start region 1"),
    ("%p3_p0 = scmp.ne.s32.totalorder %s2_s1, %s1_s0", ""),
    ("%4 = sbr.rel (%p3_p0) target = $region1", ""),
    ("", ""),
    ("", ""),
    ("", ""),
    ("", ""),
];

#[test]
fn a_loop_of_unknown_length_ends_with_a_diagnostic() {
    let e = run(&UNKNOWN_TRIPS, &Inputs::unknown(5_000)).unwrap_err();
    assert_eq!(e.code, "tpu/no-end");
    assert!(e.notes.iter().any(|n| n.contains("scalar operand 0")), "{e}");
}

#[test]
fn a_given_scalar_decides_a_loop() {
    let mut inputs = Inputs::unknown(5_000);
    inputs.scalars.insert(0, 20);
    let (_, outcome) = run(&UNKNOWN_TRIPS, &inputs).unwrap();
    assert_eq!(outcome.bundles, 2 + 20 * 7);
    assert_eq!(outcome.assumptions, []);
    inputs = Inputs::unknown(5_000);
    inputs.default = 3;
    let (_, outcome) = run(&UNKNOWN_TRIPS, &inputs).unwrap();
    assert_eq!(outcome.assumed_branches, 3);
    assert_eq!(outcome.assumptions.len(), 1);
}

#[test]
fn a_branch_to_nowhere_is_not_guessed() {
    let e = run(
        &[("%p1_p0 = pmov 1", ""), ("%2 = sbr.rel (%p1_p0) target = $region5", "")],
        &Inputs::unknown(10),
    );
    assert_eq!(e.unwrap_err().code, "tpu/unknown-target");
    // In a whole listing, only its end has no bundle to be marked at.
    let whole = run(
        &[
            ("%p1_p0 = pmov 1", "Start region 0"),
            ("%2 = sbr.rel (%p1_p0) target = $region5", ""),
            ("", ""),
            ("", ""),
            ("", ""),
            ("", ""),
            ("%s1_s0 = smov.u32 0", "End region 0"),
        ],
        &Inputs::unknown(10),
    );
    assert_eq!(whole.unwrap().1.bundles, 6);
}

#[test]
fn six_delay_slots_end_early_at_marks_and_empty_tails() {
    let stop = |bundles: &[(&str, &str)]| {
        let l = parse(by_hand(bundles), "hand.txt", Chip::Tpu7x).unwrap();
        Program::new(&l, Shadow::Marks, &Placement::default()).unwrap().branches[0].stop
    };
    let branch = ("%2 = sbr.rel (%p1_p0) target = $region5", "");
    let work = ("%s1_s0 = smov.u32 0", "");
    assert_eq!(stop(&[branch, work, work, work, work, work, work, work]), 7);
    assert_eq!(stop(&[branch, work, ("", ""), work, work, work, work, work]), 3);
    assert_eq!(stop(&[branch, work, ("%s1_s0 = smov.u32 0", "Start region 5"), work, work, work, work]), 2);
    assert_eq!(
        stop(&[branch, ("", ""), work, work, work, work, ("%s1_s0 = smov.u32 0", "End region 5"), work]),
        7
    );
}

/// A table of eight words in each memory, and a scalar in a register.
const OPERANDS: &str = "%s1_s0 = inlined_call_operand.hbm [shape: s32[8], index: 0, kind: input, shape index: {}]  ;;  \
    %s2_s1 = inlined_call_operand.vmem [shape: s32[8], index: 1, kind: input, shape index: {}]  ;;  \
    %s3_s2 = inlined_call_operand.smem [shape: s32[8], index: 2, kind: input, shape index: {}]  ;;  \
    %s4_s3 = inlined_call_operand.<no memory space> [shape: s32[], index: 3, kind: input, shape index: {}]";

/// Brings the first two tables into scalar memory, over words that were stored before, and reads a word of each.
const READ: [(&str, &str); 7] = [
    (OPERANDS, ""),
    (
        "%s5_s4 = sshll.u32 %s1_s0, 4  ;;  %s6_s5 = sshll.u32 %s2_s1, 4  ;;  %7 = sst [smem:[#allocation1 + $0x2]] 5",
        "",
    ),
    (
        "%8 = dma.hbm_to_smem /*hbm=*/%s5_s4, /*size_in_granules=*/1, /*smem=*/[#allocation1], \
         /*dst_syncflagno=*/[#allocation2]  ;;  \
         %9 = dma.vmem_to_smem /*vmem=*/%s6_s5, /*size_in_granules=*/1, /*smem=*/[#allocation3], \
         /*dst_syncflagno=*/[#allocation2]",
        "",
    ),
    ("%s10_s6 = sld [smem:[#allocation1 + $0x2]]  ;;  %s11_s7 = sld [smem:[#allocation3 + $0x3]]", ""),
    ("%s12_s8 = sld [smem:[%s3_s2 + $0x4]]  ;;  %s13_s9 = sld [smem:[#allocation1 + $0x7]]", ""),
    ("%s14_s10 = sadd.s32 1, %s4_s3", ""),
    ("", ""),
];

#[test]
fn tables_are_known_in_every_memory() {
    let mut inputs = Inputs::unknown(10_000);
    inputs.give(0, vec![0, 1, 2, 3, 4, 5, 6, 7]);
    inputs.give(1, vec![10, 11, 12, 13, 14, 15, 16, 17]);
    inputs.give(2, vec![20, 21, 22, 23, 24]);
    inputs.give(3, vec![30]);
    let (v, outcome) = run(&READ, &inputs).unwrap();
    assert_eq!(v[6..11], [2, 13, 24, 7, 31]);
    assert_eq!(outcome.assumptions, []);
}

#[test]
fn what_a_transfer_brings_unknown_is_not_what_was_there_before() {
    let mut inputs = Inputs::unknown(10_000);
    inputs.default = 42;
    // The last two words are past the table that is given.
    inputs.give(1, vec![10, 11, 12, 13, 14, 15]);
    let (v, outcome) = run(&READ, &inputs).unwrap();
    assert_eq!(v[6..11], [42, 13, 42, 42, 43]);
    assert_eq!(outcome.assumptions.iter().map(|a| a.count).sum::<u64>(), 4);
}
