//! The path of a segment, guard by guard.

/// The outcomes of guards, in order.
pub(super) struct Bits<'w> {
    words: &'w [u64],
    at: usize,
    word: u64,
    left: u32,
}

impl<'w> Bits<'w> {
    /// Of the words of a path.
    pub(super) fn new(words: &'w [u64]) -> Bits<'w> {
        Bits { words, at: 0, left: 0, word: 0 }
    }

    /// The next `n` outcomes, the last one lowest.
    #[inline]
    pub(super) fn take(&mut self, n: u32) -> u64 {
        let mut out = 0;
        let mut need = n;
        while need > 0 {
            if self.left == 0 {
                let Some(w) = self.words.get(self.at) else { return out };
                self.at += 1;
                self.word = *w;
                self.left = 63 - w.leading_zeros().min(63);
                continue;
            }
            let k = need.min(self.left);
            let chunk = (self.word >> (self.left - k)) & (u64::MAX >> (64 - k));
            out = if k == 64 { chunk } else { out << k | chunk };
            self.left -= k;
            need -= k;
        }
        out
    }
}
