//! What an instruction yields where the text alone tells: constants, and what only moves or converts them.

use std::collections::BTreeMap;

use crate::{Array, Computation, Dtype, Instruction, Layout, Module};

/// Arrays of more elements are not looked into: tables that a program branches on are small.
const LARGEST: usize = 1 << 20;
/// Chains of instructions longer than this are not followed.
const DEEPEST: usize = 64;

/// Elements in row-major order, each as its bits.
type Elements = Vec<u32>;

impl Module {
    /// The words that an instruction's array is in memory, padding (0) included, where the text tells its values.
    ///
    /// Followed are constants and iotas through copies, bitcasts, reshapes, converts of integers, slices, transposes,
    /// broadcasts of scalars, and fusions of these. The words are in the order of the array's layout, as a chip's memory
    /// has them: a table that a transfer brings into scalar memory is there word for word.
    pub fn constant_words(&self, computation: &Computation, instruction: &Instruction) -> Option<Vec<u32>> {
        let array = instruction.shape.array()?;
        let elements = Walk { module: self }.value(computation, instruction, &[], 0)?;
        words(array, &elements)
    }

    /// [`Module::constant_words`] of an instruction's operands, by the index that its listing knows them by: operands in
    /// order, the parts of a tuple one by one.
    pub fn constant_operands(
        &self,
        computation: &Computation,
        instruction: &Instruction,
    ) -> BTreeMap<u32, Vec<u32>> {
        let mut found = BTreeMap::new();
        let mut index = 0u32;
        for operand in &instruction.operands {
            let Some(operand) = computation.instruction(operand) else { break };
            if let Some(words) = self.constant_words(computation, operand) {
                found.insert(index, words);
            }
            index = index.saturating_add(operand.shape.arrays().len() as u32);
        }
        found
    }
}

struct Walk<'m> {
    module: &'m Module,
}

/// Where a computation was called: the caller, and what it gave.
type Frames<'a> = [(&'a Computation, &'a Instruction)];

impl Walk<'_> {
    fn value(
        &self,
        computation: &Computation,
        instruction: &Instruction,
        frames: &Frames<'_>,
        depth: usize,
    ) -> Option<Elements> {
        let array = instruction.shape.array()?;
        if depth > DEEPEST || array.elements() > LARGEST || array.dtype.bits() > 32 {
            return None;
        }
        let operand = |n: usize| {
            let name = instruction.operands.get(n)?;
            computation.instruction(name)
        };
        let of = |n: usize| self.value(computation, operand(n)?, frames, depth + 1);
        let shape = |n: usize| operand(n)?.shape.array();
        match instruction.opcode.as_str() {
            "constant" => literal(array, instruction.operands.first()?),
            "iota" => iota(array, instruction),
            "copy" | "reshape" => of(0),
            "copy-done" => {
                let start = operand(0).filter(|i| i.opcode == "copy-start")?;
                let source = computation.instruction(start.operands.first()?)?;
                self.value(computation, source, frames, depth + 1)
            }
            "bitcast" => elements(array, &words(shape(0)?, &of(0)?)?),
            "bitcast-convert" => (shape(0)?.dtype.bits() == array.dtype.bits()).then(|| of(0))?,
            "convert" => convert(shape(0)?.dtype, array.dtype, of(0)?),
            "slice" => slice(shape(0)?, array, instruction.attribute("slice")?, &of(0)?),
            "transpose" => transpose(shape(0)?, array, &instruction.numbers("dimensions"), &of(0)?),
            "broadcast" if shape(0)?.elements() == 1 => Some(vec![*of(0)?.first()?; array.elements()]),
            "get-tuple-element" => {
                let part: usize = instruction.attribute("index")?.parse().ok()?;
                let tuple = operand(0).filter(|t| t.opcode == "tuple")?;
                let part = computation.instruction(tuple.operands.get(part)?)?;
                self.value(computation, part, frames, depth + 1)
            }
            "fusion" => {
                let called = self.module.computation(instruction.called("calls")?)?;
                let mut inner = frames.to_vec();
                inner.push((computation, instruction));
                self.value(called, called.root(), &inner, depth + 1)
            }
            "parameter" => {
                let (&(caller, call), outer) = frames.split_last()?;
                let number: usize = instruction.operands.first()?.parse().ok()?;
                let given = caller.instruction(call.operands.get(number)?)?;
                self.value(caller, given, outer, depth + 1)
            }
            _ => None,
        }
    }
}

/// The elements of a printed literal: numbers between braces and comments, or one number for a scalar.
fn literal(array: &Array, text: &str) -> Option<Elements> {
    let mut list = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | ','));
        if rest.is_empty() {
            break;
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/")?.1;
            continue;
        }
        let end =
            rest.find(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | ',')).unwrap_or(rest.len());
        list.push(number(array.dtype, &rest[..end])?);
        rest = &rest[end..];
        if list.len() > LARGEST {
            return None;
        }
    }
    (list.len() == array.elements()).then_some(list)
}

