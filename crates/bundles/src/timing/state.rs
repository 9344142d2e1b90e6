//! The machine's state that time depends on, and its form relative to a cycle.

use std::collections::VecDeque;

use super::items::REGISTERS;
use super::memory::Memory;
use super::params::Params;

/// Units of a kind.
pub const UNITS: usize = 4;
/// Result slots of a matrix unit (tpu7x).
pub const SLOTS: usize = 512;

/// Everything pending.
#[derive(Clone, Debug)]
pub struct State {
    /// Cycle at which each register can be used.
    pub ready: Vec<i64>,
    /// Cycle at which each matrix unit is free.
    pub mxu_free: [i64; UNITS],
    /// Cycle at which each matrix unit can take weights.
    pub push_free: [i64; UNITS],
    /// Cycle at which each cross-lane unit is free.
    pub xlu_free: [i64; UNITS],
    /// Cycle at which each cross-lane unit can start another transpose.
    pub transpose_free: [i64; UNITS],
    /// Cycle at which the transpose at hand gives its first row.
    pub transpose_first: [i64; UNITS],
    /// Matrix results in order.
    pub matrix: [VecDeque<i64>; UNITS],
    /// Transposed rows in order.
    pub transposed: [VecDeque<i64>; UNITS],
    /// Cross-lane results in order.
    pub crossed: [VecDeque<i64>; UNITS],
    /// Transcendental results in order.
    pub eup: VecDeque<i64>,
    /// Result slots of matrix units.
    pub slots: Vec<i64>,
    /// Transfers.
    pub memory: Memory,
}

impl State {
    /// Nothing pending.
    pub fn new() -> State {
        State {
            ready: vec![0; REGISTERS],
            mxu_free: [0; UNITS],
            push_free: [0; UNITS],
            xlu_free: [0; UNITS],
            transpose_free: [0; UNITS],
            transpose_first: [0; UNITS],
            matrix: Default::default(),
            transposed: Default::default(),
            crossed: Default::default(),
            eup: VecDeque::new(),
            slots: vec![0; UNITS * SLOTS],
            memory: Memory::default(),
        }
    }

    /// The state relative to `now`: what is past is 0, so that equal futures have equal words.
    pub fn save(&mut self, params: &Params, now: i64, out: &mut Vec<u64>) {
        out.clear();
        sparse(&self.ready, now, out);
        sparse(&self.mxu_free, now, out);
        sparse(&self.push_free, now, out);
        sparse(&self.xlu_free, now, out);
        sparse(&self.transpose_free, now, out);
        sparse(&self.transpose_first, now, out);
        sparse(&self.slots, now, out);
        let queues = self.matrix.iter().chain(&self.transposed).chain(&self.crossed).chain([&self.eup]);
        for q in queues {
            out.push(q.len() as u64);
            out.extend(q.iter().map(|t| (t - now).max(0) as u64));
        }
        self.memory.save(params, now, out);
    }

    /// The state that [`State::save`] wrote, at `now`.
    pub fn load(&mut self, params: &Params, now: i64, words: &[u64]) {
        let mut words = words.iter().copied();
        dense(&mut self.ready, now, &mut words);
        dense(&mut self.mxu_free, now, &mut words);
        dense(&mut self.push_free, now, &mut words);
        dense(&mut self.xlu_free, now, &mut words);
        dense(&mut self.transpose_free, now, &mut words);
        dense(&mut self.transpose_first, now, &mut words);
        dense(&mut self.slots, now, &mut words);
        let queues = self
            .matrix
            .iter_mut()
            .chain(&mut self.transposed)
            .chain(&mut self.crossed)
            .chain([&mut self.eup]);
        for q in queues {
            q.clear();
            for _ in 0..words.next().unwrap_or(0) {
                q.push_back(now + words.next().unwrap_or(0) as i64);
            }
        }
        self.memory = Memory::load(params, now, &mut words);
    }
}

fn sparse(list: &[i64], now: i64, out: &mut Vec<u64>) {
    let at = out.len();
    out.push(0);
    for (i, t) in list.iter().enumerate() {
        if *t > now {
            out.push((i as u64) << 40 | (t - now) as u64);
        }
    }
    let n = (out.len() - at - 1) as u64;
    if let Some(first) = out.get_mut(at) {
        *first = n;
    }
}

fn dense(list: &mut [i64], now: i64, words: &mut impl Iterator<Item = u64>) {
    list.fill(now);
    for _ in 0..words.next().unwrap_or(0) {
        let word = words.next().unwrap_or(0);
        if let Some(t) = list.get_mut((word >> 40) as usize) {
            *t = now + (word & ((1 << 40) - 1)) as i64;
        }
    }
}
