//! Inputs by rule.

use tilewright_dtype::{DType, Tensor};
use tilewright_interp::Inputs;
use tilewright_ir::{Operand, Program, Role};

use crate::file::Case;

/// The program's inputs: those that the case states, and defaults for the others.
pub fn inputs(program: &Program, case: &Case) -> Result<Inputs, String> {
    let operands = program.operands();
    let given = || operands.iter().filter(|o| o.given).map(|o| &o.operand);
    if let Some((name, _)) = case.inputs.iter().find(|(name, _)| !given().any(|o| o.name == *name)) {
        return Err(format!("`// input {name}`: the program takes no `{name}`"));
    }
    given()
        .map(|o| {
            let stated = case.inputs.iter().find(|(name, _)| *name == o.name).map(|(_, rule)| rule.as_str());
            let n = o.shape.elements();
            let values = match stated {
                Some(rule) => by_rule(rule, n).map_err(|e| format!("`// input {}: {rule}`: {e}", o.name))?,
                None => default(o, n),
            };
            let tensor = Tensor::from_f64(o.dtype, o.shape.dims(), &values).map_err(|d| d.to_string())?;
            Ok((o.name.clone(), tensor))
        })
        .collect()
}

/// `n` values by a rule, in row-major order:
///
/// - `5 -1 nan`: these, over and over;
/// - `ramp START STEP`;
/// - `normal SEED`: roughly normal, mean 0, deviation 1;
/// - `uniform SEED LO HI`;
/// - `whole SEED LO HI`: integers, both ends included.
fn by_rule(rule: &str, n: usize) -> Result<Vec<f64>, String> {
    let words: Vec<&str> = rule.split_whitespace().collect();
    let numbers = |words: &[&str]| words.iter().map(|w| number(w)).collect::<Result<Vec<f64>, String>>();
    match words.as_slice() {
        ["ramp", rest @ ..] => match numbers(rest)?.as_slice() {
            [start, step] => Ok((0..n).map(|i| start + step * i as f64).collect()),
            _ => Err("`ramp START STEP`".to_string()),
        },
        ["normal", rest @ ..] => match numbers(rest)?.as_slice() {
            [seed] => Ok(normal(*seed as u64, n)),
            _ => Err("`normal SEED`".to_string()),
        },
        ["uniform", rest @ ..] => match numbers(rest)?.as_slice() {
            [seed, lo, hi] => Ok(uniform(*seed as u64, n).map(|u| lo + (hi - lo) * u).collect()),
            _ => Err("`uniform SEED LO HI`".to_string()),
        },
        ["whole", rest @ ..] => match numbers(rest)?.as_slice() {
            [seed, lo, hi] => Ok(whole(*seed as u64, n, *lo, *hi)),
            _ => Err("`whole SEED LO HI`".to_string()),
        },
        [] => Err("no rule".to_string()),
        list => Ok(numbers(list)?.into_iter().cycle().take(n).collect()),
    }
}

fn number(word: &str) -> Result<f64, String> {
    match word {
        "true" => Ok(1.0),
        "false" => Ok(0.0),
        _ => word.parse().map_err(|_| format!("`{word}` is no number")),
    }
}

/// Floats: normal; integers: small; scalars: their greatest value; tables: anything in their range.
fn default(o: &Operand, n: usize) -> Vec<f64> {
    let seed = o.name.bytes().fold(7, |h: u64, b| h.wrapping_mul(31).wrapping_add(b.into()));
    match o.role {
        Role::Scalar { max, .. } => vec![f64::from(max); n],
        Role::Table { min, max } => whole(seed, n, f64::from(min), f64::from(max)),
        _ if o.dtype.is_float() => normal(seed, n),
        _ => {
            let (lo, hi) = o.dtype.int_range().unwrap_or((0, 1));
            let hi = if o.dtype == DType::Bool { 1 } else { hi.min(9) };
            whole(seed, n, lo.max(-9) as f64, hi as f64)
        }
    }
}

fn normal(seed: u64, n: usize) -> Vec<f64> {
    // Irwin and Hall: the sum of twelve uniform numbers has deviation 1.
    let all: Vec<f64> = uniform(seed, 12 * n).collect();
    all.chunks(12).map(|c| c.iter().sum::<f64>() - 6.0).collect()
}

fn whole(seed: u64, n: usize, lo: f64, hi: f64) -> Vec<f64> {
    uniform(seed, n).map(|u| lo + ((hi - lo + 1.0) * u).floor()).collect()
}

/// SplitMix64 (Steele, Lea and Flood, 2014), as numbers from 0 up to 1.
fn uniform(seed: u64, n: usize) -> impl Iterator<Item = f64> {
    (1..=n as u64).map(move |i| {
        let z = seed.wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    })
}
