//! What a stretch of execution cost.

use super::items::NARROW;

/// What a stretch of execution cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Cycles.
    pub cycles: u64,
    /// Stall cycles by cause, in the order of [`Cause::ALL`].
    pub stalls: [u64; 11],
    /// Stalls by bundle: bundle, cause, cycles.
    pub by_bundle: Vec<(u32, u8, u32)>,
    /// Guarded operations executed, by slot class.
    pub guarded: [u64; 11],
    /// Cycles that matrix units were taken, over all units.
    pub matrix_busy: u64,
    /// Result registers of matrix multiplies, over all units: of rows of 16 and 32 bits, and of 8 bits.
    pub matrix_results: [u64; 2],
    /// Cycles that weights of matrix units were taken, over all units.
    pub push_busy: u64,
    /// Cycles that cross-lane units were taken, over all units.
    pub xlu_busy: u64,
    /// Pops of queues that held nothing.
    pub underflows: u64,
    /// Waits on flags that no transfer in flight counts.
    pub waits_for_nothing: u64,
}

impl Delta {
    /// Nothing, with the list's room kept.
    pub fn clear(&mut self) {
        *self = Delta { by_bundle: std::mem::take(&mut self.by_bundle), ..Delta::default() };
        self.by_bundle.clear();
    }

    /// Counts the results of one multiply, marked where its rows are narrow; how many they are.
    pub fn multiplied(&mut self, marked: u16) -> u16 {
        let results = marked & !NARROW;
        let [wide, narrow] = &mut self.matrix_results;
        *(if marked & NARROW == 0 { wide } else { narrow }) += u64::from(results);
        results
    }

    /// Adds the stalls by bundle to a table by bundle and cause.
    pub fn spread(&self, stalls: &mut [[u64; 11]], times: u64) {
        for (bundle, cause, cycles) in &self.by_bundle {
            if let Some(n) = stalls.get_mut(*bundle as usize).and_then(|s| s.get_mut(usize::from(*cause))) {
                *n += u64::from(*cycles) * times;
            }
        }
    }

    /// Adds `times` of another's totals (not its stalls by bundle).
    pub fn add(&mut self, other: &Delta, times: u64) {
        self.cycles += other.cycles * times;
        for (a, b) in self.stalls.iter_mut().zip(other.stalls) {
            *a += b * times;
        }
        for (a, b) in self.guarded.iter_mut().zip(other.guarded) {
            *a += b * times;
        }
        self.matrix_busy += other.matrix_busy * times;
        for (a, b) in self.matrix_results.iter_mut().zip(other.matrix_results) {
            *a += b * times;
        }
        self.push_busy += other.push_busy * times;
        self.xlu_busy += other.xlu_busy * times;
        self.underflows += other.underflows * times;
        self.waits_for_nothing += other.waits_for_nothing * times;
    }
}
