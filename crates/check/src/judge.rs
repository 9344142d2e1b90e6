//! One output against its derived bound and its reference.
//!
//! The interpreter gives each element a value `v` and a bound `e` such that every legal result lies within `e` of `v`;
//! the family's reference, written independently, gives `r`. Three things can be wrong: the result lies outside of the
//! bound (the target is wrong), `v` lies further from `r` than float64 explains (the kernel's source is wrong), or the
//! bound is so wide that even zero would pass (the case proves nothing: it is *vacuous*).

use std::ops::Range;

use serde::{Serialize, Serializer};
use tilewright_diag::Result;
use tilewright_dtype::{DType, Tensor};
use tilewright_interp::{Values, Verdict};

/// One element of an output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Element {
    /// The output's name.
    pub output: String,
    /// The element's index, one number per dimension.
    pub index: Vec<usize>,
    /// What the run yielded.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// What the reference says; where it was not computed, the kernel's own float64 value.
    #[serde(serialize_with = "number")]
    pub reference: f64,
    /// How far a legal result may lie from the kernel's float64 value.
    #[serde(serialize_with = "number")]
    pub bound: f64,
    /// |value - float64 value| over the bound: 1 is just legal.
    #[serde(serialize_with = "number")]
    pub margin: f64,
}

/// How a judged element is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wrong {
    /// The run left it as it was before.
    Unwritten,
    /// The kernel's own float64 value is not the reference's.
    Source,
    /// No legal execution yields it.
    Value,
    /// It is not finite, its reference is, and no bound says which: a value on the way left its type's range.
    Lost,
}

/// What was found on one output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// Elements that were held against a bound.
    pub elements: usize,
    /// Of those, elements without a finite bound.
    pub undecided: usize,
    /// Of the undecided ones, one that is not finite although its reference is, within the range of its type.
    pub lost: Option<Element>,
    /// Elements where zero would have failed.
    pub tight: usize,
    /// Elements whose float64 value is not zero.
    pub nonzero: usize,
    /// Elements that are wrong.
    pub wrong: usize,
    /// The first wrong element's kind, and of that kind the element that is furthest off.
    pub worst_wrong: Option<(Wrong, Element)>,
    /// The greatest margin of a right element.
    pub worst: Option<Element>,
}

impl Judged {
    /// Whether a result of zeros would have passed although the true result is not zero.
    pub fn vacuous(&self) -> bool {
        self.nonzero > 0 && self.tight == 0
    }
}

/// Judges the elements of `actual` that `bounds` holds, and looks for unwritten ones everywhere. The output was poisoned
/// ([`Tensor::fill_poison`]) before the run. `reference` is in row-major order, or absent where it costs too much.
pub fn judge(name: &str, actual: &Tensor, bounds: &Values, reference: Option<&[f64]>) -> Result<Judged> {
    let mut judged = Judged::default();
    let mut poison = Tensor::try_new(actual.dtype(), &[2])?;
    poison.fill_poison();
    for range in &bounds.written {
        let values = decode(actual, range.clone());
        for (value, i) in values.into_iter().zip(range.clone()) {
            let r = reference.and_then(|r| r.get(i).copied());
            judged.element(Place { name, actual, bounds, i }, value, r, &poison);
        }
    }
    unwritten(name, actual, bounds, reference, &mut judged);
    Ok(judged)
}

#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    actual: &'a Tensor,
    bounds: &'a Values,
    i: usize,
}

impl Place<'_> {
    fn element(self, value: f64, reference: Option<f64>, margin: f64) -> Element {
        Element {
            output: self.name.to_string(),
            index: index(self.actual.shape(), self.i),
            value,
            reference: reference.unwrap_or(self.bounds.v[self.i]),
            bound: self.bounds.bound(self.i),
            margin,
        }
    }
}

impl Judged {
    fn element(&mut self, place: Place<'_>, value: f64, reference: Option<f64>, poison: &Tensor) {
        let (v, e) = (place.bounds.v[place.i], place.bounds.bound(place.i));
        self.elements += 1;
        self.nonzero += usize::from(v != 0.0);
        let decided = e < f64::INFINITY;
        if decided && (!v.is_finite() || v.abs() > e) {
            self.tight += 1;
        }
        if let Some(r) = reference.filter(|&r| decided && !agrees(v, e, r)) {
            let off = (v - r).abs() / slack(e, r);
            return self.wrong(Wrong::Source, place.element(v, Some(r), off));
        }
        match place.bounds.judge(place.i, value) {
            Verdict::Undecided => {
                self.undecided += 1;
                let finite = |r: &f64| r.abs() <= place.actual.dtype().max_finite();
                if self.lost.is_none() && !value.is_finite() && reference.as_ref().is_some_and(finite) {
                    self.lost = Some(place.element(value, reference, f64::INFINITY));
                }
            }
            Verdict::Held => {
                let off = margin(value, v, e);
                if self.worst.as_ref().is_none_or(|w| off > w.margin) {
                    self.worst = Some(place.element(value, reference, off));
                }
            }
            Verdict::Failed => {
                let kind =
                    if is_poison(place.actual, place.i, poison) { Wrong::Unwritten } else { Wrong::Value };
                self.wrong(kind, place.element(value, reference, margin(value, v, e)));
            }
        }
    }

