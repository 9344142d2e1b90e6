//! Numbers for people: three digits and a unit. JSON never goes through here.

/// `1.23 ms`.
pub fn seconds(s: f64) -> String {
    scaled(s, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
}

/// `48 KiB`.
pub fn bytes(b: f64) -> String {
    let (kib, mib) = (1024.0, 1024.0 * 1024.0);
    scaled(b, &[(mib * mib, "TiB"), (mib * kib, "GiB"), (mib, "MiB"), (kib, "KiB"), (1.0, "B")])
}

/// `2.5 GB/s`, in powers of ten as bandwidths are given.
pub fn bandwidth(b: f64) -> String {
    scaled(b, &[(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1.0, "B/s")])
}

/// `140 GFLOP/s`.
pub fn flop_rate(f: f64) -> String {
    scaled(f, &[(1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1.0, "FLOP/s")])
}

/// `73 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// The value in as many digits as tell it apart, in powers of ten where it is very large or small.
pub fn exact(value: f64) -> String {
    if value == 0.0 || (1e-4..1e9).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// The value in the largest unit in which it is at least 1, else in the last.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let unit = units.iter().find(|(size, _)| value.abs() >= *size * 0.9995).or(units.last());
    match unit {
        Some((size, name)) => format!("{} {name}", digits(value / size)),
        None => digits(value),
    }
}

/// Three significant digits.
pub fn digits(value: f64) -> String {
    let places = match value.abs() {
        v if v >= 99.95 || v == 0.0 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_the_fitting_unit() {
        assert_eq!(seconds(1.2345e-3), "1.23 ms");
        assert_eq!(seconds(0.99996e-3), "1.00 ms");
        assert_eq!(seconds(4.2e-10), "0.420 ns");
        assert_eq!(seconds(0.0), "0 ns");
        assert_eq!(bytes(49152.0), "48.0 KiB");
        assert_eq!(bytes(7.0), "7.00 B");
        assert_eq!(flop_rate(140.2e9), "140 GFLOP/s");
        assert_eq!(bandwidth(2.5e9), "2.50 GB/s");
        assert_eq!(percent(0.731), "73.1 %");
        assert_eq!(
            (exact(0.25), exact(-3e-41), exact(f64::NAN)),
            ("0.25".into(), "-3e-41".into(), "NaN".into())
        );
    }
}
