//! A kernel family made to go wrong: row sums, by configs that crash, hang, drop tails or depend on the batch.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program};
use tilewright_kernels::{Config, Family, Inputs, Key, Machine, Problem, Space, Work};

pub struct SumRows;

/// What a config does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Right,
    Right8,
    Right16,
    Right32,
    Crashes,
    Hangs,
    /// Right only where tiles divide the columns, and the one with the least work.
    DropsTail,
    /// Passes its check and crashes when it is timed.
    CrashesLater,
    Refused,
    /// Adds up a single row in another order than many.
    Variant,
    Pruned,
    /// Yields the very code of `Right`.
    Twin,
}

pub fn config(kind: Kind) -> Config {
    let br = match kind {
        Kind::Right8 => 8,
        Kind::Right16 => 16,
        Kind::Right32 => 32,
        _ => 4,
    };
    Config::of(&[("br", br), ("bc", 64), ("kind", kind as usize + 1)])
}

static SPACE: Mutex<Vec<Kind>> = Mutex::new(Vec::new());
/// 0 in the tuner, 1 in a child that checks, 2 in one that times.
static PLACE: AtomicU8 = AtomicU8::new(0);

/// The space's configs; the first is the default.
pub fn set_space(kinds: &[Kind]) {
    *SPACE.lock().unwrap() = kinds.to_vec();
}

/// Configs go wrong in children only.
pub fn in_child(timing: bool) {
    PLACE.store(if timing { 2 } else { 1 }, Ordering::Relaxed);
}

static KEYS: &[Key] = &[Key::dim("rows", "rows"), Key::dim("cols", "columns")];

impl Family for SumRows {
    fn name(&self) -> &'static str {
        "sum_rows"
    }

    fn about(&self) -> &'static str {
        "o[i] = sum over j of x[i,j]"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn source(&self) -> &'static str {
        include_str!("mod.rs")
    }

    fn default_config(&self, _: &Problem, _: &Machine) -> Config {
        config(SPACE.lock().unwrap()[0])
    }

    fn space(&self, _: &Problem, _: &Machine) -> Space {
        let configs = SPACE.lock().unwrap().iter().map(|&kind| config(kind)).collect();
        Space { configs, pruned: vec![(config(Kind::Pruned), "a reason".to_string())] }
    }

    fn build(&self, p: &Problem, c: &Config) -> Result<Program> {
        let kind = c.get("kind")?;
        let is = |k: Kind| kind == k as usize + 1;
        match PLACE.load(Ordering::Relaxed) {
            0 if is(Kind::Refused) => return Err(Diagnostic::request("test/refused", "not this one")),
            1 | 2 if is(Kind::Crashes) => crash(),
            2 if is(Kind::CrashesLater) => crash(),
            1 | 2 if is(Kind::Hangs) => std::thread::sleep(Duration::from_secs(3600)),
            _ => {}
        }
        let (rows, cols) = (p.dim("rows"), p.dim("cols"));
        let (br, mut bc) = (c.get("br")?.min(rows), c.get("bc")?.min(cols));
        if is(Kind::Variant) && rows > 1 {
            bc = bc.div_ceil(2);
        }
        let steps = if is(Kind::DropsTail) { cols / bc } else { cols.div_ceil(bc) };
        // Of all configs, only the twins yield the same code.
        let name = if is(Kind::Twin) { Kind::Right as usize + 1 } else { kind };
        let b = Builder::new(format!("sum_rows{name}"));
        let x = b.input_padded("x", DType::F32, &[rows, cols], 0.0);
        let o = b.output("o", DType::F32, &[rows, 1]);
        let [i] = b.grid([("i", rows.div_ceil(br))]);
        let zero = b.splat(0.0, DType::F32, &[br, 1]);
        let [sum] = b.fold("j", 0, steps, [zero], |j, [sum]| [sum + x.load((i, j), &[br, bc]).sum(1)]);
        o.store((i, 0), sum);
        b.finish().map(Program::single)
    }

    fn reference(&self, p: &Problem, inputs: &Inputs) -> Result<BTreeMap<String, Vec<f64>>> {
        let sums = inputs["x"].to_f64().chunks(p.dim("cols")).map(|row| row.iter().sum()).collect();
        Ok(BTreeMap::from([("o".to_string(), sums)]))
    }

    fn work(&self, p: &Problem) -> Work {
        let elements = (p.dim("rows") * p.dim("cols")) as f64;
        Work { flops: elements, bytes: 4.0 * (elements + p.dim("rows") as f64), transcendentals: 0.0 }
    }

    fn rows(&self) -> Option<&'static str> {
        Some("rows")
    }
}

/// Ends the process as a null pointer would. Rust's own handler takes the first signal for a fault that will come again.
fn crash() {
    for _ in 0..2 {
        let _ = Command::new("/bin/sh").args(["-c", "kill -SEGV $PPID"]).status();
    }
}