    fn wrong(&mut self, kind: Wrong, element: Element) {
        self.wrong += 1;
        match &self.worst_wrong {
            Some((known, worst)) if *known != kind || worst.margin >= element.margin => {}
            _ => self.worst_wrong = Some((kind, element)),
        }
    }
}

/// Whether the kernel's float64 value is the reference, up to float64's own rounding.
fn agrees(v: f64, e: f64, r: f64) -> bool {
    if v.is_finite() && r.is_finite() {
        (v - r).abs() <= slack(e, r)
    } else {
        v == r || (v.is_nan() && r.is_nan())
    }
}

/// What float64 may change between two ways to compute one thing. The bound states what the rounding of the kernel's
/// types may change, 2^-24 or more at a time; float64 rounds by 2^-53, so 2^-16 of the bound leaves room for a
/// reference that is 2^13 times worse conditioned. To that come some roundings of the result.
fn slack(e: f64, r: f64) -> f64 {
    e * 2f64.powi(-16) + r.abs() * 2f64.powi(-48)
}

fn margin(value: f64, v: f64, e: f64) -> f64 {
    let off = (value - v).abs();
    match (off == 0.0 || value == v || (value.is_nan() && v.is_nan()), off.is_nan() || e == 0.0) {
        (true, _) => 0.0,
        (false, true) => f64::INFINITY,
        (false, false) => off / e,
    }
}

/// The elements of a range.
fn decode(tensor: &Tensor, range: Range<usize>) -> Vec<f64> {
    let dtype = tensor.dtype();
    if dtype == DType::I4 {
        return range.map(|i| tensor.get(i)).collect();
    }
    let width = dtype.bits() as usize / 8;
    let mut values = vec![0.0; range.len()];
    dtype.decode_slice(&tensor.bytes()[range.start * width..range.end * width], &mut values);
    values
}

/// Looks for poison that is still there, outside of the judged elements too. Only floats of 16 bits and more are looked
/// at: their poison is a NaN that no arithmetic makes. Narrower types may hold the pattern rightly.
fn unwritten(name: &str, actual: &Tensor, bounds: &Values, reference: Option<&[f64]>, judged: &mut Judged) {
    let width = actual.dtype().bits() as usize / 8;
    if !actual.dtype().is_float() || width < 2 {
        return;
    }
    let poisoned = |element: &[u8]| element.iter().all(|&b| b == 0xFF);
    for (i, _) in actual.bytes().chunks_exact(width).enumerate().filter(|(_, b)| poisoned(b)) {
        let r = reference.and_then(|r| r.get(i).copied());
        let before = bounds.written.partition_point(|range| range.end <= i);
        let known = bounds.written.get(before).is_some_and(|r| r.contains(&i)) && !bounds.v[i].is_nan();
        if !known {
            judged.wrong(
                Wrong::Unwritten,
                Place { name, actual, bounds, i }.element(f64::NAN, r, f64::INFINITY),
            );
        }
    }
}

/// Whether element `i` is as [`Tensor::fill_poison`] leaves it.
fn is_poison(tensor: &Tensor, i: usize, poison: &Tensor) -> bool {
    if tensor.dtype() == DType::I4 {
        return tensor.get(i) == poison.get(i % 2);
    }
    let width = tensor.dtype().bits() as usize / 8;
    tensor.bytes()[i * width..(i + 1) * width] == poison.bytes()[..width]
}

/// The index of a position in row-major order.
pub fn index(dims: &[usize], linear: usize) -> Vec<usize> {
    let mut rest = linear;
    let mut index = vec![0; dims.len()];
    for (i, &d) in index.iter_mut().zip(dims).rev() {
        *i = rest % d.max(1);
        rest /= d.max(1);
    }
    index
}

