//! Tile handles: operators and methods that record one op each.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Rem, Sub};

use tilewright_dtype::DType;

use super::{Builder, constant, padded, shape_or_scalar};
use crate::ops::{BinaryOp, CmpOp, ReduceOp, UnaryOp};
use crate::program::{OpKind, Value};
use crate::rules::TypeError;
use crate::types::{Shape, TileType};

/// A value of the kernel under construction; a scalar is a tile of rank 0.
#[derive(Clone, Copy)]
pub struct Tile<'k> {
    b: &'k Builder,
    value: Value,
}

/// Something that stands for a tile beside another: a tile, or a number that takes the other's dtype.
pub trait Like<'k>: Copy {
    /// The tile, given its neighbour.
    #[track_caller]
    fn like(self, neighbour: Tile<'k>) -> Tile<'k>;

    /// The i32 scalar, for bounds and indices.
    #[track_caller]
    fn as_index(self, any: Tile<'k>) -> Tile<'k> {
        self.like(Tile { b: any.b, value: Value(u32::MAX) })
    }
}

impl<'k> Like<'k> for Tile<'k> {
    fn like(self, _: Tile<'k>) -> Tile<'k> {
        self
    }
}

impl<'k> Like<'k> for f64 {
    #[track_caller]
    fn like(self, neighbour: Tile<'k>) -> Tile<'k> {
        let ty = neighbour.b.ty(neighbour.value);
        let scalar = TileType::new(ty.dtype, Shape::SCALAR);
        neighbour.b.record(OpKind::Splat(constant(self, ty.dtype)), &[], Some(scalar))
    }
}

impl<'k> Like<'k> for i32 {
    #[track_caller]
    fn like(self, neighbour: Tile<'k>) -> Tile<'k> {
        f64::from(self).like(neighbour)
    }
}

impl<'k> Like<'k> for usize {
    #[track_caller]
    fn like(self, neighbour: Tile<'k>) -> Tile<'k> {
        (self as f64).like(neighbour)
    }
}

/// Block indices: a tuple of scalars and numbers, or a slice of scalars.
pub trait Indices<'k> {
    /// The indices as tiles of `b`.
    #[track_caller]
    fn collect(self, b: &'k Builder) -> Vec<Tile<'k>>;
}

macro_rules! tuple_indices {
    ($($name:ident)*) => {
        impl<'k, $($name: Like<'k>),*> Indices<'k> for ($($name,)*) {
            #[track_caller]
            #[allow(non_snake_case, reason = "one name serves the type and the field")]
            fn collect(self, b: &'k Builder) -> Vec<Tile<'k>> {
                let any = Tile::new(b, Value(u32::MAX));
                let ($($name,)*) = self;
                vec![$($name.as_index(any)),*]
            }
        }
    };
}
tuple_indices!(A);
tuple_indices!(A B);
tuple_indices!(A B C);
tuple_indices!(A B C D);

impl<'k> Indices<'k> for &[Tile<'k>] {
    fn collect(self, _: &'k Builder) -> Vec<Tile<'k>> {
        self.to_vec()
    }
}

impl<'k> Tile<'k> {
    pub(super) fn new(b: &'k Builder, value: Value) -> Tile<'k> {
        Tile { b, value }
    }

    pub(super) fn value(self) -> Value {
        self.value
    }

    /// The tile's type.
    pub fn ty(self) -> TileType {
        self.b.ty(self.value)
    }

    /// The tile's dimensions.
    pub fn dims(self) -> Vec<usize> {
        self.ty().shape.dims().to_vec()
    }

    /// The builder that records this tile.
    pub fn builder(self) -> &'k Builder {
        self.b
    }

    /// Names the value in the text form.
    pub fn named(self, name: &str) -> Tile<'k> {
        if let Some(info) = self.b.state.borrow_mut().values.get_mut(self.value.0 as usize) {
            info.name = Some(name.to_string());
        }
        self
    }

    #[track_caller]
    fn unary(self, op: UnaryOp) -> Tile<'k> {
        self.b.record(OpKind::Unary(op), &[self], None)
    }

    #[track_caller]
    fn binary(self, op: BinaryOp, other: impl Like<'k>) -> Tile<'k> {
        let (x, y) = joined(self, other.like(self));
        self.b.record(OpKind::Binary(op), &[x, y], None)
    }

    #[track_caller]
    fn compare(self, op: CmpOp, other: impl Like<'k>) -> Tile<'k> {
        let (x, y) = joined(self, other.like(self));
        self.b.record(OpKind::Compare(op), &[x, y], None)
    }

    /// The magnitude.
    #[track_caller]
    pub fn abs(self) -> Tile<'k> {
        self.unary(UnaryOp::Abs)
    }

    /// e to the power of each element.
    #[track_caller]
    pub fn exp(self) -> Tile<'k> {
        self.unary(UnaryOp::Exp)
    }

    /// The natural logarithm.
    #[track_caller]
    pub fn log(self) -> Tile<'k> {
        self.unary(UnaryOp::Log)
    }

    /// The hyperbolic tangent.
    #[track_caller]
    pub fn tanh(self) -> Tile<'k> {
        self.unary(UnaryOp::Tanh)
    }

    /// The error function.
    #[track_caller]
    pub fn erf(self) -> Tile<'k> {
        self.unary(UnaryOp::Erf)
    }

    /// The square root.
    #[track_caller]
    pub fn sqrt(self) -> Tile<'k> {
        self.unary(UnaryOp::Sqrt)
    }

    /// One over the square root.
    #[track_caller]
    pub fn rsqrt(self) -> Tile<'k> {
        self.unary(UnaryOp::Rsqrt)
    }

    /// The largest integer not above each element.
    #[track_caller]
    pub fn floor(self) -> Tile<'k> {
        self.unary(UnaryOp::Floor)
    }

    /// The nearest integer, ties to even.
    #[track_caller]
    pub fn round(self) -> Tile<'k> {
        self.unary(UnaryOp::Round)
    }

    /// The lesser of two.
    #[track_caller]
    pub fn min(self, other: impl Like<'k>) -> Tile<'k> {
        self.binary(BinaryOp::Min, other)
    }

    /// The greater of two.
    #[track_caller]
    pub fn max(self, other: impl Like<'k>) -> Tile<'k> {
        self.binary(BinaryOp::Max, other)
    }

    /// Exclusive or.
    #[track_caller]
    pub fn xor(self, other: impl Like<'k>) -> Tile<'k> {
        self.binary(BinaryOp::Xor, other)
    }

    /// True where equal.
    #[track_caller]
    pub fn eq(self, other: impl Like<'k>) -> Tile<'k> {
        self.compare(CmpOp::Eq, other)
    }

    /// True where not equal.
    #[track_caller]
    pub fn ne(self, other: impl Like<'k>) -> Tile<'k> {
        self.compare(CmpOp::Ne, other)
    }

    /// True where less.
    #[track_caller]
    pub fn lt(self, other: impl Like<'k>) -> Tile<'k> {
        self.compare(CmpOp::Lt, other)
    }

    /// True where less or equal.
    #[track_caller]
    pub fn le(self, other: impl Like<'k>) -> Tile<'k> {
        self.compare(CmpOp::Le, other)
    }

    /// True where greater.
    #[track_caller]
    pub fn gt(self, other: impl Like<'k>) -> Tile<'k> {
        self.compare(CmpOp::Gt, other)
    }

    /// True where greater or equal.
    #[track_caller]
    pub fn ge(self, other: impl Like<'k>) -> Tile<'k> {
        self.compare(CmpOp::Ge, other)
    }

    /// With a bool tile: `x` where true, else `y`. Both take the condition's shape where they are scalars.
    #[track_caller]
    pub fn select(self, x: Tile<'k>, y: impl Like<'k>) -> Tile<'k> {
        let (x, y) = joined(x, y.like(x));
        let (c, x) = joined(self, x);
        let (c, y) = joined(c, y);
        self.b.record(OpKind::Select, &[c, x, y], None)
    }

    /// Converts to `dtype`; records nothing where the tile has it already.
    #[track_caller]
    pub fn cast(self, dtype: DType) -> Tile<'k> {
        if self.ty().dtype == dtype {
            return self;
        }
        self.b.record(OpKind::Cast, &[self], Some(self.ty().with_dtype(dtype)))
    }

    /// Repeats a scalar, or dimensions of size 1; records nothing where the shape is the same.
    #[track_caller]
    pub fn broadcast(self, dims: &[usize]) -> Tile<'k> {
        if self.ty().shape.dims() == dims {
            return self;
        }
        self.shaped(OpKind::Broadcast, dims)
    }

    /// The same elements in row-major order under another shape.
    #[track_caller]
    pub fn reshape(self, dims: &[usize]) -> Tile<'k> {
        if self.ty().shape.dims() == dims {
            return self;
        }
        self.shaped(OpKind::Reshape, dims)
    }

    /// Dimension `d` of the result is dimension `perm[d]` of the tile.
    #[track_caller]
    pub fn transpose(self, perm: &[usize]) -> Tile<'k> {
        self.one_per_dimension(perm);
        self.b.record(OpKind::Transpose { perm: padded(perm) }, &[self], None)
    }

    /// Exchanges the last two dimensions.
    #[track_caller]
    pub fn t(self) -> Tile<'k> {
        let rank = self.ty().shape.rank();
        let mut perm: Vec<usize> = (0..rank).collect();
        if rank >= 2 {
            perm.swap(rank - 2, rank - 1);
        }
        self.transpose(&perm)
    }

    /// The part of `dims` that begins at `start`.
    #[track_caller]
    pub fn slice(self, start: &[usize], dims: &[usize]) -> Tile<'k> {
        self.one_per_dimension(start);
        self.shaped(OpKind::Slice { start: padded(start) }, dims)
    }

    /// The tile, then `other`, along `dim`.
    #[track_caller]
    pub fn concat(self, other: Tile<'k>, dim: usize) -> Tile<'k> {
        self.b.record(OpKind::Concat { dim }, &[self, other], None)
    }

    /// The sum along `dim`, which stays with size 1.
    #[track_caller]
    pub fn sum(self, dim: usize) -> Tile<'k> {
        self.b.record(OpKind::Reduce { op: ReduceOp::Add, dim }, &[self], None)
    }

    /// The greatest along `dim`, which stays with size 1.
    #[track_caller]
    pub fn max_along(self, dim: usize) -> Tile<'k> {
        self.b.record(OpKind::Reduce { op: ReduceOp::Max, dim }, &[self], None)
    }

    /// The least along `dim`, which stays with size 1.
    #[track_caller]
    pub fn min_along(self, dim: usize) -> Tile<'k> {
        self.b.record(OpKind::Reduce { op: ReduceOp::Min, dim }, &[self], None)
    }

    /// `acc + self . y`; `acc` gives the accumulator's dtype.
    #[track_caller]
    pub fn dot(self, y: Tile<'k>, acc: Tile<'k>) -> Tile<'k> {
        self.b.record(OpKind::Dot, &[self, y, acc], None)
    }

    #[track_caller]
    fn one_per_dimension(self, list: &[usize]) {
        if list.len() != self.ty().shape.rank() {
            let rule = "a list of dimensions or offsets has one entry per dimension of the tile";
            let message = format!("{} entries for {}", list.len(), self.ty());
            self.b.ruled::<()>(Err(TypeError { code: "ir/rank", message, rule }));
        }
    }

    #[track_caller]
    fn shaped(self, kind: OpKind, dims: &[usize]) -> Tile<'k> {
        let shape = self.b.ruled(crate::rules::shape_of(dims)).unwrap_or(shape_or_scalar(&[]));
        self.b.record(kind, &[self], Some(TileType::new(self.ty().dtype, shape)))
    }
}

