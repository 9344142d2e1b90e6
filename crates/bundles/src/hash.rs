//! A small, fast hasher for maps keyed by numbers.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with [`Mix`] as its hasher.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// Multiply and rotate, as in the `fxhash` family; not for untrusted keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mix(u64);

/// One step of the mix.
#[inline]
pub fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.0 = mix(self.0, u64::from_ne_bytes(*word));
        }
        for b in rest {
            self.0 = mix(self.0, u64::from(*b));
        }
    }

    fn write_u32(&mut self, n: u32) {
        self.0 = mix(self.0, u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = mix(self.0, n);
    }

    fn write_usize(&mut self, n: usize) {
        self.0 = mix(self.0, n as u64);
    }
}
