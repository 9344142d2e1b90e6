//! Shapes: element types, sizes, and how an array lies in memory.

use std::fmt;

/// An element type, by XLA's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// One byte that is 0 or 1.
    Pred,
    /// Signed integers of so many bits.
    Signed(u8),
    /// Unsigned integers of so many bits.
    Unsigned(u8),
    /// IEEE floats of 16, 32 or 64 bits.
    Float(u8),
    /// bfloat16.
    Bf16,
    /// 8-bit floats and narrower, whatever their format; their bits.
    Small(u8),
    /// Complex numbers of so many bits.
    Complex(u8),
    /// No data: order alone.
    Token,
    /// Without an element type of its own.
    Opaque,
}

impl Dtype {
    /// Reads XLA's name.
    pub fn parse(name: &str) -> Option<Dtype> {
        let bits = |digits: &str| digits.parse::<u8>().ok();
        match name {
            "pred" => Some(Dtype::Pred),
            "bf16" => Some(Dtype::Bf16),
            "token" => Some(Dtype::Token),
            "opaque" => Some(Dtype::Opaque),
            "c64" => Some(Dtype::Complex(64)),
            "c128" => Some(Dtype::Complex(128)),
            _ if name.starts_with("f8") => Some(Dtype::Small(8)),
            _ if name.starts_with("f4") => Some(Dtype::Small(4)),
            _ => match name.split_at_checked(1)? {
                ("s", n) => bits(n).map(Dtype::Signed),
                ("u", n) => bits(n).map(Dtype::Unsigned),
                ("f", n) => bits(n).map(Dtype::Float),
                _ => None,
            },
        }
    }

    /// Bits of an element in memory.
    pub fn bits(self) -> usize {
        match self {
            Dtype::Pred => 8,
            Dtype::Bf16 => 16,
            Dtype::Token | Dtype::Opaque => 0,
            Dtype::Signed(b) | Dtype::Unsigned(b) | Dtype::Float(b) | Dtype::Small(b) | Dtype::Complex(b) => {
                usize::from(b)
            }
        }
    }
}

/// Sizes of one level of tiling, such as `T(8,128)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile(pub Vec<usize>);

/// How an array lies in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Dimensions from the one whose neighbours are nearest in memory.
    pub minor_to_major: Vec<usize>,
    /// Levels of tiling, outermost first.
    pub tiles: Vec<Tile>,
    /// The memory: 0 for HBM, 1 for VMEM; others as XLA numbers them.
    pub memory_space: usize,
}

/// An array.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Element type.
    pub dtype: Dtype,
    /// Sizes.
    pub dims: Vec<usize>,
    /// Where the text states one.
    pub layout: Option<Layout>,
}

/// What an instruction yields.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// One array.
    Array(Array),
    /// Several shapes.
    Tuple(Vec<Shape>),
}

impl Array {
    /// Elements.
    pub fn elements(&self) -> usize {
        self.dims.iter().product()
    }

    /// Bytes of its elements, without padding.
    pub fn bytes(&self) -> usize {
        (self.elements() * self.dtype.bits()).div_ceil(8)
    }

    /// Elements with the padding of its first level of tiling.
    pub fn padded_elements(&self) -> usize {
        let Some(layout) = &self.layout else { return self.elements() };
        let Some(Tile(tile)) = layout.tiles.first() else { return self.elements() };
        let mut dims = self.dims.clone();
        // A tile's last size is that of the most minor dimension.
        for (&d, &size) in layout.minor_to_major.iter().zip(tile.iter().rev()) {
            if let Some(dim) = dims.get_mut(d) {
                *dim = dim.next_multiple_of(size.max(1));
            }
        }
        dims.iter().product()
    }

    /// Bytes in memory, padding included.
    pub fn padded_bytes(&self) -> usize {
        (self.padded_elements() * self.dtype.bits()).div_ceil(8)
    }

    /// Whether it lies in HBM.
    pub fn is_in_hbm(&self) -> bool {
        self.layout.as_ref().is_none_or(|l| l.memory_space == 0)
    }
}

impl Shape {
    /// Every array in it.
    pub fn arrays(&self) -> Vec<&Array> {
        match self {
            Shape::Array(array) => vec![array],
            Shape::Tuple(parts) => parts.iter().flat_map(Shape::arrays).collect(),
        }
    }

    /// Its array, where it is one.
    pub fn array(&self) -> Option<&Array> {
        match self {
            Shape::Array(array) => Some(array),
            Shape::Tuple(_) => None,
        }
    }

    /// Bytes of all elements, without padding.
    pub fn bytes(&self) -> usize {
        self.arrays().iter().map(|a| a.bytes()).sum()
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dtype::Pred => write!(f, "pred"),
            Dtype::Bf16 => write!(f, "bf16"),
            Dtype::Token => write!(f, "token"),
            Dtype::Opaque => write!(f, "opaque"),
            Dtype::Signed(b) => write!(f, "s{b}"),
            Dtype::Unsigned(b) => write!(f, "u{b}"),
            Dtype::Float(b) => write!(f, "f{b}"),
            Dtype::Small(b) => write!(f, "f{b}"),
            Dtype::Complex(b) => write!(f, "c{b}"),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Array(a) => {
                let dims: Vec<String> = a.dims.iter().map(ToString::to_string).collect();
                write!(f, "{}[{}]", a.dtype, dims.join(","))
            }
            Shape::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                write!(f, "({})", parts.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_follows_the_first_tile_along_the_minor_dimensions() {
        let array = |dims: &[usize], minor: &[usize], tile: &[usize]| Array {
            dtype: Dtype::Bf16,
            dims: dims.to_vec(),
            layout: Some(Layout {
                minor_to_major: minor.to_vec(),
                tiles: vec![Tile(tile.to_vec()), Tile(vec![2, 1])],
                memory_space: 0,
            }),
        };
        assert_eq!(array(&[100, 96], &[1, 0], &[8, 128]).padded_elements(), 104 * 128);
        assert_eq!(array(&[100, 96], &[0, 1], &[8, 128]).padded_elements(), 128 * 96);
        assert_eq!(array(&[3, 5, 7], &[2, 1, 0], &[8, 128]).padded_bytes(), 3 * 8 * 128 * 2);
        assert_eq!(array(&[], &[], &[128]).padded_elements(), 1);
    }

    #[test]
    fn element_types_are_known_by_name() {
        for (name, bits) in [("pred", 8), ("s32", 32), ("u4", 4), ("bf16", 16), ("f8e4m3fn", 8), ("f32", 32)]
        {
            assert_eq!(Dtype::parse(name).map(Dtype::bits), Some(bits), "{name}");
        }
        assert_eq!(Dtype::parse("é"), None);
        assert_eq!(Dtype::parse("x32"), None);
    }
}
