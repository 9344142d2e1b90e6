//! Conversions between `<N x storage>` and `<N x float>`, each rounded once to nearest even.
//!
//! | dtype | decode | encode |
//! |---|---|---|
//! | f64 | rounded to f32 | exact |
//! | f32 | identity | identity |
//! | bf16 | exact | overflow to infinity; NaN quiet, sign and payload kept |
//! | f16 | exact | overflow to infinity; NaN quiet |
//! | f8e5m2 | exact | overflow to infinity; NaN quiet |
//! | f8e4m3fn | exact | beyond 464 to NaN (`0x7f` with the sign), infinity too |
//! | i32 | rounded to f32 | truncated, saturated; NaN to 0 |
//! | i8, u8, i4 | exact | truncated, saturated; NaN to 0 |
//! | bool | 0.0 or 1.0 | whether x is not 0; NaN is not |
//!
//! Subnormals are exact in both directions: `vcvtneps2bf16`, which flushes them, is not used. i4 is one element a byte here,
//! sign-extended; [`Runtime::unpack_i4`] and [`Runtime::pack_i4`] go between that and memory's two a byte.
//!
//! The magic-number steps (add a power of two so that the sum's last place is the target's, subtract its bits) are
//! Giesen's `float_to_half_fast3_rtne`; they assume the default rounding mode.

use tilewright_dtype::DType;

use crate::runtime::{Body, Runtime, float_constant, mask, splat, storage_type};

impl Runtime {
    /// `<N x float> @name(<N x storage>)` for storage of `from` ([`storage_type`]); returns the name.
    pub fn decode(&mut self, from: DType, lanes: usize) -> String {
        let name = format!("@tw.decode.{from}.v{lanes}");
        self.define(&name, |rt| {
            let mut c = Convert { lanes, body: Body::default() };
            let f16c = rt.features().f16c;
            let result = c.decode(from, f16c);
            c.finish(&name, storage_type(from), "float", &result)
        });
        name
    }

    /// `<N x storage> @name(<N x float>)` for storage of `to` ([`storage_type`]); returns the name.
    pub fn encode(&mut self, to: DType, lanes: usize) -> String {
        let name = format!("@tw.encode.{to}.v{lanes}");
        self.define(&name, |rt| {
            let mut c = Convert { lanes, body: Body::default() };
            let result = c.encode(to, rt);
            c.finish(&name, "float", storage_type(to), &result)
        });
        name
    }

    /// `<N x i8> @name(<N/2 x i8>)`: the two nibbles of each byte, low first, sign-extended. `lanes` is N, even.
    pub fn unpack_i4(&mut self, lanes: usize) -> String {
        let name = format!("@tw.unpack.i4.v{lanes}");
        let half = lanes / 2;
        self.define(&name, |_| {
            let mut b = Body::default();
            let ty = format!("<{half} x i8>");
            let four = splat(half, "i8", 4);
            let low = b.bind(format!("shl {ty} %x, {four}"));
            let low = b.bind(format!("ashr {ty} {low}, {four}"));
            let high = b.bind(format!("ashr {ty} %x, {four}"));
            let order = mask((0..lanes).map(|l| l / 2 + l % 2 * half));
            let both = b.bind(format!("shufflevector {ty} {low}, {ty} {high}, {order}"));
            b.line(format!("ret <{lanes} x i8> {both}"));
            b.finish(format!("define internal <{lanes} x i8> {name}({ty} %x) alwaysinline nounwind"))
        });
        name
    }

    /// `<N/2 x i8> @name(<N x i8>)`: the low nibbles of two neighbours in a byte, the first one low. `lanes` is N, even.
    pub fn pack_i4(&mut self, lanes: usize) -> String {
        let name = format!("@tw.pack.i4.v{lanes}");
        let half = lanes / 2;
        self.define(&name, |_| {
            let mut b = Body::default();
            let (whole, ty) = (format!("<{lanes} x i8>"), format!("<{half} x i8>"));
            let mut pick = |odd: usize| {
                let order = mask((0..half).map(|l| 2 * l + odd));
                b.bind(format!("shufflevector {whole} %x, {whole} poison, {order}"))
            };
            let (low, high) = (pick(0), pick(1));
            let low = b.bind(format!("and {ty} {low}, {}", splat(half, "i8", 15)));
            let high = b.bind(format!("shl {ty} {high}, {}", splat(half, "i8", 4)));
            let both = b.bind(format!("or {ty} {low}, {high}"));
            b.line(format!("ret {ty} {both}"));
            b.finish(format!("define internal {ty} {name}({whole} %x) alwaysinline nounwind"))
        });
        name
    }
}

