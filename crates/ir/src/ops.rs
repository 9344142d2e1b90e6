//! The table of ops: every op is declared once, here. The parser, the printer, the type rules, the interpreter's and
//! the targets' exhaustive matches and the reference page all start from these rows.

/// How an op's result is rounded, which decides its forward error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// No rounding: the result is one of the operands' values, an integer, or a truth value.
    Exact,
    /// One rounding to nearest even in the result's dtype.
    Nearest,
    /// The target states the accuracy in ULP of f32; then one rounding to the result's dtype.
    Target,
    /// Every product and every partial sum is rounded once in the accumulator's dtype, in any order; a fused
    /// multiply-add, with one rounding for both, is allowed.
    Accumulate,
}

macro_rules! op_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each variant's meaning stands in its row of OPS")]
        pub enum $name { $($variant),* }
        impl $name {
            /// Every variant, in the order of the table.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
        }
    };
}

op_enum!(
    /// Elementwise ops of one operand.
    UnaryOp { Neg, Abs, Exp, Log, Tanh, Erf, Sqrt, Rsqrt, Floor, Round, Not }
);
op_enum!(
    /// Elementwise ops of two operands of one type.
    BinaryOp { Add, Sub, Mul, Div, Rem, Min, Max, And, Or, Xor }
);
op_enum!(
    /// Elementwise comparisons; the result is bool.
    CmpOp { Eq, Ne, Lt, Le, Gt, Ge }
);
op_enum!(
    /// Reductions along one dimension.
    ReduceOp { Add, Max, Min }
);

/// What an op is, without its operands' values: the key by which parsers and executors dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each form's meaning stands in its row of OPS")]
pub enum Form {
    Splat,
    Iota,
    Load,
    Store,
    Lookup,
    Cast,
    Unary(UnaryOp),
    Binary(BinaryOp),
    Compare(CmpOp),
    Select,
    Broadcast,
    Reshape,
    Transpose,
    Slice,
    Concat,
    Reduce(ReduceOp),
    Dot,
    Fold,
    If,
}

/// One row of the table of ops.
#[derive(Clone, Copy, Debug)]
pub struct OpDecl {
    /// The op's name in the text form.
    pub name: &'static str,
    /// What executors match on.
    pub form: Form,
    /// Operands and attributes, as written in the text form.
    pub syntax: &'static str,
    /// The meaning, in one sentence.
    pub meaning: &'static str,
    /// How the result is rounded.
    pub rounding: Rounding,
}

const fn row(
    name: &'static str,
    form: Form,
    syntax: &'static str,
    rounding: Rounding,
    meaning: &'static str,
) -> OpDecl {
    OpDecl { name, form, syntax, meaning, rounding }
}

use Rounding::{Accumulate, Exact, Nearest, Target};

