//! What it costs the interpreter to bound a program: decides, the same on every machine, which grid cells are judged.

use tilewright_ir::range::Ranges;
use tilewright_ir::{Block, Kernel, OpKind, Program, ReduceOp};

/// A unit is about a nanosecond of one core: one product and sum of a `dot`.
const ELEMENTWISE: f64 = 30.0;
const FUNCTION: f64 = 120.0;
const MOVED: f64 = 5.0;

/// The cost of one cell of a kernel.
pub(crate) fn cell(kernel: &Kernel) -> f64 {
    block(kernel, &kernel.body, &Ranges::of(kernel))
}

/// The cost of everything that comes before the last kernel, and of one cell of that.
pub(crate) fn program(program: &Program) -> (f64, f64) {
    let Some((last, before)) = program.kernels.split_last() else { return (0.0, 0.0) };
    (before.iter().map(|k| k.cells() as f64 * cell(k)).sum(), cell(last))
}

fn block(kernel: &Kernel, block_: &Block, ranges: &Ranges) -> f64 {
    let mut total = 0.0;
    for op in &block_.ops {
        let elements = |v| kernel.ty(v).shape.elements() as f64;
        let result = op.results.first().map_or(0.0, |&v| elements(v));
        let operand = op.operands.first().map_or(0.0, |&v| elements(v));
        let inner: f64 = op.regions.iter().map(|r| block(kernel, r, ranges)).sum();
        total += match &op.kind {
            OpKind::Fold => {
                let (lo, hi) = (ranges.interval(op.operands[0]), ranges.interval(op.operands[1]));
                inner * hi.hi.saturating_sub(lo.lo).max(0) as f64
            }
            OpKind::If => inner,
            OpKind::Dot => {
                let terms = kernel.ty(op.operands[0]).shape.dims().last().copied().unwrap_or(1);
                result * terms as f64
            }
            OpKind::Unary(_) => result * FUNCTION,
            OpKind::Reduce { op: ReduceOp::Add | ReduceOp::Max | ReduceOp::Min, .. } => operand * ELEMENTWISE,
            OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Select | OpKind::Cast => result * ELEMENTWISE,
            OpKind::Store { .. } => op.operands.last().map_or(0.0, |&v| elements(v)) * ELEMENTWISE,
            _ => result * MOVED,
        };
    }
    total
}

/// The cells of the last kernel to judge, ascending: all of them where that costs no more than `limit`, else as many
/// as `limit` pays for, at least one, the last and the first before the others; `turn` moves the others about.
pub(crate) fn cells(of: &Program, limit: f64, turn: usize) -> Option<Vec<usize>> {
    let all = of.kernels.last().map_or(0, Kernel::cells);
    let (before, one) = program(of);
    if before + one * all as f64 <= limit {
        return None;
    }
    let count = ((limit - before) / one).clamp(1.0, all as f64) as usize;
    // Steps of the golden ratio spread any number of cells evenly.
    let spread = |n: usize| ((n as f64 * 0.618_033_988_749_895).fract() * all as f64) as usize;
    let others = (0..count).map(|n| spread(turn * count + n).min(all - 1));
    let ends = if turn.is_multiple_of(2) { [all - 1, 0] } else { [0, all - 1] };
    let mut chosen: Vec<usize> = Vec::with_capacity(count);
    for cell in ends.into_iter().chain(others) {
        if chosen.len() < count && !chosen.contains(&cell) {
            chosen.push(cell);
        }
    }
    chosen.sort_unstable();
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_ir::{Builder, DType};

    fn matmul(tiles: usize, steps: usize) -> Program {
        let b = Builder::new("matmul");
        let x = b.input("x", DType::F32, &[16 * tiles, 16 * steps]);
        let o = b.output("o", DType::F32, &[16 * tiles, 16]);
        let [i] = b.grid([("i", tiles)]);
        let zero = b.splat(0.0, DType::F32, &[16, 16]);
        let [acc] = b.fold("k", 0, steps, [zero], |k, [c]| {
            let t = x.load((i, k), &[16, 16]);
            [t.dot(t, c)]
        });
        o.store((i, 0), acc);
        Program::single(b.finish().unwrap())
    }

    #[test]
    fn products_count_and_folds_multiply() {
        let (before, short) = program(&matmul(3, 10));
        let (_, long) = program(&matmul(3, 1000));
        assert_eq!(before, 0.0);
        assert!(short >= 4096.0 * 10.0 && long > 80.0 * short, "{short} {long}");
    }

    #[test]
    fn cells_are_all_or_the_ends_and_a_spread() {
        let p = matmul(100, 10);
        let one = program(&p).1;
        assert_eq!(cells(&p, 101.0 * one, 0), None);
        assert_eq!(cells(&p, 0.0, 0), Some(vec![99]));
        assert_eq!(cells(&p, 0.0, 1), Some(vec![0]));
        let some = cells(&p, 10.5 * one, 2).unwrap();
        assert!(some.len() >= 8 && some.is_sorted() && some.contains(&0) && some.contains(&99), "{some:?}");
        assert_ne!(cells(&p, 10.5 * one, 4).unwrap(), some);
    }
}