/// One element's bits.
fn number(dtype: Dtype, text: &str) -> Option<u32> {
    match dtype {
        Dtype::Pred => match text {
            "true" | "1" => Some(1),
            "false" | "0" => Some(0),
            _ => None,
        },
        Dtype::Signed(bits) | Dtype::Unsigned(bits) => {
            Some(low(text.parse::<i64>().ok()? as u32, usize::from(bits)))
        }
        Dtype::Float(32) => Some(text.parse::<f32>().ok()?.to_bits()),
        // Printed so that it reads back, and an f32 that stands for a bfloat16 ends in zeros.
        Dtype::Bf16 => {
            let bits = text.parse::<f32>().ok()?.to_bits();
            let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
            Some(rounded & 0xffff)
        }
        _ => None,
    }
}

fn low(bits: u32, width: usize) -> u32 {
    if width >= 32 { bits } else { bits & ((1 << width) - 1) }
}

fn iota(array: &Array, instruction: &Instruction) -> Option<Elements> {
    if !matches!(array.dtype, Dtype::Signed(_) | Dtype::Unsigned(_)) {
        return None;
    }
    let along: usize = instruction.attribute("iota_dimension")?.parse().ok()?;
    let inner: usize = array.dims.get(along + 1..)?.iter().product();
    let size = *array.dims.get(along)?;
    Some(
        (0..array.elements())
            .map(|i| low((i / inner.max(1) % size.max(1)) as u32, array.dtype.bits()))
            .collect(),
    )
}

/// Between integers, `pred` included: the low bits, the sign extended.
fn convert(from: Dtype, to: Dtype, list: Elements) -> Option<Elements> {
    if from == to {
        return Some(list);
    }
    let signed = match from {
        Dtype::Signed(_) => true,
        Dtype::Unsigned(_) | Dtype::Pred => false,
        _ => return None,
    };
    let width = from.bits();
    let (Dtype::Signed(to) | Dtype::Unsigned(to)) = to else { return None };
    let shift = 32usize.saturating_sub(width) as u32;
    let wide = |x: u32| if signed { ((x << shift) as i32 >> shift) as u32 } else { x };
    Some(list.into_iter().map(|x| low(wide(x), usize::from(to))).collect())
}

/// `{[0:7], [0:8:2]}`.
fn slice(from: &Array, to: &Array, text: &str, list: &[u32]) -> Option<Elements> {
    let mut ranges = Vec::new();
    for part in text.trim_matches(['{', '}']).split(',') {
        let mut numbers = part.trim().trim_matches(['[', ']']).split(':').map(|n| n.trim().parse::<usize>());
        let start = numbers.next()?.ok()?;
        let _end = numbers.next()?.ok()?;
        let step = numbers.next().map_or(Some(1), Result::ok)?;
        ranges.push((start, step));
    }
    if ranges.len() != from.dims.len() || to.dims.len() != from.dims.len() {
        return None;
    }
    gather(from, to, list, |to_index| {
        to_index
            .iter()
            .zip(&ranges)
            .map(|(i, (start, step))| i.checked_mul(*step)?.checked_add(*start))
            .collect()
    })
}

/// Dimension `i` of the result is dimension `order[i]` of the operand.
fn transpose(from: &Array, to: &Array, order: &[usize], list: &[u32]) -> Option<Elements> {
    if order.len() != from.dims.len() || to.dims.len() != from.dims.len() {
        return None;
    }
    gather(from, to, list, |to_index| {
        let mut index = vec![0; order.len()];
        for (i, d) in to_index.iter().zip(order) {
            *index.get_mut(*d)? = *i;
        }
        Some(index)
    })
}

/// The result's elements, each from the operand's place that `place` gives.
fn gather(
    from: &Array,
    to: &Array,
    list: &[u32],
    place: impl Fn(&[usize]) -> Option<Vec<usize>>,
) -> Option<Elements> {
    let mut out = Vec::with_capacity(to.elements());
    for at in 0..to.elements() {
        let index = place(&unravel(at, &to.dims))?;
        out.push(*list.get(ravel(&index, &from.dims)?)?);
    }
    Some(out)
}

fn unravel(mut at: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for (i, d) in index.iter_mut().zip(dims).rev() {
        *i = at % (*d).max(1);
        at /= (*d).max(1);
    }
    index
}

fn ravel(index: &[usize], dims: &[usize]) -> Option<usize> {
    index.iter().zip(dims).try_fold(0usize, |at, (i, d)| (i < d).then(|| at * d + i))
}

