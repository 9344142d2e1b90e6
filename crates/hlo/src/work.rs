//! The arithmetic that an instruction stands for, from its shapes alone: no padding, no recomputation by the machine.

use crate::shape::{Array, Shape};
use crate::{Computation, Instruction, Module};

/// Arithmetic of one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Operations of products: a multiply-add is two.
    pub matrix_flops: f64,
    /// All other arithmetic, one for each element and operation.
    pub vector_flops: f64,
    /// Evaluations of exp, log, tanh, sqrt and the like, which stand in `vector_flops` too.
    pub transcendentals: f64,
}

impl Work {
    /// All operations.
    pub fn flops(&self) -> f64 {
        self.matrix_flops + self.vector_flops
    }

    fn add(&mut self, other: Work) {
        self.matrix_flops += other.matrix_flops;
        self.vector_flops += other.vector_flops;
        self.transcendentals += other.transcendentals;
    }
}

/// Computations call each other no deeper than this; a text in which they do is a cycle.
const DEEPEST: usize = 16;

impl Module {
    /// The arithmetic of an instruction of `computation`, its fused computation included. A custom call's is not known
    /// here, and a loop's is that of its body times a count that is not known here: both are 0.
    pub fn work(&self, computation: &Computation, instruction: &Instruction) -> Work {
        self.work_at(computation, instruction, 0)
    }

    fn work_at(&self, computation: &Computation, i: &Instruction, depth: usize) -> Work {
        let elements = |shape: &Shape| shape.arrays().iter().map(|a| a.elements() as f64).sum::<f64>();
        let operand = |n: usize| {
            i.operands.get(n).and_then(|o| computation.instruction(o)).and_then(|o| o.shape.array())
        };
        let vector = |flops: f64| Work { vector_flops: flops, ..Work::default() };
        match i.opcode.as_str() {
            "fusion" | "call" | "async-start" if depth < DEEPEST => {
                let name = i.called("calls").or(i.called("to_apply"));
                let mut sum = Work::default();
                if let Some(inner) = name.and_then(|n| self.computation(n)) {
                    inner.instructions.iter().for_each(|i| sum.add(self.work_at(inner, i, depth + 1)));
                }
                sum
            }
            "dot" => {
                let contracted = i.numbers("lhs_contracting_dims");
                let terms = operand(0)
                    .map_or(1, |a| contracted.iter().filter_map(|&d| a.dims.get(d)).product::<usize>());
                Work { matrix_flops: 2.0 * elements(&i.shape) * terms as f64, ..Work::default() }
            }
            "convolution" => {
                let flops = match (operand(0), operand(1), i.shape.array()) {
                    (Some(input), Some(kernel), Some(output)) => convolution(i, input, kernel, output),
                    _ => 0.0,
                };
                Work { matrix_flops: flops, ..Work::default() }
            }
            "reduce" => {
                vector((0..i.operands.len() / 2).filter_map(operand).map(|a| a.elements() as f64).sum())
            }
            "reduce-window" => {
                let window: f64 = window_field(i, "size").iter().map(|&s| s as f64).product();
                vector(elements(&i.shape) * window.max(1.0))
            }
            "exponential"
            | "exponential-minus-one"
            | "log"
            | "log-plus-one"
            | "tanh"
            | "logistic"
            | "sqrt"
            | "rsqrt"
            | "cbrt"
            | "sine"
            | "cosine"
            | "tan"
            | "erf"
            | "power"
            | "atan2" => {
                let n = elements(&i.shape);
                Work { vector_flops: n, transcendentals: n, ..Work::default() }
            }
            "add"
            | "subtract"
            | "multiply"
            | "divide"
            | "maximum"
            | "minimum"
            | "negate"
            | "abs"
            | "compare"
            | "select"
            | "and"
            | "or"
            | "xor"
            | "not"
            | "remainder"
            | "clamp"
            | "sign"
            | "floor"
            | "ceil"
            | "round-nearest-even"
            | "round-nearest-afz"
            | "shift-left"
            | "shift-right-logical"
            | "shift-right-arithmetic"
            | "popcnt" => vector(elements(&i.shape)),
            _ => Work::default(),
        }
    }
}

