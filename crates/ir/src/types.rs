//! Tile types: a static shape of rank 0 to 4 and one element type.

use std::fmt;

use tilewright_dtype::DType;

/// The largest rank of a tile or an operand.
pub const MAX_RANK: usize = 4;

/// A static shape of rank 0 to [`MAX_RANK`]; rank 0 is a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Shape {
    rank: u8,
    dims: [usize; MAX_RANK],
}

impl Shape {
    /// The shape of a scalar.
    pub const SCALAR: Shape = Shape { rank: 0, dims: [0; MAX_RANK] };

    /// A shape from its dimensions; `None` above [`MAX_RANK`].
    pub fn new(dims: &[usize]) -> Option<Shape> {
        let mut shape = Shape { rank: u8::try_from(dims.len()).ok()?, ..Shape::SCALAR };
        shape.dims.get_mut(..dims.len())?.copy_from_slice(dims);
        Some(shape)
    }

    /// The dimensions, outermost first.
    pub fn dims(&self) -> &[usize] {
        &self.dims[..self.rank as usize]
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// The number of elements; `None` when it does not fit in 63 bits.
    pub fn checked_elements(&self) -> Option<usize> {
        let n = self.dims().iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        i64::try_from(n).ok().map(|_| n)
    }

    /// The number of elements of a shape that the verifier accepted.
    pub fn elements(&self) -> usize {
        self.dims().iter().product()
    }

    /// Row-major strides in elements.
    pub fn strides(&self) -> [usize; MAX_RANK] {
        let mut strides = [0; MAX_RANK];
        let mut step = 1usize;
        for d in (0..self.rank()).rev() {
            strides[d] = step;
            step = step.saturating_mul(self.dims[d]);
        }
        strides
    }

    /// The same shape with dimension `dim` of size `size`.
    pub fn with_dim(mut self, dim: usize, size: usize) -> Shape {
        self.dims[..self.rank as usize][dim] = size;
        self
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[")?;
        for (i, d) in self.dims().iter().enumerate() {
            write!(f, "{}{d}", if i == 0 { "" } else { "," })?;
        }
        write!(f, "]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The type of a tile value: element type and shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TileType {
    /// Element type.
    pub dtype: DType,
    /// Static shape.
    pub shape: Shape,
}

impl TileType {
    /// The type of scalars that drive fold bounds and block indices.
    pub const INDEX: TileType = TileType { dtype: DType::I32, shape: Shape::SCALAR };

    /// A tile type.
    pub fn new(dtype: DType, shape: Shape) -> TileType {
        TileType { dtype, shape }
    }

    /// The same shape with another element type.
    pub fn with_dtype(self, dtype: DType) -> TileType {
        TileType { dtype, ..self }
    }
}

impl fmt::Display for TileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

impl fmt::Debug for TileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