/// How a small float lies in its bits, as the integer steps need it.
struct Small {
    /// Stored mantissa bits.
    mantissa: u32,
    /// f32's exponent bias minus this format's.
    rebias: u32,
    /// The smallest normal number.
    min_normal: f32,
    /// 2^23 times the smallest subnormal: adding it leaves subnormals rounded in the sum's low bits.
    magic: f32,
    /// Magnitudes above this take `overflow`.
    limit: f32,
    overflow: u32,
    nan: u32,
    bits: u32,
}

const F16: Small = Small {
    mantissa: 10,
    rebias: 112,
    min_normal: 6.103_515_6e-5,
    magic: 0.5,
    limit: 65536.0,
    overflow: 0x7c00,
    nan: 0x7e00,
    bits: 16,
};
const E5M2: Small = Small {
    mantissa: 2,
    rebias: 112,
    min_normal: 6.103_515_6e-5,
    magic: 128.0,
    limit: 65536.0,
    overflow: 0x7c,
    nan: 0x7e,
    bits: 8,
};
const E4M3: Small = Small {
    mantissa: 3,
    rebias: 120,
    min_normal: 0.015_625,
    magic: 16384.0,
    limit: 464.0,
    overflow: 0x7f,
    nan: 0x7f,
    bits: 8,
};

struct Convert {
    lanes: usize,
    body: Body,
}

impl Convert {
    fn finish(mut self, name: &str, from: &str, to: &str, result: &str) -> String {
        let n = self.lanes;
        self.body.line(format!("ret <{n} x {to}> {result}"));
        self.body
            .finish(format!("define internal <{n} x {to}> {name}(<{n} x {from}> %x) alwaysinline nounwind"))
    }

    fn decode(&mut self, from: DType, f16c: bool) -> String {
        match from {
            DType::F32 => "%x".to_string(),
            DType::F64 => self.cast("fptrunc", "double", "%x", "float"),
            DType::BF16 => {
                let wide = self.cast("zext", "i16", "%x", "i32");
                let bits = self.int("shl", &wide, 16);
                self.as_float(&bits)
            }
            DType::F16 if f16c => self.extend_half("%x"),
            DType::F16 => {
                let wide = self.cast("zext", "i16", "%x", "i32");
                self.decode_small(&wide, &F16)
            }
            DType::F8E5M2 if f16c => {
                // f8e5m2 is the upper half of f16.
                let wide = self.cast("zext", "i8", "%x", "i16");
                let half = self.body.bind(format!(
                    "shl <{0} x i16> {wide}, {1}",
                    self.lanes,
                    splat(self.lanes, "i16", 8)
                ));
                self.extend_half(&half)
            }
            DType::F8E5M2 => {
                let wide = self.cast("zext", "i8", "%x", "i32");
                self.decode_small(&wide, &E5M2)
            }
            DType::F8E4M3 if f16c => self.decode_e4m3_as_half(),
            DType::F8E4M3 => {
                let wide = self.cast("zext", "i8", "%x", "i32");
                self.decode_small(&wide, &E4M3)
            }
            DType::I32 => self.cast("sitofp", "i32", "%x", "float"),
            DType::I8 | DType::I4 => {
                let wide = self.cast("sext", "i8", "%x", "i32");
                self.cast("sitofp", "i32", &wide, "float")
            }
            DType::U8 => {
                let wide = self.cast("zext", "i8", "%x", "i32");
                self.cast("sitofp", "i32", &wide, "float")
            }
            DType::Bool => {
                let n = self.lanes;
                let set = self.body.bind(format!("icmp ne <{n} x i8> %x, zeroinitializer"));
                self.cast("uitofp", "i1", &set, "float")
            }
        }
    }

