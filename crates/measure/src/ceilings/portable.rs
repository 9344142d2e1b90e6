//! What the compiler makes of plain loops: the ceilings of processors that have no assembly here.

use std::hint::black_box;
use std::ops::{Add, Mul};

/// Operations of one iteration of [`multiply_add`].
#[cfg_attr(target_arch = "x86_64", expect(dead_code, reason = "only the test of the loops runs there"))]
pub(super) const FLOPS: f64 = 2.0 * LANES as f64;

const LANES: usize = 64;

/// Multiplies and adds on 64 independent accumulators, `n` times.
pub(super) fn multiply_add<T: Copy + From<u8> + Mul<Output = T> + Add<Output = T>>(n: u64) {
    let (a, b) = black_box((T::from(1), T::from(1)));
    let mut accumulators = [T::from(0); LANES];
    for _ in 0..n {
        for x in &mut accumulators {
            *x = *x * a + b;
        }
    }
    black_box(accumulators);
}

/// Reads every word.
pub(super) fn read(from: &[u64]) {
    black_box(black_box(from).iter().fold(0u64, |sum, &word| sum.wrapping_add(word)));
}

/// Copies; processors without assembly here have no separate streaming copy.
pub(super) fn copy(from: &[u64], to: &mut [u64], _stream: bool) {
    black_box(to).copy_from_slice(black_box(from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_return() {
        multiply_add::<f32>(10);
        multiply_add::<f64>(10);
        read(&[1, 2, 3]);
        let mut to = [0; 3];
        copy(&[1, 2, 3], &mut to, true);
        assert_eq!(to, [1, 2, 3]);
    }
}
