//! The table of opcode families: what was seen in listings of libtpu 0.0.52 for v5e, v5p, v6e and tpu7x.

use super::{Family, Gives, Latency, Meaning, RowBits, Slot, Unit};

const fn family(
    pattern: &'static str,
    slot: Slot,
    gives: Gives,
    operands: (u8, u8),
    latency: Latency,
    unit: Unit,
    meaning: Meaning,
) -> Family {
    Family { pattern, slot, gives, operands, latency, unit, meaning }
}

/// A scalar operation of two operands.
const fn scalar(pattern: &'static str, meaning: Meaning) -> Family {
    family(pattern, Slot::Salu, Gives::Scalar, (2, 2), Latency::One, Unit::None, meaning)
}

/// A scalar compare.
const fn compare(pattern: &'static str, meaning: Meaning) -> Family {
    family(pattern, Slot::Salu, Gives::Predicate, (2, 2), Latency::Compare, Unit::None, meaning)
}

/// A vector operation whose result the next bundle can use.
const fn vector(pattern: &'static str, operands: (u8, u8)) -> Family {
    family(pattern, Slot::Valu, Gives::Vector, operands, Latency::One, Unit::None, Meaning::None)
}

/// A vector operation of the longer latency.
const fn vector_float(pattern: &'static str, operands: (u8, u8)) -> Family {
    family(pattern, Slot::Valu, Gives::Vector, operands, Latency::VectorFloat, Unit::None, Meaning::None)
}

/// A vector operation that gives a mask.
const fn mask(pattern: &'static str, operands: (u8, u8)) -> Family {
    family(pattern, Slot::Valu, Gives::Mask, operands, Latency::One, Unit::None, Meaning::None)
}

/// An operation on a unit with state that gives no register.
const fn feed(pattern: &'static str, slot: Slot, operands: (u8, u8), unit: Unit) -> Family {
    family(pattern, slot, Gives::Nothing, operands, Latency::One, unit, Meaning::None)
}

/// A pop of a result queue.
const fn pop(pattern: &'static str, operands: (u8, u8), unit: Unit) -> Family {
    family(pattern, Slot::Vpop, Gives::Vector, operands, Latency::One, unit, Meaning::None)
}

/// An operation outside the counted slots.
const fn misc(pattern: &'static str, operands: (u8, u8), meaning: Meaning) -> Family {
    family(pattern, Slot::Misc, Gives::Nothing, operands, Latency::One, Unit::None, meaning)
}

/// A transfer or fence: it takes a scalar slot.
const fn control(pattern: &'static str, operands: (u8, u8), meaning: Meaning) -> Family {
    family(pattern, Slot::Salu, Gives::Nothing, operands, Latency::One, Unit::None, meaning)
}

/// A wait or sync-flag operation: the vendor's table counts it as a vector load.
const fn sync(pattern: &'static str, operands: (u8, u8), meaning: Meaning) -> Family {
    family(pattern, Slot::Vload, Gives::Nothing, operands, Latency::One, Unit::None, meaning)
}

/// Mask logic: the vendor's table counts it as a vector load.
const fn mask_logic(pattern: &'static str, operands: (u8, u8)) -> Family {
    family(pattern, Slot::Vload, Gives::Mask, operands, Latency::One, Unit::None, Meaning::None)
}

/// A name without hardware.
const fn pseudo(pattern: &'static str, gives: Gives, operands: (u8, u8), meaning: Meaning) -> Family {
    family(pattern, Slot::Pseudo, gives, operands, Latency::One, Unit::None, meaning)
}