    fn encode(&mut self, to: DType, rt: &mut Runtime) -> String {
        let n = self.lanes;
        match to {
            DType::F32 => "%x".to_string(),
            DType::F64 => self.cast("fpext", "float", "%x", "double"),
            DType::BF16 => {
                let bits = self.as_int("%x");
                let upper = self.int("lshr", &bits, 16);
                let odd = self.int("and", &upper, 1);
                let half = self.int("add", &odd, 0x7fff);
                let sum = self.body.bind(format!("add <{n} x i32> {bits}, {half}"));
                let rounded = self.int("lshr", &sum, 16);
                let quiet = self.int("or", &upper, 0x40);
                let nan = self.body.bind(format!("fcmp uno <{n} x float> %x, %x"));
                let chosen = self.select(&nan, "i32", &quiet, &rounded);
                self.cast("trunc", "i32", &chosen, "i16")
            }
            DType::F16 if rt.features().f16c => {
                let half = self.cast("fptrunc", "float", "%x", "half");
                self.cast("bitcast", "half", &half, "i16")
            }
            DType::F16 => self.encode_small(&F16),
            DType::F8E5M2 => self.encode_small(&E5M2),
            DType::F8E4M3 => self.encode_small(&E4M3),
            DType::I8 => self.encode_int(rt, -128.0, 127.0, "i8"),
            DType::U8 => self.encode_int(rt, 0.0, 255.0, "i8"),
            DType::I4 => self.encode_int(rt, -8.0, 7.0, "i8"),
            DType::I32 => {
                // 2^31 - 1 is no f32: clamp to the greatest f32 below 2^31, then patch what was beyond it.
                let whole = self.encode_int(rt, -2_147_483_648.0, 2_147_483_520.0, "i32");
                let limit = splat(n, "float", float_constant(2_147_483_648.0));
                let over = self.body.bind(format!("fcmp oge <{n} x float> %x, {limit}"));
                self.select(&over, "i32", &splat(n, "i32", i32::MAX), &whole)
            }
            DType::Bool => {
                let set = self.body.bind(format!("fcmp une <{n} x float> %x, zeroinitializer"));
                self.cast("zext", "i1", &set, "i8")
            }
        }
    }

    /// f32 from the pattern `bits` (i32 lanes) of a small float, in integer steps.
    fn decode_small(&mut self, bits: &str, s: &Small) -> String {
        let n = self.lanes;
        let to_mantissa = 23 - s.mantissa;
        let magnitude = self.int("and", bits, (1u32 << (s.bits - 1)) - 1);
        let sign = self.int("and", bits, 1u32 << (s.bits - 1));
        let sign = self.int("shl", &sign, 32 - s.bits);
        let shifted = self.int("shl", &magnitude, to_mantissa);
        let normal = self.int("add", &shifted, s.rebias << 23);
        let whole = self.cast("sitofp", "i32", &magnitude, "float");
        // Subnormals are integers times the smallest one.
        let unit = splat(n, "float", float_constant(s.magic / 8_388_608.0));
        let small = self.body.bind(format!("fmul <{n} x float> {whole}, {unit}"));
        let small = self.as_int(&small);
        let below = self.compare("ult", &magnitude, 1 << s.mantissa);
        let finite = self.select(&below, "i32", &small, &normal);
        let (special, value) = if s.overflow == s.nan {
            (self.compare("eq", &magnitude, s.nan), splat(n, "i32", 0x7fc0_0000))
        } else {
            (self.compare("uge", &magnitude, s.overflow), self.int("or", &shifted, 0x7f80_0000))
        };
        let value = self.select(&special, "i32", &value, &finite);
        let value = self.body.bind(format!("or <{n} x i32> {value}, {sign}"));
        self.as_float(&value)
    }

    /// f32 from f8e4m3fn by way of f16: with exponent and mantissa moved to f16's places the value is 2^-8 of what it
    /// should be, subnormals too. The pattern of NaN comes out as 480, which no other pattern does.
    fn decode_e4m3_as_half(&mut self) -> String {
        let n = self.lanes;
        let wide = self.cast("sext", "i8", "%x", "i16");
        let half = self.body.bind(format!("shl <{n} x i16> {wide}, {}", splat(n, "i16", 7)));
        // The second copy of the sign goes.
        let half = self.body.bind(format!("and <{n} x i16> {half}, {}", splat(n, "i16", 0xbf80_u16 as i16)));
        let value = self.extend_half(&half);
        let scale = splat(n, "float", float_constant(256.0));
        let value = self.body.bind(format!("fmul <{n} x float> {value}, {scale}"));
        let bits = self.as_int(&value);
        let magnitude = self.int("and", &bits, 0x7fff_ffff);
        let nan = self.compare("eq", &magnitude, 480f32.to_bits());
        let quiet = self.int("or", &bits, 0x7fc0_0000);
        let bits = self.select(&nan, "i32", &quiet, &bits);
        self.as_float(&bits)
    }

