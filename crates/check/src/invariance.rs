//! Batch invariance: a row's result does not depend on the rows beside it, bit for bit.

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::Tensor;
use tilewright_kernels::{Config, Family, Inputs, Problem};

use crate::case::{Source, Subject};
use crate::executor::Executor;
use crate::inputs::FAMILIES;
use crate::judge::{Element, index};
use crate::problems;
use crate::report::Failure;

/// Rows of the batch that parts are compared with: more than most tiles have, and odd.
const MOST_ROWS: usize = 131;

/// The size that counts the family's independent rows.
///
/// # Errors
/// `check/no-rows` (class request) where it has none.
pub fn rows(family: &dyn Family) -> Result<&'static str> {
    family.rows().ok_or_else(|| {
        Diagnostic::request("check/no-rows", format!("`{}` has no independent rows", family.name()))
            .rule("batch invariance is asked of the rows that `Family::rows` names")
            .help("leave `--batch-invariant` out, or let the family name its rows")
    })
}

/// Runs a batch of rows, then parts of it alone, and compares every bit. The parts: single rows, and the first rows of
/// tail sizes. Says what was compared, or what differed.
pub(crate) fn check(
    family: &dyn Family,
    problem: &Problem,
    config: &Config,
    executor: &dyn Executor,
    seed: u64,
) -> Result<std::result::Result<String, Failure>> {
    let key = rows(family)?;
    let rows = problem.dim(key).clamp(3, MOST_ROWS);
    let none = Inputs::new();
    let source = Source { family: &FAMILIES[0], given: &none, turn: 0, seed };
    let batch = Subject::new(family, problem.with_dim(key, rows), config, executor)?;
    let inputs = batch.inputs(source)?;
    let whole = batch.outputs(&inputs)?;
    let mut parts =
        vec![(0, 1), (rows / 2, 1), (rows - 1, 1), (0, rows / 2 + 1), (rows / 3, rows - rows / 3)];
    let tails = problems::tiles(key, config).into_iter().map(|tile| (0, (tile + 1).min(rows)));
    parts.extend(tails);
    parts.dedup();
    for (from, count) in &parts {
        let part = Subject::new(family, problem.with_dim(key, *count), config, executor)?;
        let slices = |of: &Inputs, like: &Inputs| -> Result<Inputs> {
            like.iter()
                .map(|(name, l)| Ok((name.clone(), slice(&of[name], l, rows, *from, *count)?)))
                .collect()
        };
        let shapes = part.inputs(source)?;
        let alone = part.outputs(&slices(&inputs, &shapes)?)?;
        let within = slices(&whole, &alone)?;
        for (name, a) in &alone {
            let w = &within[name];
            let Some(i) = (0..a.len()).find(|&i| bits(a.get(i)) != bits(w.get(i))) else { continue };
            let element = Element {
                output: name.clone(),
                index: index(a.shape(), i),
                value: a.get(i),
                reference: w.get(i),
                bound: 0.0,
                margin: f64::INFINITY,
            };
            let message = format!(
                "`{name}`{:?} is {} where rows {from}..{} of `{key}` run alone, and {} in a batch of {rows}",
                element.index,
                element.value,
                from + count,
                element.reference
            );
            return Ok(Err(Failure {
                stored_at: None,
                code: "check/batch-variant",
                message,
                case: source.name(),
                problem: batch.text.clone(),
                element: Some(element),
                diagnostics: Vec::new(),
            }));
        }
    }
    Ok(Ok(format!(
        "batch invariant: {} parts of a batch of `{key}={rows}` have the bits they have in it",
        parts.len()
    )))
}

/// The part of `whole` that belongs to rows `from .. from + count` of a batch of `rows`: every dimension that is longer
/// than that of `like`, the same operand for `count` rows, holds rows. Operands that rows share are the same in both.
fn slice(whole: &Tensor, like: &Tensor, rows: usize, from: usize, count: usize) -> Result<Tensor> {
    let mut part = Tensor::try_new(like.dtype(), like.shape())?;
    let start: Vec<usize> = whole
        .shape()
        .iter()
        .zip(like.shape())
        .map(|(&w, &l)| if w == l { 0 } else { from * w / rows })
        .collect();
    debug_assert!(whole.shape().iter().zip(like.shape()).all(|(&w, &l)| w == l || w / rows == l / count));
    for i in 0..part.len() {
        let at = index(like.shape(), i);
        let place = at.iter().zip(&start).map(|(a, s)| a + s).zip(whole.shape());
        part.set(i, whole.get(place.fold(0, |linear, (at, &d)| linear * d + at)));
    }
    Ok(part)
}

/// Bits to compare: all NaN are one.
fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_dtype::DType;

    #[test]
    fn rows_are_cut_out_along_whichever_dimension_holds_them() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let whole = Tensor::from_f64(DType::F32, &[3, 4], &values).unwrap();
        let cut = |shape: &[usize], rows, from, count| {
            slice(&whole, &Tensor::try_new(DType::F32, shape).unwrap(), rows, from, count).unwrap().to_f64()
        };
        assert_eq!(cut(&[1, 4], 3, 1, 1), [4.0, 5.0, 6.0, 7.0]);
        assert_eq!(cut(&[3, 2], 4, 2, 2), [2.0, 3.0, 6.0, 7.0, 10.0, 11.0]);
        assert_eq!(cut(&[3, 4], 7, 2, 1), values);
        assert_eq!(cut(&[3, 2], 2, 1, 1), [2.0, 3.0, 6.0, 7.0, 10.0, 11.0], "two elements a row");
    }
}