/// Multiply-adds that meet no padding and no hole, times two. After XLA's own account (`HloCostAnalysis`): along each
/// spatial dimension the pairs of output and kernel positions that fall on an element of the input are counted.
fn convolution(i: &Instruction, input: &Array, kernel: &Array, output: &Array) -> f64 {
    let Some(labels) = i.attribute("dim_labels") else { return 0.0 };
    let Some((operands, out)) = labels.split_once("->") else { return 0.0 };
    let Some((lhs, rhs)) = operands.split_once('_') else { return 0.0 };
    let size = |array: &Array, labels: &str, label: char| {
        labels.chars().position(|c| c == label).and_then(|d| array.dims.get(d).copied()).unwrap_or(1)
    };
    let spatial: Vec<char> = out.chars().filter(char::is_ascii_digit).collect();
    let field =
        |name: &str, n: usize, otherwise: usize| window_field(i, name).get(n).copied().unwrap_or(otherwise);
    let mut positions = 1.0;
    for (n, &label) in spatial.iter().enumerate() {
        // The window's fields are in the order of the labels' digits.
        let n = label.to_digit(10).map_or(n, |d| d as usize);
        let (stride, hole, spread) =
            (field("stride", n, 1), field("rhs_dilate", n, 1), field("lhs_dilate", n, 1));
        let low = padding(i, n);
        let (inputs, outputs) = (size(input, lhs, label), size(output, out, label));
        let kernels = field("size", n, size(kernel, rhs, label));
        let mut valid = 0usize;
        for k in 0..kernels {
            for o in 0..outputs {
                let at = (o * stride + k * hole) as i64 - low;
                let last = (inputs.saturating_sub(1) * spread) as i64;
                valid += usize::from(at >= 0 && at <= last && at % spread.max(1) as i64 == 0);
            }
        }
        positions *= valid as f64;
    }
    let batch = size(output, out, 'b') as f64;
    let (from, to) = (size(kernel, rhs, 'i') as f64, size(output, out, 'f') as f64);
    2.0 * positions * batch * from * to / one_of_batch(i)
}

/// `batch_group_count`: so many groups of the batch each meet their own output features.
fn one_of_batch(i: &Instruction) -> f64 {
    i.attribute("batch_group_count").and_then(|n| n.parse::<f64>().ok()).map_or(1.0, |n| n.max(1.0))
}

/// A field of `window={size=3x3 stride=2x2 pad=0_0x1_1 …}`, for each spatial dimension.
fn window_field(i: &Instruction, name: &str) -> Vec<usize> {
    let window = i.attribute("window").unwrap_or_default().trim_matches(['{', '}']);
    let field = window.split(' ').find_map(|f| f.strip_prefix(name)?.strip_prefix('='));
    field.unwrap_or_default().split('x').filter_map(|n| n.parse().ok()).collect()
}

/// The padding below the input along spatial dimension `n`.
fn padding(i: &Instruction, n: usize) -> i64 {
    let window = i.attribute("window").unwrap_or_default().trim_matches(['{', '}']);
    let pads = window.split(' ').find_map(|f| f.strip_prefix("pad=")).unwrap_or_default();
    let low = |p: &str| p.split('_').next().and_then(|p| p.parse().ok());
    pads.split('x').nth(n).and_then(low).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::parse;

    fn flops(instruction: &str, operands: &[&str]) -> f64 {
        let parameters: String = operands
            .iter()
            .enumerate()
            .map(|(n, shape)| format!("  %p{n} = {shape} parameter({n})\n"))
            .collect();
        let text =
            format!("HloModule m\n\nENTRY %main () -> f32[] {{\n{parameters}  ROOT %r = {instruction}\n}}\n");
        let module = parse(&text, "t").unwrap();
        module.work(module.entry(), module.entry().root()).flops()
    }

    #[test]
    fn products_are_counted_from_their_shapes() {
        let dot = "f32[4,6] dot(%p0, %p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
        assert_eq!(flops(dot, &["f32[4,8]", "f32[8,6]"]), 2.0 * 4.0 * 6.0 * 8.0);
        let matmul = "bf16[1024,512] convolution(%p0, %p1), dim_labels=bf_io->bf";
        assert_eq!(flops(matmul, &["bf16[1024,256]", "bf16[256,512]"]), 2.0 * 1024.0 * 512.0 * 256.0);
    }

    /// 3×3 over 5×5 with a border of zeros: of 225 pairs 13 × 13 meet the input.
    #[test]
    fn convolutions_count_what_meets_the_input() {
        let same =
            "f32[1,5,5,2] convolution(%p0, %p1), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f";
        assert_eq!(flops(same, &["f32[1,5,5,4]", "f32[3,3,4,2]"]), 2.0 * 13.0 * 13.0 * 4.0 * 2.0);
    }

    /// XLA writes a batched product as a convolution whose window slides over the batch and meets one element at a time.
    #[test]
    fn a_batched_product_written_as_a_convolution_is_that_product() {
        let batched = "f32[3,4,6] convolution(%p0, %p1), window={size=3 stride=2 pad=0_0 lhs_dilate=3}, dim_labels=0bf_0io->0bf";
        assert_eq!(flops(batched, &["f32[3,4,8]", "f32[3,8,6]"]), 2.0 * 3.0 * 4.0 * 6.0 * 8.0);
    }
}
