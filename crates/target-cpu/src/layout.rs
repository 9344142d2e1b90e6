//! Where tiles lie in the arena: one buffer per materialised value, padded so that whole vectors may be written.

use tilewright_dtype::DType;
use tilewright_ir::{Shape, TileType};

/// A materialised tile.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Type; i4 tiles are held as i8.
    pub ty: TileType,
    /// Elements between neighbours along each dimension.
    pub strides: [usize; 4],
    /// The dimension along which elements are neighbours in memory.
    pub vector_dim: usize,
    /// Size in bytes, a multiple of 64.
    pub bytes: usize,
    /// First and last position (see [`crate::plan`]) at which its content matters.
    pub live: (usize, usize),
    /// Bytes from the arena's start.
    pub offset: usize,
    /// Rows follow each other without padding, so that a general reshape may read them.
    pub dense: bool,
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
    /// A buffer for `ty`; rows are padded to `pad` elements unless `dense`.
    pub fn new(ty: TileType, pad: usize, dense: bool) -> Buffer {
        let vector_dim = vector_dim(ty.shape);
        let mut strides = [0; 4];
        let mut step = 1;
        for d in (0..ty.shape.rank()).rev() {
            strides[d] = step;
            let size = ty.shape.dims()[d];
            step *= if d == vector_dim && !dense { size.next_multiple_of(pad) } else { size };
        }
        // The vector that begins at the last element may be written whole.
        let bytes = ((step + pad) * element_bytes(ty.dtype)).next_multiple_of(64);
        Buffer { ty, strides, vector_dim, bytes, live: (usize::MAX, 0), offset: 0, dense }
    }

    /// Extends the life to `position`.
    pub fn touch(&mut self, position: usize) {
        self.live.0 = self.live.0.min(position);
        self.live.1 = self.live.1.max(position);
    }
}

/// Gives every buffer an offset such that buffers alive at one time do not overlap; returns the bytes needed.
///
/// Largest first, each at the lowest offset that is free over its whole life.
pub fn place(buffers: &mut [Buffer]) -> usize {
    let mut order: Vec<usize> = (0..buffers.len()).filter(|&i| buffers[i].live.0 != usize::MAX).collect();
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
        Buffer { live, ..Buffer::new(ty, 16, false) }
    }

    #[test]
    fn only_buffers_that_are_alive_together_are_kept_apart() {
        let mut all = vec![buffer(64, (0, 2)), buffer(64, (1, 3)), buffer(64, (3, 5)), buffer(16, (6, 7))];
        let total = place(&mut all);
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                let together = a.live.0 <= b.live.1 && b.live.0 <= a.live.1;
                let apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
                assert!(apart || !together);
            }
        }
        assert_eq!(total, 2 * all[0].bytes, "the third reuses the first's place");
    }

    #[test]
    fn columns_are_dense_and_rows_are_padded() {
        let ty = |dims: &[usize]| TileType::new(DType::F32, Shape::new(dims).unwrap());
        assert_eq!(Buffer::new(ty(&[10, 1]), 16, false).strides[0], 1);
        assert_eq!(Buffer::new(ty(&[10, 20]), 16, false).strides[..2], [32, 1]);
        assert_eq!(Buffer::new(ty(&[10, 20]), 16, true).strides[..2], [20, 1]);
    }
}
