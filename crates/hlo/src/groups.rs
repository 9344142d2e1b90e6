//! Which devices a collective joins.

use std::collections::BTreeMap;

use crate::Instruction;

/// More devices than any slice has: larger texts are not expanded.
const MOST: usize = 1 << 16;

impl Instruction {
    /// The groups of devices that exchange data, from `replica_groups` in any of its four spellings; every device of
    /// `devices` in one group where the list is empty. `None` where there is no such attribute or it cannot be read.
    pub fn replica_groups(&self, devices: usize) -> Option<Vec<Vec<usize>>> {
        let text = self.attribute("replica_groups")?.trim();
        if text.starts_with('{') {
            let groups = lists(text)?;
            return Some(if groups.is_empty() { vec![(0..devices).collect()] } else { groups });
        }
        if let Some(mesh) = text.strip_prefix("mesh[") { mesh_axes(mesh) } else { iota(text) }
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

/// `'x'=4,'y'=2] {'y'}`, after `mesh[`: devices in a box with named axes, joined along some of them. An axis split in parts,
/// or devices in another order, are not read.
fn mesh_axes(text: &str) -> Option<Vec<Vec<usize>>> {
    let (axes, joined) = text.split_once(']')?;
    let axes: Vec<(&str, usize)> = axes
        .split(',')
        .map(|a| {
            let (name, size) = a.trim().split_once('=')?;
            Some((name, size.parse().ok().filter(|n| *n > 0)?))
        })
        .collect::<Option<_>>()?;
    let joined = joined.trim().strip_prefix('{')?.strip_suffix('}')?;
    let joined: Vec<&str> = joined.split(',').map(str::trim).collect();
    if !joined.iter().all(|j| axes.iter().any(|(name, _)| name == j)) {
        return None;
    }
    let total = axes.iter().try_fold(1usize, |n, (_, size)| n.checked_mul(*size)).filter(|n| *n <= MOST)?;
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for device in 0..total {
        // What a device has along the axes that are not joined names its group.
        let (mut rest, mut stride, mut group) = (device, 1, 0);
        for (name, size) in axes.iter().rev() {
            if !joined.contains(name) {
                group += rest % size * stride;
            }
            stride *= size;
            rest /= size;
        }
        groups.entry(group).or_default().push(device);
    }
    Some(groups.into_values().collect())
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
        assert_eq!(mesh_axes("'x'=2,'y'=2] {'y'}").unwrap(), [[0, 1], [2, 3]]);
        assert_eq!(mesh_axes("'x'=2,'y'=3] {'x'}").unwrap(), [[0, 3], [1, 4], [2, 5]]);
        assert_eq!(mesh_axes("'x'=2,'y'=2] {'x','y'}").unwrap(), [[0, 1, 2, 3]]);
        assert_eq!(mesh_axes("'x'=2] {'z'}"), None);
        assert_eq!(mesh_axes("'x'=4] {'x':(1)2}"), None);
        assert_eq!(iota("[2,2,2]<=[8]").unwrap().len(), 4);
        for wrong in ["[2,4]<=[4,2]T(1,1)", "[2,3]<=[4]", "[0,0]<=[4]", "[2]<=", "[2,2]<=[99999999,99999999]"]
        {
            assert_eq!(iota(wrong), None, "{wrong}");
        }
    }
}