/// Every family.
pub const FAMILIES: &[Family] = &[
    scalar("sadd.s32", Meaning::Add),
    scalar("ssub.s32", Meaning::Sub),
    family("smul.u32", Slot::Salu, Gives::Scalar, (2, 2), Latency::ScalarMultiply, Unit::None, Meaning::Mul),
    family(
        "smulhi.u32",
        Slot::Salu,
        Gives::Scalar,
        (2, 2),
        Latency::ScalarMultiply,
        Unit::None,
        Meaning::MulHigh,
    ),
    scalar("sand.u32", Meaning::And),
    scalar("sor.u32", Meaning::Or),
    scalar("sxor.u32", Meaning::Xor),
    scalar("sshll.u32", Meaning::Shl),
    scalar("sshllo.u32", Meaning::ShlOnes),
    scalar("sshrl.u32", Meaning::Shr),
    scalar("sshra.s32", Meaning::Sar),
    family("sdivrem.u32", Slot::Salu, Gives::Nothing, (2, 2), Latency::One, Unit::None, Meaning::DivRem),
    family("smov.u32", Slot::Salu, Gives::Scalar, (1, 1), Latency::One, Unit::None, Meaning::Move),
    family(
        "scvt.s32.f32",
        Slot::Salu,
        Gives::Scalar,
        (1, 1),
        Latency::VectorFloat,
        Unit::None,
        Meaning::IntToFloat,
    ),
    compare("sc.u32", Meaning::Carry),
    compare("scmp.eq.{s32,u32}.totalorder", Meaning::Eq),
    compare("scmp.ne.{s32,u32}.totalorder", Meaning::Ne),
    compare("scmp.lt.s32.totalorder", Meaning::LtS),
    compare("scmp.le.s32.totalorder", Meaning::LeS),
    compare("scmp.gt.s32.totalorder", Meaning::GtS),
    compare("scmp.ge.s32.totalorder", Meaning::GeS),
    compare("scmp.lt.u32.totalorder", Meaning::LtU),
    compare("scmp.le.u32.totalorder", Meaning::LeU),
    compare("scmp.gt.u32.totalorder", Meaning::GtU),
    compare("scmp.ge.u32.totalorder", Meaning::GeU),
    compare("por", Meaning::PredOr),
    compare("pnand", Meaning::PredNand),
    family("pneg", Slot::Salu, Gives::Predicate, (1, 1), Latency::Compare, Unit::None, Meaning::PredNot),
    family("pmov", Slot::Salu, Gives::Predicate, (1, 1), Latency::Compare, Unit::None, Meaning::Move),
    family("scalar_select", Slot::Salu, Gives::Scalar, (3, 3), Latency::One, Unit::None, Meaning::Select),
    family(
        "scalar_lea.{vmem,smem,hbm,sflag}",
        Slot::Salu,
        Gives::Scalar,
        (1, 3),
        Latency::One,
        Unit::None,
        Meaning::Lea,
    ),
    family("sld", Slot::Salu, Gives::Scalar, (1, 1), Latency::ScalarLoad, Unit::None, Meaning::Load),
    family("sst", Slot::Salu, Gives::Nothing, (2, 2), Latency::One, Unit::None, Meaning::Store),
    family("sbr.rel", Slot::Salu, Gives::Nothing, (1, 1), Latency::One, Unit::None, Meaning::Branch),
    control("shalt.err", (0, 0), Meaning::Halt),
    control("sfence", (0, 0), Meaning::None),
    family("reloc", Slot::Salu, Gives::Scalar, (1, 1), Latency::One, Unit::None, Meaning::Loader),
    family(
        "scalar_parameter_address",
        Slot::Salu,
        Gives::Scalar,
        (1, 1),
        Latency::One,
        Unit::None,
        Meaning::Loader,
    ),
    pseudo("sphi", Gives::Scalar, (1, 8), Meaning::Alias),
    pseudo("pphi", Gives::Predicate, (1, 8), Meaning::Alias),
    pseudo("vphi", Gives::Vector, (1, 8), Meaning::Alias),
    pseudo("vmphi", Gives::Mask, (1, 8), Meaning::Alias),
    pseudo(
        "int_to_ptr.{hbm,vmem,smem,sflag,sparse_core_sequencer_sflag}",
        Gives::Scalar,
        (1, 1),
        Meaning::Move,
    ),
    pseudo(
        "inlined_call_operand.{hbm,vmem,smem,sflag,<no memory space>}",
        Gives::Scalar,
        (0, 0),
        Meaning::Operand,
    ),
    pseudo("compiler-scheduling-barrier", Gives::Nothing, (0, 0), Meaning::None),
    misc("inlined_call", (0, 64), Meaning::Call),
    control(
        "dma.{hbm_to_vmem,vmem_to_hbm,hbm_to_smem,smem_to_hbm,vmem_to_smem,smem_to_vmem}",
        (4, 7),
        Meaning::Dma,
    ),
    control("dma.general", (4, 10), Meaning::DmaGeneral),
    control("dma.smem_to_host_iova", (4, 8), Meaning::DmaGeneral),
    sync("dma.done.wait", (2, 2), Meaning::DmaWait),
    sync("vsyncadd", (2, 2), Meaning::SyncAdd),
    sync("vsyncadd.remote", (2, 3), Meaning::None),
    sync("vsyncpa", (2, 2), Meaning::None),
    sync("vsyncset{,.done,.notdone}", (2, 2), Meaning::SyncSet),
    sync("vsyncset.remote", (2, 3), Meaning::None),
    sync("vwait.{done,done.trace}", (1, 1), Meaning::SyncWait),
    sync("vwait.{ge,ne,eq,lt}{,.trace}", (2, 2), Meaning::SyncWait),
    sync("vtrace", (1, 1), Meaning::None),
    sync("vdelay", (1, 1), Meaning::None),
    misc("vsettm", (1, 1), Meaning::None),
    feed("vsetrngseed", Slot::Vstore, (1, 1), Unit::None),
    feed("vsetiar.raw.{iar0,iar1}", Slot::Vstore, (1, 1), Unit::None),
    feed("vsyncmov", Slot::Vload, (1, 1), Unit::ToScalar),
    feed("vpush", Slot::Vstore, (1, 1), Unit::ToScalar),
    family("spop", Slot::Salu, Gives::Scalar, (1, 1), Latency::One, Unit::None, Meaning::Pop),
    family("spop.sfrf", Slot::Salu, Gives::Scalar, (1, 1), Latency::One, Unit::None, Meaning::Pop),
    family("spop.drf", Slot::Salu, Gives::Scalar, (1, 1), Latency::One, Unit::None, Meaning::PopRemainder),
    vector_float("v{add,sub,mul,max,min}.{f32,bf16}", (2, 2)),
    vector_float("v{add,sub}.{high,low}.f32.bf16", (2, 2)),
    vector("v{add,sub}.{s32,s16}", (2, 2)),
    vector("v{and,or,xor}.u32{,.u16}", (2, 2)),
    vector("v{min,max}.{u32,s32,u32.u32}", (2, 2)),
    vector("vmul.u32", (2, 2)),
    vector("vmul.u32.u64.{low,high}", (2, 3)),
    vector("v{shll,shrl}.{u32,u16}", (2, 2)),
    vector("vshra.{s32,s16}", (2, 2)),
    vector("v{clz,pcnt}", (1, 1)),
    vector("v{ceil,floor,trunc}.{f32,bf16}", (1, 1)),
    vector("vround.rtne.{f32,bf16}", (1, 1)),
    vector("vclamps.f32", (2, 2)),
    vector("vcvt.{s32.f32,f32.s32}", (1, 1)),
    vector("vmov", (1, 1)),
    vector("vstv", (1, 1)),
    vector("vlaneseq.b32", (0, 0)),
    vector("vsel{,.s32,.u32,.f32}", (3, 3)),
    family("vrng.u32", Slot::Vload, Gives::Vector, (0, 0), Latency::One, Unit::None, Meaning::None),
    vector_float("vrot.slane", (2, 2)),
    vector_float("vperm.slane", (2, 2)),
    vector_float("vcombine.{low,high}", (2, 2)),
    vector_float("vpack.{c,i}.{f32.bf16,b32.b16,b16.b8}", (2, 2)),
    vector_float("vpack.c.f32.eXmY", (2, 3)),
    vector("vunpack.{c,i}.{l,u}.{bf16.f32,s16.s32,s8.bf16,s4.s8,s8.s16,s4.s16}", (1, 1)),
    vector("vunpack.c.{0,1,2,3}.s8.{s32,f32}", (1, 1)),
    vector("vunpack.c.{0,1,2,3}.s8.s32.s8", (1, 2)),
    vector("vunpack.vsel.i.bf16.f32", (2, 3)),
    mask(
        "vcmp.{eq,ne,lt,le,gt,ge}.{f32.partialorder,bf16.partialorder,s32.totalorder,u32.totalorder,s16.totalorder}",
        (2, 2),
    ),
    mask("vc.u32", (2, 2)),
    mask("vcmask", (1, 1)),
    mask("vnez.u8", (1, 1)),
    mask("vweird.{f32,bf16}", (1, 1)),
    mask_logic("vm{and,or,xor}", (2, 2)),
    mask_logic("vm{neg,mov}", (1, 1)),
    mask_logic("vmpackc.low", (2, 2)),
    family("vld", Slot::Vload, Gives::Vector, (1, 1), Latency::One, Unit::None, Meaning::None),
    family("vld.sshfl", Slot::Vload, Gives::Vector, (1, 1), Latency::One, Unit::None, Meaning::None),
    feed("vst{,.sshfl}", Slot::Vstore, (2, 2), Unit::None),
    feed("vst.msk", Slot::Vstore, (3, 3), Unit::None),
    feed("v{exp2,rcp,rsqrt,log2,tanh,erf,sinq,cosq,pow2}.{f32,bf16}", Slot::Eup, (1, 1), Unit::Eup),
    pop("vpop.erf", (1, 1), Unit::EupPop),
    feed("v{add,max,min}.xlane.f32", Slot::Xlu, (1, 1), Unit::XluReduce),
    feed("v{max,min}.index.xlane.f32", Slot::Xlu, (1, 1), Unit::XluReduce),
    feed("v{rot,bcast}.lane.b32", Slot::Xlu, (2, 2), Unit::XluPermute),
    feed("vperm.lane", Slot::Xlu, (2, 2), Unit::XluPermute),
    feed("vset.pattern.permute", Slot::Xlu, (1, 1), Unit::None),
    feed("vxpose.{b32,c.b16}.{start,cont}", Slot::Xlu, (2, 2), Unit::Transpose { last: false }),
    feed("vxpose.{b32,c.b16}.{end,start.end}", Slot::Xlu, (2, 2), Unit::Transpose { last: true }),
    feed("vxpose.binary.c.b16.{start,cont}", Slot::Xlu, (3, 3), Unit::Transpose { last: false }),
    feed("vxpose.binary.c.b16.{end,start.end}", Slot::Xlu, (3, 3), Unit::Transpose { last: true }),
    pop("vpop.{xlane,permute}", (1, 1), Unit::XluPop),
    pop("vpop.trf", (0, 0), Unit::TransposePop),
    feed("vmatprep.{mubr,subr}{,.bf16,.f32,.s8,.u8,.f8e4m3,.f8e5m2}", Slot::Misc, (1, 1), Unit::MatrixFeed),
    feed("vmatprep.{mubr,subr}.msk{,.bf16,.f32,.s8}", Slot::Misc, (2, 2), Unit::MatrixFeed),
    feed(
        "vmatpush{,1,2,3}{,.bf16,.f32,.s8,.u8}{,.xpose}.{msra,msrb}",
        Slot::Matpush,
        (1, 1),
        Unit::MatrixPush,
    ),
    feed(
        "vmatpush{,1,2,3}{,.bf16,.f32,.s8}{,.xpose}.msk.{msra,msrb}",
        Slot::Matpush,
        (2, 2),
        Unit::MatrixPush,
    ),
    feed("vmatpush.lsf.{msra,msrb}", Slot::Matpush, (1, 1), Unit::MatrixPush),
    feed("vllmr", Slot::Misc, (0, 0), Unit::MatrixFeed),
    feed(
        "vmatmul{,.mubr}.bf16{,.vlgmr.msra,.vlgmr.msrb}.gmra{,.mrb}",
        Slot::Matmul,
        (1, 1),
        Unit::Matmul(RowBits::B16),
    ),
    feed(
        "vmatmul{,.mubr}.f32{,.vlgmr.msra,.vlgmr.msrb}.gmra{,.mrb}",
        Slot::Matmul,
        (1, 1),
        Unit::Matmul(RowBits::B32),
    ),
    feed(
        "vmatmul{,.mubr}.{s8,u8}{,.vlgmr.msra,.vlgmr.msrb}.gmra{,.mrb}",
        Slot::Matmul,
        (1, 1),
        Unit::Matmul(RowBits::B8),
    ),
    feed(
        "vmatmul{,.mubr}.msk.bf16{,.vlgmr.msra,.vlgmr.msrb}.gmra{,.mrb}",
        Slot::Matmul,
        (2, 2),
        Unit::Matmul(RowBits::B16),
    ),
    feed(
        "vmatmul{,.mubr}.msk.f32{,.vlgmr.msra,.vlgmr.msrb}.gmra{,.mrb}",
        Slot::Matmul,
        (2, 2),
        Unit::Matmul(RowBits::B32),
    ),
    feed(
        "vmatmul{,.mubr}.msk.s8{,.vlgmr.msra,.vlgmr.msrb}.gmra{,.mrb}",
        Slot::Matmul,
        (2, 2),
        Unit::Matmul(RowBits::B8),
    ),
    feed("vmatmul.lmr.bf16.gmra", Slot::Matmul, (0, 0), Unit::Matmul(RowBits::B16)),
    pop("vpop.{f32,s32}.{mrf,mrb}", (0, 0), Unit::MatrixPop),
    pop("vpop.add.{f32,s32}.mrf", (0, 0), Unit::MatrixPop),
];