/// Every op of the tile IR.
#[rustfmt::skip]
pub static OPS: &[OpDecl] = &[
    row("splat", Form::Splat, "splat CONST : T", Nearest, "Every element is the constant, rounded to the dtype."),
    row("iota", Form::Iota, "iota DIM : T", Exact, "Each element is its own index along the dimension."),
    row("load", Form::Load, "load A[i, ...] : T", Exact,
        "The block of an operand at block index times tile shape; elements past the edge are the operand's pad value, or poison."),
    row("store", Form::Store, "store O[i, ...], x", Exact,
        "Writes a block of an output; elements past the edge are dropped; with `combine` the value is added to what is there."),
    row("lookup", Form::Lookup, "lookup T[i]", Exact, "One element of a run-time i32 table, as a scalar; an index outside is poison."),
    row("cast", Form::Cast, "cast x : T", Nearest,
        "Converts to another dtype: floats round to nearest even, float to integer truncates and saturates (NaN gives 0), integers wrap, bool is 0 or 1, and anything but zero is true."),
    row("neg", Form::Unary(UnaryOp::Neg), "neg x", Exact, "The negation."),
    row("abs", Form::Unary(UnaryOp::Abs), "abs x", Exact, "The magnitude."),
    row("exp", Form::Unary(UnaryOp::Exp), "exp x", Target, "e to the power of x."),
    row("log", Form::Unary(UnaryOp::Log), "log x", Target, "The natural logarithm."),
    row("tanh", Form::Unary(UnaryOp::Tanh), "tanh x", Target, "The hyperbolic tangent."),
    row("erf", Form::Unary(UnaryOp::Erf), "erf x", Target, "The error function."),
    row("sqrt", Form::Unary(UnaryOp::Sqrt), "sqrt x", Target, "The square root."),
    row("rsqrt", Form::Unary(UnaryOp::Rsqrt), "rsqrt x", Target, "One over the square root."),
    row("floor", Form::Unary(UnaryOp::Floor), "floor x", Exact, "The largest integer not above x."),
    row("round", Form::Unary(UnaryOp::Round), "round x", Exact, "The nearest integer, ties to even."),
    row("not", Form::Unary(UnaryOp::Not), "not x", Exact, "Logical negation of bool, bitwise of i32."),
    row("add", Form::Binary(BinaryOp::Add), "add x, y", Nearest, "The sum; i32 wraps."),
    row("sub", Form::Binary(BinaryOp::Sub), "sub x, y", Nearest, "The difference; i32 wraps."),
    row("mul", Form::Binary(BinaryOp::Mul), "mul x, y", Nearest,
        "The product; i32 wraps; a target may fuse it with an add that uses it, with one rounding for both."),
    row("div", Form::Binary(BinaryOp::Div), "div x, y", Nearest,
        "The quotient; i32 rounds toward minus infinity, and a zero divisor is poison."),
    row("rem", Form::Binary(BinaryOp::Rem), "rem x, y", Exact,
        "The i32 remainder with the divisor's sign (x - y * div(x, y)); a zero divisor is poison."),
    row("min", Form::Binary(BinaryOp::Min), "min x, y", Exact, "The lesser; NaN if either is NaN."),
    row("max", Form::Binary(BinaryOp::Max), "max x, y", Exact, "The greater; NaN if either is NaN."),
    row("and", Form::Binary(BinaryOp::And), "and x, y", Exact, "Logical and of bool, bitwise of i32."),
    row("or", Form::Binary(BinaryOp::Or), "or x, y", Exact, "Logical or of bool, bitwise of i32."),
    row("xor", Form::Binary(BinaryOp::Xor), "xor x, y", Exact, "Exclusive or of bool, bitwise of i32."),
    row("eq", Form::Compare(CmpOp::Eq), "eq x, y", Exact, "True where equal; false with NaN."),
    row("ne", Form::Compare(CmpOp::Ne), "ne x, y", Exact, "True where not equal; true with NaN."),
    row("lt", Form::Compare(CmpOp::Lt), "lt x, y", Exact, "True where x is less; false with NaN."),
    row("le", Form::Compare(CmpOp::Le), "le x, y", Exact, "True where x is less or equal; false with NaN."),
    row("gt", Form::Compare(CmpOp::Gt), "gt x, y", Exact, "True where x is greater; false with NaN."),
    row("ge", Form::Compare(CmpOp::Ge), "ge x, y", Exact, "True where x is greater or equal; false with NaN."),
    row("select", Form::Select, "select c, x, y", Exact, "x where c is true, else y; the other value's poison does not spread."),
    row("broadcast", Form::Broadcast, "broadcast x : T", Exact,
        "Repeats dimensions of size 1 (same rank), or a scalar into any shape."),
    row("reshape", Form::Reshape, "reshape x : T", Exact, "The same elements in row-major order under another shape."),
    row("transpose", Form::Transpose, "transpose x, [p, ...]", Exact, "Dimension d of the result is dimension p[d] of x."),
    row("slice", Form::Slice, "slice x, [start, ...] : T", Exact, "The part of x that begins at the static offsets."),
    row("concat", Form::Concat, "concat x, y, DIM", Exact, "x then y along the dimension."),
    row("reduce_add", Form::Reduce(ReduceOp::Add), "reduce_add x, DIM", Accumulate,
        "The sum along the dimension, which stays with size 1; partial sums of bf16 and f16 are kept in f32 and rounded once at the end."),
    row("reduce_max", Form::Reduce(ReduceOp::Max), "reduce_max x, DIM", Exact, "The greatest along the dimension, which stays with size 1; NaN if any is NaN."),
    row("reduce_min", Form::Reduce(ReduceOp::Min), "reduce_min x, DIM", Exact, "The least along the dimension, which stays with size 1; NaN if any is NaN."),
    row("dot", Form::Dot, "dot x, y, c", Accumulate,
        "c + x . y with x [.., m, k], y [.., k, n], c [.., m, n]; c's dtype is the accumulator's."),
    row("fold", Form::Fold, "fold k in lo..hi (c = init, ...) { ... yield v, ... }", Exact,
        "Runs the body for k = lo .. hi - 1 with the carried tiles and yields their last values; no step when hi <= lo."),
    row("if", Form::If, "if c { ... yield v, ... } else { ... yield w, ... }", Exact, "Runs one of the two bodies."),
];

impl Form {
    /// The op's row of the table.
    pub fn decl(self) -> &'static OpDecl {
        // The table has a row for every form: a test walks all of them.
        OPS.iter().find(|d| d.form == self).unwrap_or(&OPS[0])
    }

    /// The op's name in the text form.
    pub fn name(self) -> &'static str {
        self.decl().name
    }
}

/// The op called `name` in the text form.
pub fn op_named(name: &str) -> Option<&'static OpDecl> {
    OPS.iter().find(|d| d.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_one_row() {
        let forms = UnaryOp::ALL
            .iter()
            .map(|&o| Form::Unary(o))
            .chain(BinaryOp::ALL.iter().map(|&o| Form::Binary(o)))
            .chain(CmpOp::ALL.iter().map(|&o| Form::Compare(o)))
            .chain(ReduceOp::ALL.iter().map(|&o| Form::Reduce(o)));
        for form in forms {
            assert_eq!(OPS.iter().filter(|d| d.form == form).count(), 1, "{form:?}");
            assert_eq!(form.decl().form, form);
        }
        let mut names: Vec<_> = OPS.iter().map(|d| d.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), OPS.len(), "names are unique");
    }
}