    /// The pattern of a small float from f32, in integer steps.
    fn encode_small(&mut self, s: &Small) -> String {
        let n = self.lanes;
        let drop = 23 - s.mantissa;
        let bits = self.as_int("%x");
        let magnitude = self.int("and", &bits, 0x7fff_ffff);
        let sign = self.int("lshr", &bits, 32 - s.bits);
        let sign = self.int("and", &sign, 1u32 << (s.bits - 1));
        let last = self.int("lshr", &magnitude, drop);
        let odd = self.int("and", &last, 1);
        // Rebias and half a unit in the last place in one wrapping constant.
        let half = ((1u32 << (drop - 1)) - 1).wrapping_sub(s.rebias << 23);
        let sum = self.int("add", &magnitude, half);
        let sum = self.body.bind(format!("add <{n} x i32> {sum}, {odd}"));
        let normal = self.int("lshr", &sum, drop);
        let value = self.as_float(&magnitude);
        let small = self
            .body
            .bind(format!("fadd <{n} x float> {value}, {}", splat(n, "float", float_constant(s.magic))));
        let small = self.as_int(&small);
        let small = self.int("sub", &small, s.magic.to_bits());
        let below = self.compare("ult", &magnitude, s.min_normal.to_bits());
        let finite = self.select(&below, "i32", &small, &normal);
        let over = self.compare("ugt", &magnitude, s.limit.to_bits());
        let value = self.select(&over, "i32", &splat(n, "i32", s.overflow), &finite);
        let nan = self.compare("ugt", &magnitude, 0x7f80_0000);
        let value = self.select(&nan, "i32", &splat(n, "i32", s.nan), &value);
        let value = self.body.bind(format!("or <{n} x i32> {value}, {sign}"));
        self.cast("trunc", "i32", &value, if s.bits == 16 { "i16" } else { "i8" })
    }

    /// Truncation toward zero after clamping to `low..=high`; NaN becomes 0.
    fn encode_int(&mut self, rt: &mut Runtime, low: f32, high: f32, to: &str) -> String {
        let n = self.lanes;
        let ty = format!("<{n} x float>");
        let ordered = self.body.bind(format!("fcmp ord {ty} %x, %x"));
        let x = self.select(&ordered, "float", "%x", "zeroinitializer");
        let mut clamp = |x: &str, f: &str, limit: f32| {
            rt.declare(format!("declare {ty} @llvm.{f}.v{n}f32({ty}, {ty})"));
            let limit = splat(n, "float", float_constant(limit));
            self.body.bind(format!("call {ty} @llvm.{f}.v{n}f32({ty} {x}, {ty} {limit})"))
        };
        let x = clamp(&x, "maxnum", low);
        let x = clamp(&x, "minnum", high);
        let whole = self.cast("fptosi", "float", &x, "i32");
        if to == "i32" { whole } else { self.cast("trunc", "i32", &whole, to) }
    }

    fn extend_half(&mut self, bits: &str) -> String {
        let half = self.cast("bitcast", "i16", bits, "half");
        self.cast("fpext", "half", &half, "float")
    }

    fn cast(&mut self, op: &str, from: &str, x: &str, to: &str) -> String {
        let n = self.lanes;
        self.body.bind(format!("{op} <{n} x {from}> {x} to <{n} x {to}>"))
    }

    fn as_int(&mut self, x: &str) -> String {
        self.cast("bitcast", "float", x, "i32")
    }

    fn as_float(&mut self, x: &str) -> String {
        self.cast("bitcast", "i32", x, "float")
    }

    /// `op` of i32 lanes with a constant.
    fn int(&mut self, op: &str, x: &str, constant: u32) -> String {
        let n = self.lanes;
        self.body.bind(format!("{op} <{n} x i32> {x}, {}", splat(n, "i32", constant)))
    }

    fn compare(&mut self, predicate: &str, x: &str, constant: u32) -> String {
        let n = self.lanes;
        self.body.bind(format!("icmp {predicate} <{n} x i32> {x}, {}", splat(n, "i32", constant)))
    }

    fn select(&mut self, condition: &str, ty: &str, yes: &str, no: &str) -> String {
        let n = self.lanes;
        self.body.bind(format!("select <{n} x i1> {condition}, <{n} x {ty}> {yes}, <{n} x {ty}> {no}"))
    }
}
