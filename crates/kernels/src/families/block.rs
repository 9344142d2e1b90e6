//! Blocks of matrices: what a matrix kernel loads and stores, and what its prologue and epilogue may add to it.

use tilewright_dtype::DType;
use tilewright_ir::{Array, Builder, Tile};

/// One of a batch of matrices: `None` where the batch is one and operands have rank 2; else operands have rank 3, the
/// batch first, and this is its size and the index of the grid cell along it.
pub type Batch<'k> = Option<(usize, Tile<'k>)>;

/// Rows or columns of a matrix, cut into blocks.
#[derive(Clone, Copy)]
pub struct Axis<'k> {
    /// Elements of the matrix along it.
    pub size: usize,
    /// Elements of a block along it.
    pub block: usize,
    /// Which block.
    pub index: Tile<'k>,
}

/// One block of a matrix: what a prologue or an epilogue is given beside its tile. Its methods declare an operand of the
/// kernel and load the part that belongs to the block, so each name is asked for once.
#[derive(Clone, Copy)]
pub struct Block<'k> {
    /// The kernel under construction.
    pub builder: &'k Builder,
    /// Which matrix of a batch.
    pub batch: Batch<'k>,
    /// Rows.
    pub rows: Axis<'k>,
    /// Columns.
    pub cols: Axis<'k>,
    /// What operands yield past their edge; poison where absent.
    pub pad: Option<f64>,
}

impl<'k> Block<'k> {
    /// The operand `name: dtype[1,1]`, as a tile `[1,1]`.
    #[track_caller]
    pub fn one(&self, name: &str, dtype: DType) -> Tile<'k> {
        self.input(name, dtype, &[1, 1]).load((0, 0), &[1, 1])
    }

    /// The operand `name: dtype[1,columns]`, as a tile `[1,columns of the block]`; a batch shares it.
    #[track_caller]
    pub fn per_column(&self, name: &str, dtype: DType) -> Tile<'k> {
        self.input(name, dtype, &[1, self.cols.size]).load((0, self.cols.index), &[1, self.cols.block])
    }

    /// The operand `name: dtype[[batch,]rows,1]`, as a tile `[rows of the block,1]`.
    #[track_caller]
    pub fn per_row(&self, name: &str, dtype: DType) -> Tile<'k> {
        let one = Axis { size: 1, block: 1, index: self.builder.int(0) };
        Block { cols: one, ..*self }.same(name, dtype)
    }

    /// The operand `name: dtype[[batch,]rows,columns]`, as a tile of the block's shape.
    #[track_caller]
    pub fn same(&self, name: &str, dtype: DType) -> Tile<'k> {
        let array = self.input(name, dtype, &of_batch(self.batch, [self.rows.size, self.cols.size]));
        load(array, self.batch, [self.rows.index, self.cols.index], [self.rows.block, self.cols.block], false)
    }

    #[track_caller]
    fn input(&self, name: &str, dtype: DType, dims: &[usize]) -> Array<'k> {
        match self.pad {
            Some(pad) => self.builder.input_padded(name, dtype, dims, pad),
            None => self.builder.input(name, dtype, dims),
        }
    }
}

/// The dimensions of an array of matrices.
pub(super) fn of_batch(batch: Batch<'_>, [rows, cols]: [usize; 2]) -> Vec<usize> {
    batch.map(|(size, _)| size).into_iter().chain([rows, cols]).collect()
}

/// A block of the batch's matrix, as a tile of rank 2; from an array that holds the transpose where `transposed`.
#[track_caller]
pub(super) fn load<'k>(
    array: Array<'k>,
    batch: Batch<'k>,
    [i, j]: [Tile<'k>; 2],
    [rows, cols]: [usize; 2],
    transposed: bool,
) -> Tile<'k> {
    if transposed {
        return load(array, batch, [j, i], [cols, rows], false).t();
    }
    match batch {
        None => array.load((i, j), &[rows, cols]),
        Some((_, z)) => array.load((z, i, j), &[1, rows, cols]).reshape(&[rows, cols]),
    }
}

/// Writes a tile of rank 2 to a block of the batch's matrix.
#[track_caller]
pub(super) fn store<'k>(array: Array<'k>, batch: Batch<'k>, at: [Tile<'k>; 2], tile: Tile<'k>) {
    match batch {
        None => array.store((at[0], at[1]), tile),
        Some((_, z)) => {
            let dims = tile.dims();
            array.store((z, at[0], at[1]), tile.reshape(&[&[1], dims.as_slice()].concat()));
        }
    }
}