/// Elements as the words of memory.
fn words(array: &Array, list: &[u32]) -> Option<Vec<u32>> {
    let (places, padded) = places(array)?;
    let (bits, per) = packing(array.dtype)?;
    let mut words = vec![0; padded.div_ceil(per)];
    for (value, place) in list.iter().zip(places) {
        *words.get_mut(place / per)? |= low(*value, bits) << (place % per * bits);
    }
    Some(words)
}

/// The words of memory as elements.
fn elements(array: &Array, words: &[u32]) -> Option<Elements> {
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

#[cfg(test)]
mod tests {
    use crate::parse;

    const TEXT: &str = "HloModule m

%fused (p: s32[8,1], q: s8[4]) -> s32[3] {
  %p = s32[8,1]{0,1:T(1,128)S(1)} parameter(0)
  %q = s8[4]{0:T(512)(128)(4,1)} parameter(1)
  %s = s32[3,1]{0,1:T(1,128)} slice(%p), slice={[1:7:2], [0:1]}
  ROOT %b = s32[3]{0:T(128)S(1)} bitcast(%s)
}

ENTRY %main (a: s32[8]) -> s32[3] {
  %a = s32[8]{0:T(128)} parameter(0)
  %mask = s8[1,3,4]{2,1,0:T(8,128)(4,1)} constant({ { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { -1, 10, 11, 12 } } })
  %long = s32[8]{0:T(128)} constant({ /*i0=0*/ 10, 11, 12, 13, 14, 15, 16, 17 })
  %column = s32[8,1]{0,1:T(1,128)S(1)} bitcast(%long)
  %small = s8[4]{0:T(512)(128)(4,1)} constant({ -1, 2, 3, 4 })
  %wide = s32[4]{0:T(128)} convert(%small)
  %begun = (s32[4]{0:T(128)S(1)}, s32[4]{0:T(128)}, u32[]{:S(2)}) copy-start(%wide)
  %moved = s32[4]{0:T(128)S(1)} copy-done(%begun)
  %grid = s32[2,3]{0,1:T(2,128)} iota(), iota_dimension=1
  %turned = s32[3,2]{1,0:T(2,128)} transpose(%grid), dimensions={1,0}
  %half = bf16[2]{0:T(256)(128)(2,1)} constant({ 1, -2.5 })
  %one = s32[]{:T(128)} constant(7)
  %same = s32[5]{0:T(128)} broadcast(%one), dimensions={}
  %data = s32[8]{0:T(128)} add(%a, %long)
  %kernel = s32[8]{0:T(128)} custom-call(%a, %mask, %begun, %one), custom_call_target=\"k\"
  ROOT %fusion = s32[3]{0:T(128)S(1)} fusion(%column, %small), kind=kLoop, calls=%fused
}
";

    fn of(name: &str) -> Option<Vec<u32>> {
        let module = parse(TEXT, "m").unwrap();
        let (computation, instruction) = module.find(name).unwrap();
        module.constant_words(computation, instruction)
    }

    #[test]
    fn tables_are_the_words_of_their_layout() {
        let mask = of("mask").unwrap();
        assert_eq!(mask.len(), 8 * 128 / 4);
        // Four rows of the third dimension from last are one word: the byte is the row.
        assert_eq!(mask[..5], [0x00ff_0501, 0x000a_0602, 0x000b_0703, 0x000c_0804, 0]);
        assert_eq!(of("half").unwrap()[..3], [0x3f80, 0xc020, 0]);
        assert_eq!(of("turned").unwrap()[..3], [0, 0, 0]);
        assert_eq!(of("turned").unwrap()[128..131], [1, 1, 0]);
        assert_eq!(of("turned").unwrap()[256..259], [2, 2, 0]);
    }

    #[test]
    fn values_are_followed_through_what_moves_them() {
        assert_eq!(of("fusion").unwrap()[..4], [11, 13, 15, 0]);
        assert_eq!(of("fusion").unwrap().len(), 128);
        assert_eq!(of("moved").unwrap()[..5], [u32::MAX, 2, 3, 4, 0]);
        assert_eq!(of("same").unwrap()[..6], [7, 7, 7, 7, 7, 0]);
        assert_eq!((of("data"), of("a")), (None, None));
    }

    #[test]
    fn operands_have_the_index_of_their_listing() {
        let module = parse(TEXT, "m").unwrap();
        let (computation, kernel) = module.find("kernel").unwrap();
        let known = module.constant_operands(computation, kernel);
        // The tuple between them counts as its three parts.
        assert_eq!(known.keys().copied().collect::<Vec<_>>(), [1, 5]);
        assert_eq!(known[&5][0], 7);
    }
}
