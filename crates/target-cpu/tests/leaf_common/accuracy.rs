//! How far the vector functions are from the true values.

use tilewright_target_cpu::features::CpuFeatures;
use tilewright_target_cpu::math::Math;
use tilewright_target_cpu::runtime::Runtime;

/// Arguments of one call of a compiled function: enough that the call costs nothing.
pub const BLOCK: usize = 4096;

/// `void (ptr in, ptr out)`: one function over `BLOCK` f32 elements.
pub type Map = unsafe extern "C" fn(*const f32, *mut f32);

/// One exported [`Map`] a function, named as the function, working `lanes` at a time.
pub fn module(features: CpuFeatures, lanes: usize) -> String {
    let mut rt = Runtime::new(features);
    let mut maps = String::new();
    for op in Math::ALL {
        let function = rt.unary(op, lanes);
        let (name, v) = (op.name(), format!("<{lanes} x float>"));
        maps += &format!(
            "define void @map_{name}(ptr %in, ptr %out) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %pa = getelementptr float, ptr %in, i64 %i
  %pb = getelementptr float, ptr %out, i64 %i
  %x = load {v}, ptr %pa, align 4
  %y = call {v} {function}({v} %x)
  store {v} %y, ptr %pb, align 4
  %next = add i64 %i, {lanes}
  %more = icmp ult i64 %next, {BLOCK}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"
        );
    }
    rt.text() + &maps
}

/// The true value, by f64 functions whose own error is far below an f32's last place.
pub fn truth(op: Math, x: f32) -> f64 {
    let x = f64::from(x);
    match op {
        Math::Exp => x.exp(),
        Math::Log => x.ln(),
        Math::Tanh => x.tanh(),
        Math::Erf => libm::erf(x),
        Math::Sqrt => x.sqrt(),
        Math::Rsqrt => 1.0 / x.sqrt(),
        Math::Recip => 1.0 / x,
        Math::Floor => x.floor(),
        Math::Round => x.round_ties_even(),
    }
}

/// The error of `got` in units in the last place of the true value, as `MathFact::max_ulp` counts them; infinite where a
/// special value or a zero's sign is wrong.
pub fn error(op: Math, x: f32, got: f32) -> f64 {
    let want = truth(op, x);
    let rounded = want as f32;
    if rounded.is_nan() || got.is_nan() {
        return if rounded.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if want == 0.0 || want.is_infinite() || x == 0.0 && got == 0.0 {
        return if got.to_bits() == rounded.to_bits() { 0.0 } else { f64::INFINITY };
    }
    if got.is_infinite() {
        // Beyond half a step past the greatest finite value infinity is the right answer; before it, a step's error.
        let step = 2f64.powi(104);
        let over = f64::from(f32::MAX) + step - want.abs();
        return if got.is_sign_negative() != (want < 0.0) { f64::INFINITY } else { (over / step).max(0.0) };
    }
    let exponent = (want.abs().to_bits() >> 52) as i32 - 1023;
    (f64::from(got) - want).abs() / 2f64.powi(exponent.clamp(-126, 127) - 23)
}

/// Runs `map` over `patterns` and returns the greatest error with its argument and value.
#[allow(unsafe_code, reason = "calls the compiled function")]
pub fn worst(op: Math, map: Map, patterns: impl Iterator<Item = u32>) -> (f64, f32, f32) {
    let mut input = [0f32; BLOCK];
    let mut output = [0f32; BLOCK];
    let mut worst = (0.0, 0.0, 0.0);
    let mut patterns = patterns.peekable();
    while patterns.peek().is_some() {
        for slot in &mut input {
            *slot = f32::from_bits(patterns.next().unwrap_or(0));
        }
        // SAFETY: both arrays have `BLOCK` elements.
        unsafe { map(input.as_ptr(), output.as_mut_ptr()) };
        for (x, y) in input.iter().zip(&output) {
            let error = error(op, *x, *y);
            if error > worst.0 {
                worst = (error, *x, *y);
            }
        }
    }
    worst
}
