//! Arrays as short text.

use tilewright_dtype::{DType, Tensor};
use tilewright_interp::Values;

/// An array of more elements is shown by its first ones and a checksum.
const WHOLE: usize = 256;
const FIRST: usize = 8;

/// An output: its type, then its rows (a row for each index of all dimensions but the last). `_`: not written, where
/// writes do not combine.
pub fn array(name: &str, values: &Values, combines: bool) -> Result<String, String> {
    let dims: Vec<String> = values.shape.iter().map(usize::to_string).collect();
    let mut text = format!("{name}: {}[{}]\n", values.dtype, dims.join(","));
    let shown = |i: usize| {
        if combines || values.written.iter().any(|r| r.contains(&i)) {
            number(values.v[i], values.dtype)
        } else {
            "_".to_string()
        }
    };
    let n = values.v.len();
    if n > WHOLE {
        let first: Vec<String> = (0..FIRST).map(shown).collect();
        let tensor = Tensor::from_f64(values.dtype, &values.shape, &values.v).map_err(|d| d.to_string())?;
        text += &format!("  {} ... checksum {:016x}\n", first.join(" "), tensor.checksum());
        return Ok(text);
    }
    let width = values.shape.last().copied().unwrap_or(1);
    for row in 0..n / width {
        let all: Vec<String> = (row * width..(row + 1) * width).map(shown).collect();
        text += &format!("  {}\n", all.join(" "));
    }
    Ok(text)
}

/// A whole number as it is, another as the shortest decimal number that rounds to `x` in `dtype`.
fn number(x: f64, dtype: DType) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x.is_nan() { "nan".to_string() } else { format!("{x}") };
    }
    if !dtype.is_float() || (x.fract() == 0.0 && x.abs() < 1e7) {
        return format!("{x}");
    }
    let short = (0..17)
        .filter_map(|digits| format!("{x:.digits$e}").parse::<f64>().ok())
        .find(|&y| dtype.round(y) == x)
        .unwrap_or(x);
    if (1e-5..1e7).contains(&short.abs()) { format!("{short}") } else { format!("{short:e}") }
}
