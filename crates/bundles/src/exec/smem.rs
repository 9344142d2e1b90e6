//! Scalar memory: pages of words that are written on demand.

use crate::hash::FastMap;

/// Words of a page.
const PAGE: usize = 256;
/// A word that nothing wrote.
const UNWRITTEN: u64 = u64::MAX;

/// Scalar memory.
#[derive(Clone, Debug, Default)]
pub struct Smem {
    index: FastMap<u32, u32>,
    pages: Vec<[u64; PAGE]>,
    last: Option<(u32, u32)>,
}

impl Smem {
    /// The word at `address`, if something wrote it.
    pub fn load(&mut self, address: u32) -> Option<u64> {
        let page = self.page(address)?;
        let word = self.pages.get(page as usize)?.get(address as usize % PAGE).copied()?;
        (word != UNWRITTEN).then_some(word)
    }

    /// Writes the word at `address`.
    pub fn store(&mut self, address: u32, value: u64) {
        let page = match self.page(address) {
            Some(p) => p,
            None => {
                let p = self.pages.len() as u32;
                self.pages.push([UNWRITTEN; PAGE]);
                self.index.insert(address / PAGE as u32, p);
                p
            }
        };
        if let Some(word) = self.pages.get_mut(page as usize).and_then(|p| p.get_mut(address as usize % PAGE))
        {
            *word = value;
        }
    }

    /// Takes back what is known of `count` words from `address`.
    pub fn forget(&mut self, address: u32, count: u32) {
        let mut at = address;
        let end = u64::from(address) + u64::from(count);
        while u64::from(at) < end {
            let next = (u64::from(at / PAGE as u32) + 1) * PAGE as u64;
            let stop = next.min(end);
            if let Some(page) = self.page(at).and_then(|p| self.pages.get_mut(p as usize)) {
                let first = at as usize % PAGE;
                let words = (stop - u64::from(at)) as usize;
                page.iter_mut().skip(first).take(words).for_each(|w| *w = UNWRITTEN);
            }
            let Ok(stop) = u32::try_from(stop) else { break };
            at = stop;
        }
    }

    fn page(&mut self, address: u32) -> Option<u32> {
        let number = address / PAGE as u32;
        if let Some((n, p)) = self.last
            && n == number
        {
            return Some(p);
        }
        let page = self.index.get(&number).copied()?;
        self.last = Some((number, page));
        Some(page)
    }
}