/// Broadcasts either tile to the other's shape where one is a scalar or has dimensions of 1; otherwise returns them as
/// they are, for the op's own rule to judge.
#[track_caller]
fn joined<'k>(x: Tile<'k>, y: Tile<'k>) -> (Tile<'k>, Tile<'k>) {
    let (a, b) = (x.ty().shape, y.ty().shape);
    if a == b {
        return (x, y);
    }
    if a.rank() == 0 || b.rank() == 0 {
        let dims = if a.rank() == 0 { b } else { a };
        return (x.broadcast(dims.dims()), y.broadcast(dims.dims()));
    }
    if a.rank() != b.rank() {
        return (x, y);
    }
    let dims: Vec<usize> = a.dims().iter().zip(b.dims()).map(|(&p, &q)| if p == 1 { q } else { p }).collect();
    let spreads = |s: Shape| s.dims().iter().zip(&dims).all(|(&p, &d)| p == d || p == 1);
    if spreads(a) && spreads(b) { (x.broadcast(&dims), y.broadcast(&dims)) } else { (x, y) }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $op:expr) => {
        impl<'k, R: Like<'k>> $trait<R> for Tile<'k> {
            type Output = Tile<'k>;
            #[track_caller]
            fn $method(self, other: R) -> Tile<'k> {
                self.binary($op, other)
            }
        }
        impl<'k> $trait<Tile<'k>> for f64 {
            type Output = Tile<'k>;
            #[track_caller]
            fn $method(self, other: Tile<'k>) -> Tile<'k> {
                let (x, y) = joined(self.like(other), other);
                x.binary($op, y)
            }
        }
    };
}
operator!(Add, add, BinaryOp::Add);
operator!(Sub, sub, BinaryOp::Sub);
operator!(Mul, mul, BinaryOp::Mul);
operator!(Div, div, BinaryOp::Div);
operator!(Rem, rem, BinaryOp::Rem);

impl<'k> BitAnd for Tile<'k> {
    type Output = Tile<'k>;
    #[track_caller]
    fn bitand(self, other: Tile<'k>) -> Tile<'k> {
        self.binary(BinaryOp::And, other)
    }
}

impl<'k> BitOr for Tile<'k> {
    type Output = Tile<'k>;
    #[track_caller]
    fn bitor(self, other: Tile<'k>) -> Tile<'k> {
        self.binary(BinaryOp::Or, other)
    }
}

impl<'k> Not for Tile<'k> {
    type Output = Tile<'k>;
    #[track_caller]
    fn not(self) -> Tile<'k> {
        self.unary(UnaryOp::Not)
    }
}

impl<'k> Neg for Tile<'k> {
    type Output = Tile<'k>;
    #[track_caller]
    fn neg(self) -> Tile<'k> {
        self.unary(UnaryOp::Neg)
    }
}
