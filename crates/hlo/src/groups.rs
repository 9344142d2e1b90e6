//! Which devices a collective joins.

use crate::Instruction;

/// More devices than any slice has: larger texts are not expanded.
const MOST: usize = 1 << 16;

impl Instruction {
    /// The groups of devices that exchange data, from `replica_groups` in any of its three spellings; every device of
    /// `devices` in one group where the list is empty. `None` where there is no such attribute or it cannot be read.
    pub fn replica_groups(&self, devices: usize) -> Option<Vec<Vec<usize>>> {
        let text = self.attribute("replica_groups")?.trim();
        if text.starts_with('{') {
            let groups = lists(text)?;
            return Some(if groups.is_empty() { vec![(0..devices).collect()] } else { groups });
        }
        iota(text)
    }

    /// From which device to which a `collective-permute` sends.
    pub fn source_target_pairs(&self) -> Option<Vec<(usize, usize)>> {
        let pairs = lists(self.attribute("source_target_pairs")?.trim())?;
        pairs.into_iter().map(|p| <[usize; 2]>::try_from(p).ok().map(|[a, b]| (a, b))).collect()
    }
}

/// `{{0,1},{2,3}}`
fn lists(text: &str) -> Option<Vec<Vec<usize>>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let groups = inner.split('{').map(|g| g.trim_end_matches([',', ' ', '}'])).filter(|g| !g.is_empty());
    groups.map(|g| g.split(',').map(|n| n.trim().parse().ok()).collect()).collect()
}

/// `[2,4]<=[4,2]T(1,0)`: the numbers from 0 in a box of the right shape, its axes permuted, cut into groups.
fn iota(text: &str) -> Option<Vec<Vec<usize>>> {
    let (groups, rest) = text.split_once("<=")?;
    let numbers = |t: &str| -> Option<Vec<usize>> {
        t.trim_matches(['[', ']', '(', ')']).split(',').map(|n| n.trim().parse().ok()).collect()
    };
    let (shape, order) = match rest.split_once('T') {
        Some((shape, order)) => (numbers(shape)?, numbers(order)?),
        None => (numbers(rest)?, (0..numbers(rest)?.len()).collect()),
    };
    let groups = numbers(groups)?;
    let size = *groups.last()?;
    let total = shape.iter().try_fold(1usize, |n, &s| n.checked_mul(s)).filter(|n| (1..=MOST).contains(n))?;
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..shape.len()).collect::<Vec<_>>() || size == 0 || total % size != 0 {
        return None;
    }
    let strides: Vec<usize> = (0..shape.len()).map(|d| shape.iter().skip(d + 1).product()).collect();
    let ids = (0..total).map(|mut n| {
        let mut id = 0;
        for &axis in order.iter().rev() {
            id += n % shape[axis] * strides[axis];
            n /= shape[axis];
        }
        id
    });
    Some(ids.collect::<Vec<_>>().chunks(size).map(<[usize]>::to_vec).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_in_every_spelling() {
        assert_eq!(lists("{{0,1},{2,3}}").unwrap(), [[0, 1], [2, 3]]);
        assert!(lists("{}").unwrap().is_empty());
        assert_eq!(iota("[2,2]<=[4]").unwrap(), [[0, 1], [2, 3]]);
        assert_eq!(iota("[2,4]<=[4,2]T(1,0)").unwrap(), [[0, 2, 4, 6], [1, 3, 5, 7]]);
        assert_eq!(iota("[2,2,2]<=[8]").unwrap().len(), 4);
        for wrong in ["[2,4]<=[4,2]T(1,1)", "[2,3]<=[4]", "[0,0]<=[4]", "[2]<=", "[2,2]<=[99999999,99999999]"]
        {
            assert_eq!(iota(wrong), None, "{wrong}");
        }
    }
}
