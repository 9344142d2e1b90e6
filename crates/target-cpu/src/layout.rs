//! Where tiles lie in the arena: one buffer per materialised value, padded so that whole vectors may be written.

use tilewright_dtype::DType;
use tilewright_ir::{Shape, TileType};

/// A materialised tile.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Type; i4 tiles are held as i8.
    pub ty: TileType,
    /// Elements between neighbours along each dimension.
    pub strides: [usize; 4],
    /// Size in bytes, a multiple of 64.
    pub bytes: usize,
    /// First and last position (see [`crate::plan`]) at which its content matters; [`UNUSED`] where it never does.
    pub live: (usize, usize),
    /// Bytes from the arena's start.
    pub offset: usize,
    /// Rows follow each other without padding: only a tile's own elements may be written.
    pub dense: bool,
}

/// The life of a buffer that nothing reads or writes.
pub const UNUSED: (usize, usize) = (usize::MAX, 0);

/// How the rows of a buffer follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Without padding, so that a general reshape may read them.
    Dense,
    /// Padded to whole vectors along the dimension that vectors run along.
    Vectors,
    /// Padded along the last dimension, even one of 1, to this many elements: a micro-kernel writes whole panels.
    Panels(usize),
}

/// The dimension whose elements vectors run along: the last one of more than one element.
pub fn vector_dim(shape: Shape) -> usize {
    shape.dims().iter().rposition(|&d| d > 1).unwrap_or(shape.rank().saturating_sub(1))
}

/// Bytes of an element in the arena; i4 and bool take one.
pub fn element_bytes(dtype: DType) -> usize {
    (dtype.bits() as usize).div_ceil(8)
}

impl Buffer {
    /// A buffer for `ty`. Vectors have `lanes` elements, whatever their type.
    pub fn new(ty: TileType, lanes: usize, rows: Rows) -> Buffer {
        let ty = if ty.dtype == DType::I4 { ty.with_dtype(DType::I8) } else { ty };
        let rank = ty.shape.rank();
        let (padded, to) = match rows {
            Rows::Dense => (rank, 1),
            Rows::Vectors => (vector_dim(ty.shape), lanes),
            Rows::Panels(columns) => (rank.saturating_sub(1), columns),
        };
        let mut strides = [0; 4];
        let mut step = 1;
        for d in (0..rank).rev() {
            strides[d] = step;
            let size = ty.shape.dims()[d];
            step *= if d == padded { size.next_multiple_of(to) } else { size };
        }
        // The vector that begins at the last element may be read whole.
        let bytes = ((step + lanes) * element_bytes(ty.dtype)).next_multiple_of(64);
        Buffer { ty, strides, bytes, live: UNUSED, offset: 0, dense: rows == Rows::Dense }
    }

    /// Extends the life to `position`.
    pub fn touch(&mut self, position: usize) {
        self.live.0 = self.live.0.min(position);
        self.live.1 = self.live.1.max(position);
    }

    /// Whether both lie on some byte of the arena.
    pub fn overlaps(&self, other: &Buffer) -> bool {
        self.offset < other.offset + other.bytes && other.offset < self.offset + self.bytes
    }
}

/// Gives every buffer an offset such that buffers alive at one time do not overlap; returns the bytes needed.
///
/// Largest first, each at the lowest offset that is free over its whole life.
pub fn place(buffers: &mut [Buffer]) -> usize {
    let mut order: Vec<usize> = (0..buffers.len()).filter(|&i| buffers[i].live != UNUSED).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(buffers[i].bytes), i));
    let mut placed: Vec<usize> = Vec::new();
    let mut total = 0;
    for i in order {
        let (from, to) = buffers[i].live;
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .map(|&p| &buffers[p])
            .filter(|b| b.live.0 <= to && from <= b.live.1)
            .map(|b| (b.offset, b.offset + b.bytes))
            .collect();
        taken.sort_unstable();
        let mut offset = 0;
        for (start, end) in taken {
            if offset + buffers[i].bytes <= start {
                break;
            }
            offset = offset.max(end);
        }
        buffers[i].offset = offset;
        total = total.max(offset + buffers[i].bytes);
        placed.push(i);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(n: usize, live: (usize, usize)) -> Buffer {
        let ty = TileType::new(DType::F32, Shape::new(&[n]).unwrap());
        Buffer { live, ..Buffer::new(ty, 16, Rows::Vectors) }
    }

    #[test]
    fn only_buffers_that_are_alive_together_are_kept_apart() {
        let mut all = vec![buffer(64, (0, 2)), buffer(64, (1, 3)), buffer(64, (3, 5)), buffer(16, (6, 7))];
        let total = place(&mut all);
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                let together = a.live.0 <= b.live.1 && b.live.0 <= a.live.1;
                assert!(!(together && a.overlaps(b)));
            }
        }
        assert_eq!(total, 2 * all[0].bytes, "the third reuses the first's place");
    }

    #[test]
    fn columns_are_dense_and_rows_are_padded() {
        let strides = |dims: &[usize], rows| {
            Buffer::new(TileType::new(DType::F32, Shape::new(dims).unwrap()), 16, rows).strides
        };
        assert_eq!(strides(&[10, 1], Rows::Vectors)[..2], [1, 1]);
        assert_eq!(strides(&[10, 20], Rows::Vectors)[..2], [32, 1]);
        assert_eq!(strides(&[10, 20], Rows::Dense)[..2], [20, 1]);
        assert_eq!(strides(&[10, 1], Rows::Panels(64))[..2], [64, 1]);
        assert_eq!(strides(&[2, 10, 70], Rows::Panels(64))[..3], [1280, 128, 1]);
    }
}
