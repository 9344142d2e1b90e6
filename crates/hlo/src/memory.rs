//! Where the elements of an array lie in memory.

use crate::{Array, Dtype, Layout};

/// Elements in row-major order, each as its bits.
pub(crate) type Elements = Vec<u32>;

/// Arrays of more elements are not looked into: tables that a program branches on are small.
pub(crate) const LARGEST: usize = 1 << 20;

pub(crate) fn unravel(mut at: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for (i, d) in index.iter_mut().zip(dims).rev() {
        *i = at % (*d).max(1);
        at /= (*d).max(1);
    }
    index
}

pub(crate) fn ravel(index: &[usize], dims: &[usize]) -> Option<usize> {
    index.iter().zip(dims).try_fold(0usize, |at, (i, d)| (i < d).then(|| at * d + i))
}

/// Elements as the words of memory.
pub(crate) fn words(array: &Array, list: &[u32]) -> Option<Vec<u32>> {
    let (places, padded) = places(array)?;
    let (bits, per) = packing(array.dtype)?;
    let mut words = vec![0; padded.div_ceil(per)];
    for (value, place) in list.iter().zip(places) {
        *words.get_mut(place / per)? |= low(*value, bits) << (place % per * bits);
    }
    Some(words)
}

/// The words of memory as elements.
pub(crate) fn elements(array: &Array, words: &[u32]) -> Option<Elements> {
    let (places, _) = places(array)?;
    let (bits, per) = packing(array.dtype)?;
    places.map(|place| Some(low(words.get(place / per)? >> (place % per * bits), bits))).collect()
}

/// Bits of an element, and elements a word.
fn packing(dtype: Dtype) -> Option<(usize, usize)> {
    match dtype.bits() {
        bits @ (1 | 2 | 4 | 8 | 16 | 32) => Some((bits, 32 / bits)),
        _ => None,
    }
}

/// Where each element, in row-major order, lies in memory, and how many places there are with padding.
///
/// The dimensions are ordered major to minor; then each level of tiling splits the last of them by its sizes, padding up,
/// and moves what lies within a tile to the end.
fn places(array: &Array) -> Option<(impl Iterator<Item = usize> + '_, usize)> {
    let row_major;
    let layout = match &array.layout {
        Some(l) if !l.minor_to_major.is_empty() || array.dims.is_empty() => l,
        _ => {
            row_major = Layout { minor_to_major: (0..array.dims.len()).rev().collect(), ..Layout::default() };
            &row_major
        }
    };
    if layout.minor_to_major.len() != array.dims.len() {
        return None;
    }
    // Every axis of memory is a digit of a dimension: index / divisor % size.
    let mut axes: Vec<(usize, usize, usize)> = Vec::new();
    for &d in layout.minor_to_major.iter().rev() {
        axes.push((d, 1, *array.dims.get(d)?));
    }
    for tile in &layout.tiles {
        let sizes = &tile.0;
        // An array of fewer dimensions than its tile has ones before them.
        while axes.len() < sizes.len() {
            axes.insert(0, (usize::MAX, 1, 1));
        }
        let split = axes.split_off(axes.len() - sizes.len());
        let mut within = Vec::new();
        for ((d, divisor, size), &tile) in split.into_iter().zip(sizes) {
            let tile = tile.max(1);
            axes.push((d, divisor.checked_mul(tile)?, size.div_ceil(tile)));
            within.push((d, divisor, tile));
        }
        axes.extend(within);
    }
    let padded = axes.iter().try_fold(1usize, |n, (_, _, size)| n.checked_mul(*size))?;
    if padded > 32 * LARGEST {
        return None;
    }
    let dims = &array.dims;
    let place = move |at: usize| {
        let index = unravel(at, dims);
        axes.iter().fold(0, |place, (d, divisor, size)| {
            let i = index.get(*d).copied().unwrap_or(0);
            place * size + i / divisor % size
        })
    };
    Some(((0..array.elements()).map(place), padded))
}

/// The low `width` bits.
pub(crate) fn low(bits: u32, width: usize) -> u32 {
    if width >= 32 { bits } else { bits & ((1 << width) - 1) }
}
