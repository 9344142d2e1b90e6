//! Operations that only touch registers.

use super::ASSUMED;
use crate::program::{Code, Op, Program};

/// Every register that a 16-bit index can name.
pub type Registers = Box<[u64; 1 << 16]>;

/// The registers at the start of a program.
pub fn registers(program: &Program) -> Registers {
    let mut all = Box::new([0; 1 << 16]);
    for (r, value) in all.iter_mut().zip(&program.registers) {
        *r = *value;
    }
    all
}

/// Executes an operation that only touches registers; false for any other, which is left undone.
#[inline]
pub fn pure(op: &Op, regs: &mut [u64; 1 << 16]) -> bool {
    let (ra, rb) = (regs[usize::from(op.a)], regs[usize::from(op.b)]);
    let (a, b) = (ra as u32, rb as u32);
    let value = match op.code {
        Code::Add => a.wrapping_add(b),
        Code::Sub => a.wrapping_sub(b),
        Code::Mul => a.wrapping_mul(b),
        Code::MulHigh => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        Code::And => a & b,
        Code::Or | Code::PredOr => a | b,
        Code::Xor => a ^ b,
        Code::Shl => a.checked_shl(b).unwrap_or(0),
        Code::ShlOnes => !(!a).checked_shl(b).unwrap_or(0),
        Code::Shr => a.checked_shr(b).unwrap_or(0),
        Code::Sar => ((a as i32) >> b.min(31)) as u32,
        Code::Div => a.checked_div(b).unwrap_or(u32::MAX),
        Code::Rem => a.checked_rem(b).unwrap_or(a),
        Code::Carry => u32::from(a.checked_add(b).is_none()),
        Code::Move => a,
        Code::Eq => u32::from(a == b),
        Code::Ne => u32::from(a != b),
        Code::LtS => u32::from((a as i32) < b as i32),
        Code::LeS => u32::from(a as i32 <= b as i32),
        Code::GtS => u32::from(a as i32 > b as i32),
        Code::GeS => u32::from(a as i32 >= b as i32),
        Code::LtU => u32::from(a < b),
        Code::LeU => u32::from(a <= b),
        Code::GtU => u32::from(a > b),
        Code::GeU => u32::from(a >= b),
        Code::PredNand => u32::from(a & b & 1 == 0),
        Code::PredNot => u32::from(a & 1 == 0),
        Code::IntToFloat => (a as i32 as f32).to_bits(),
        Code::Select => {
            let chosen = if a & 1 == 1 { rb } else { regs[usize::from(op.c)] };
            regs[usize::from(op.dst)] = chosen | (ra & ASSUMED);
            return true;
        }
        _ => return false,
    };
    // An operation of one operand names an unused second one, which is the constant 0.
    regs[usize::from(op.dst)] = u64::from(value) | ((ra | rb) & ASSUMED);
    true
}
