//! A small seeded generator: a case repeats from its seed on every machine.

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// A generator whose sequence follows from `seed` and `words`.
    pub fn new(seed: u64, words: &[&str]) -> Rng {
        // FNV-1a over the words, so that each operand of each case has a sequence of its own.
        let mut state = seed ^ 0xcbf2_9ce4_8422_2325;
        for byte in words.iter().flat_map(|w| w.bytes().chain([0])) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Rng(state)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0 .. n`; 0 where `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Uniform in `lo ..= hi`.
    pub fn between(&mut self, lo: i64, hi: i64) -> i64 {
        let span = (hi - lo) as u64 as u128 + 1;
        lo + ((u128::from(self.next()) * span) >> 64) as i64
    }

    /// 1 or -1.
    pub fn sign(&mut self) -> f64 {
        if self.next() >> 63 == 0 { 1.0 } else { -1.0 }
    }

    /// Nearly normal with mean 0 and variance 1: four uniform numbers of 16 bits, at most 3.47 from 0.
    pub fn normal(&mut self) -> f64 {
        let bits = self.next();
        let sum: u64 = (0..4).map(|i| bits >> (16 * i) & 0xffff).sum();
        (sum as f64 / 65536.0 - 2.0 + 2.0 / 65536.0) * 3f64.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn the_numbers_are_spread_as_stated() {
        let mut rng = Rng::new(3, &["x"]);
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        let between: Vec<i64> = (0..1000).map(|_| rng.between(-8, 7)).collect();
        assert_eq!((between.iter().min(), between.iter().max()), (Some(&-8), Some(&7)));
        assert_eq!(rng.below(0), 0);
        let first = |seed, word: &str| Rng::new(seed, &[word]).next();
        assert!(
            first(1, "a") == first(1, "a")
                && first(1, "a") != first(1, "b")
                && first(1, "a") != first(2, "a")
        );
    }
}