/// JSON has no infinities and no NaN: they become strings.
pub(crate) fn number<S: Serializer>(x: &f64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    if x.is_finite() {
        return serializer.serialize_f64(*x);
    }
    let text = if x.is_nan() {
        "nan"
    } else if *x > 0.0 {
        "inf"
    } else {
        "-inf"
    };
    serializer.serialize_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(dtype: DType, v: &[f64], e: f64) -> Values {
        let written = std::iter::once(0..v.len()).collect();
        Values { dtype, shape: vec![v.len()], v: v.to_vec(), e: Some(vec![e; v.len()]), written }
    }

    fn judged(values: &[f64], v: &[f64], e: f64, reference: Option<&[f64]>) -> Judged {
        let actual = Tensor::from_f64(DType::F32, &[values.len()], values).unwrap();
        judge("o", &actual, &bounds(DType::F32, v, e), reference).unwrap()
    }

    fn kind(j: &Judged) -> Option<Wrong> {
        j.worst_wrong.as_ref().map(|(kind, _)| *kind)
    }

    #[test]
    fn within_the_bound_holds_and_the_worst_is_named() {
        let j = judged(&[1.0, 2.25, -3.0], &[1.0, 2.0, -3.125], 0.5, Some(&[1.0, 2.0, -3.125]));
        assert_eq!((j.elements, j.undecided, j.tight, j.wrong), (3, 0, 3, 0));
        let worst = j.worst.unwrap();
        assert_eq!(
            (worst.index, worst.value, worst.reference, worst.bound, worst.margin),
            (vec![1], 2.25, 2.0, 0.5, 0.5)
        );
    }

    #[test]
    fn outside_of_the_bound_fails_and_nothing_hides_it() {
        let j = judged(&[1.0, 2.75, 9.0], &[1.0, 2.0, -3.0], 0.5, None);
        assert_eq!((j.wrong, kind(&j)), (2, Some(Wrong::Value)));
        assert_eq!(j.worst_wrong.unwrap().1.index, [2]);
        for x in [f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!(kind(&judged(&[x], &[1.0], 0.5, None)), Some(Wrong::Value));
        }
    }

    #[test]
    fn infinities_and_nan_must_match() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        for x in [inf, -inf, nan] {
            let j = judged(&[x], &[x], 0.0, Some(&[x]));
            assert_eq!((j.wrong, j.tight), (0, 1), "{x}");
            for y in [inf, -inf, nan, 0.0].into_iter().filter(|y| *y != x && !(y.is_nan() && x.is_nan())) {
                assert_eq!(kind(&judged(&[y], &[x], 0.0, Some(&[x]))), Some(Wrong::Value), "{y} for {x}");
            }
        }
    }

    #[test]
    fn a_bound_without_end_is_undecided() {
        let j = judged(&[5.0], &[1.0], f64::INFINITY, Some(&[7.0]));
        assert_eq!((j.undecided, j.wrong, j.tight, j.vacuous()), (1, 0, 0, true));
    }

    #[test]
    fn zeros_pass_a_wide_bound_only_as_vacuous() {
        let j = judged(&[0.0, 0.0], &[1e-6, 2e-6], 1e-5, None);
        assert!(j.wrong == 0 && j.vacuous());
        let j = judged(&[0.0, 0.0], &[0.0, 0.0], 1e-5, None);
        assert!(j.wrong == 0 && !j.vacuous(), "true zeros are no evasion");
    }

    #[test]
    fn a_kernel_that_computes_something_else_is_told_from_a_target_that_does() {
        let j = judged(&[1.0], &[1.0], 0.25, Some(&[1.1]));
        assert_eq!(kind(&j), Some(Wrong::Source), "within the bound, but further off than float64 explains");
        let j = judged(&[1.0], &[1.0], 0.25, Some(&[1.0 + 1e-9]));
        assert_eq!(j.wrong, 0);
    }

    #[test]
    fn what_was_not_written_is_called_so() {
        for dtype in [DType::F32, DType::BF16, DType::F16, DType::F8E5M2, DType::I32, DType::I8, DType::I4] {
            let mut actual = Tensor::from_f64(dtype, &[4], &[1.0; 4]).unwrap();
            let written = actual.bytes()[0];
            actual.fill_poison();
            if dtype == DType::I4 {
                actual.bytes_mut()[0] = written;
            } else {
                (0..2).for_each(|i| actual.set(i, 1.0));
            }
            let j = judge("o", &actual, &bounds(dtype, &[1.0; 4], 0.0), None).unwrap();
            assert_eq!((j.wrong, kind(&j)), (2, Some(Wrong::Unwritten)), "{dtype}");
        }
    }

    #[test]
    fn poison_shows_where_nan_is_right_and_beside_the_judged_cells() {
        let mut actual = Tensor::from_f64(DType::BF16, &[3], &[f64::NAN, 1.0, 2.0]).unwrap();
        let mut known = bounds(DType::BF16, &[f64::NAN, 1.0, 2.0], 0.0);
        assert_eq!(judge("o", &actual, &known, None).unwrap().wrong, 0);
        actual.bytes_mut()[..2].fill(0xFF);
        assert_eq!(kind(&judge("o", &actual, &known, None).unwrap()), Some(Wrong::Unwritten));
        known.written = std::iter::once(1..2).collect();
        assert_eq!(kind(&judge("o", &actual, &known, None).unwrap()), Some(Wrong::Unwritten));
    }
}
