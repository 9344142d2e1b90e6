//! Sizes of printed shapes.

/// Bytes of a printed shape, `bf16[512,512]`; 0 where it does not read.
pub fn shape_bytes(shape: &str) -> u64 {
    let Some((dtype, dims)) = shape.split_once('[') else { return 0 };
    let bits: u64 = match dtype {
        "pred" => 8,
        d => d
            .trim_start_matches(|c: char| c.is_ascii_alphabetic())
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .and_then(|n| n.parse().ok())
            .unwrap_or(32),
    };
    let inner = dims.split(']').next().unwrap_or("");
    let elements = inner
        .split(',')
        .map(str::trim)
        .filter(|d| !d.is_empty())
        .fold(1u64, |n, d| n.saturating_mul(d.trim_start_matches("<=").parse().unwrap_or(1)));
    elements.saturating_mul(bits).div_ceil(8)
}
