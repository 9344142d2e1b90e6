//! Products, folds and branches.

use tilewright_dtype::DType;
use tilewright_ir::{Tile, rules::dot_accepts};

use super::grow::{Forge, Scope, arithmetic};
use super::operands::Index;

/// Multiplications of one product.
const MOST_PRODUCTS: usize = 60_000;

impl<'k> Forge<'k, '_> {
    /// A product of two tiles, of which some lie in memory as they are wanted, or transposed, or in part.
    pub fn dot(&mut self, scope: &Scope<'k>) -> Tile<'k> {
        let (dtypes, acc) = self.dot_dtypes();
        let batch: Vec<usize> =
            (0..self.dice.weighted(&[6, 2, 1])).map(|_| self.dice.between(1, 3)).collect();
        let count: usize = batch.iter().product();
        let [m, k] = [0; 2].map(|_| self.dice.dims(1, 70)[0]);
        let n = self.dice.dims(1, (MOST_PRODUCTS / (m * k * count)).clamp(1, 100))[0];
        let dims = |r: usize, c: usize| [&batch[..], &[r, c]].concat();
        let x = self.factor(scope, dtypes[0], &dims(m, k));
        let y = self.factor(scope, dtypes[1], &dims(k, n));
        let c = self.accumulator(scope, acc, &dims(m, n));
        x.dot(y, c)
    }

    fn dot_dtypes(&self) -> ([DType; 2], DType) {
        let all = &self.limits.dtypes;
        let accs = [DType::F32, DType::F32, DType::I32, DType::F64];
        for _ in 0..100 {
            let (x, y, acc) = (self.dice.pick(all), self.dice.pick(all), self.dice.pick(&accs));
            if dot_accepts(x, y, acc) && all.contains(&acc) {
                return ([x, y], acc);
            }
        }
        ([DType::F32; 2], DType::F32)
    }

    fn accumulator(&mut self, scope: &Scope<'k>, acc: DType, dims: &[usize]) -> Tile<'k> {
        let zero = self.k.splat(0.0, acc, dims);
        match self.dice.below(5) {
            0 | 1 => zero,
            2 => self.k.splat(self.dice.pick(&[1.0, -3.0]), acc, dims),
            3 => self.arrays.load(self.k, self.dice, acc, dims, &scope.indices),
            _ => {
                let any = self.dice.pick(&scope.tiles);
                self.fit(any, zero)
            }
        }
    }

    fn factor(&mut self, scope: &Scope<'k>, dtype: DType, dims: &[usize]) -> Tile<'k> {
        let like = self.k.splat(0.0, dtype, dims);
        let mut turned = dims.to_vec();
        let rank = dims.len();
        turned.swap(rank - 2, rank - 1);
        match self.dice.below(10) {
            0..3 => self.arrays.load(self.k, self.dice, dtype, dims, &scope.indices),
            3 | 4 => self.arrays.load(self.k, self.dice, dtype, &turned, &scope.indices).t(),
            5 => {
                let mut larger = dims.to_vec();
                let d = self.dice.below(rank);
                larger[d] += self.dice.below(5);
                let start: Vec<usize> =
                    larger.iter().zip(dims).map(|(l, d)| self.dice.below(l - d + 1)).collect();
                self.arrays.load(self.k, self.dice, dtype, &larger, &scope.indices).slice(&start, dims)
            }
            6 => {
                let flat = if rank < 4 { [&[1], dims].concat() } else { dims.to_vec() };
                let flat: Vec<usize> = if self.dice.one_in(2) { flat } else { turned };
                let turn = flat[flat.len() - 2..] != dims[rank - 2..];
                let tile = self.arrays.load(self.k, self.dice, dtype, &flat, &scope.indices);
                let tile = if turn { tile.t() } else { tile };
                tile.reshape(dims)
            }
            7 => {
                let tile = self.arrays.load(self.k, self.dice, dtype, dims, &scope.indices);
                (arithmetic(tile) + 1).cast(dtype)
            }
            _ => {
                let any = self.dice.pick(&scope.tiles);
                self.fit(any, like)
            }
        }
    }

    /// A fold with one to three carried tiles, which step on, stand still, or change places.
    pub fn fold(&mut self, scope: &Scope<'k>) -> Vec<Tile<'k>> {
        let k = self.k;
        let (lo, hi) = self.bounds(scope);
        let (from, to) = (lo.lo, hi.hi);
        let steps = (to - from).max(0);
        let product = self.dice.one_in(2);
        let first = if product { self.matrix() } else { self.dice.pick(&scope.tiles) };
        let twin = self.fit(self.dice.pick(&scope.tiles), first);
        let other = self.dice.pick(&scope.tiles);
        let inits: Vec<Tile<'k>> = match self.dice.below(4) {
            0 | 1 => vec![first],
            2 => vec![first, if self.dice.one_in(2) { twin } else { other }],
            _ => vec![first, twin, other],
        };
        let mut inner = scope.clone();
        inner.depth += 1;
        let forge = &mut *self;
        let mut body = |index: Tile<'k>, carried: &[Tile<'k>]| -> Vec<Tile<'k>> {
            let index = Index { tile: index, lo: from, hi: (to - 1).max(from) };
            inner.indices.push(index);
            // A block for each step too.
            inner.own = inner.own.filter(|_| steps > 0).map(|own| Index {
                tile: own.tile * steps as usize + (index.tile - from as i32),
                lo: 0,
                hi: own.hi * steps + steps - 1,
            });
            inner.tiles.extend(carried);
            let load = forge.load(&inner);
            inner.tiles.push(load);
            let count = forge.dice.between(0, 3);
            forge.steps(&mut inner, count);
            if forge.dice.one_in(5) {
                let tile = forge.dice.pick(&inner.tiles);
                forge.store(&inner, tile);
            }
            (0..carried.len()).map(|c| forge.next(&inner, carried, c, product && c == 0)).collect()
        };
        match inits[..] {
            [a] => k.fold("t", lo.tile, hi.tile, [a], |i, [a]| take(body(i, &[a]))).to_vec(),
            [a, b] => k.fold("t", lo.tile, hi.tile, [a, b], |i, [a, b]| take(body(i, &[a, b]))).to_vec(),
            [a, b, c] => {
                k.fold("t", lo.tile, hi.tile, [a, b, c], |i, [a, b, c]| take(body(i, &[a, b, c]))).to_vec()
            }
            _ => Vec::new(),
        }
    }

    fn bounds(&mut self, scope: &Scope<'k>) -> (Index<'k>, Index<'k>) {
        let constant = |x: i64| Index { tile: self.k.int(x as i32), lo: x, hi: x };
        let small: Vec<Index<'k>> =
            scope.indices.iter().filter(|i| i.lo >= -2 && i.hi <= 4).copied().collect();
        let any = |forge: &Self| if small.is_empty() { constant(1) } else { forge.dice.pick(&small) };
        match self.dice.below(8) {
            0 => (constant(0), any(self)),
            1 => (any(self), constant(3)),
            2 => (constant(-1), constant(2)),
            3 => (constant(2), constant(1 + self.dice.below(2) as i64)),
            4 => (constant(1), constant(4)),
            _ => (constant(0), constant(self.dice.between(1, 4) as i64)),
        }
    }

    /// An f32 or i32 matrix to add products to.
    fn matrix(&mut self) -> Tile<'k> {
        let acc = if self.dice.one_in(4) { DType::I32 } else { DType::F32 };
        let dims = [self.dice.dims(1, 70)[0], self.dice.dims(1, 70)[0]];
        self.k.splat(self.dice.pick(&[0.0, 0.0, 1.0]), acc, &dims)
    }

    /// What carried tile `c` becomes.
    fn next(&mut self, scope: &Scope<'k>, carried: &[Tile<'k>], c: usize, product: bool) -> Tile<'k> {
        let this = carried[c];
        if product && !self.dice.one_in(6) {
            return self.add_product(scope, this);
        }
        let twins: Vec<Tile<'k>> = carried.iter().filter(|t| t.ty() == this.ty()).copied().collect();
        let any = scope.tiles[scope.tiles.len() - 1 - self.dice.below(scope.tiles.len().min(4))];
        match self.dice.below(9) {
            0 => self.dice.pick(&twins),
            1 => this,
            2 | 3 => self.fit(any, this),
            4 => {
                let other = self.dice.pick(&scope.tiles);
                self.fit(other, this)
            }
            5 => self.fit(arithmetic(any).max(1).abs(), this),
            _ => {
                let x = arithmetic(this);
                let y = self.fit(any, x);
                let half = if x.ty().dtype.is_float() { x * 0.5 } else { x };
                let made = match self.dice.below(4) {
                    0 => half + y,
                    1 => x.max(y),
                    2 => y - half,
                    _ => half + self.dice.pick(&twins).cast(x.ty().dtype),
                };
                made.cast(this.ty().dtype)
            }
        }
    }

    fn add_product(&mut self, scope: &Scope<'k>, acc: Tile<'k>) -> Tile<'k> {
        let dims = acc.dims();
        let depth = self.dice.dims(1, (MOST_PRODUCTS / (dims[0] * dims[1])).clamp(1, 70))[0];
        let kind = acc.ty().dtype;
        let fitting = self.limits.dtypes.iter().copied().filter(|&d| dot_accepts(d, d, kind));
        let fitting: Vec<DType> = fitting.collect();
        let dtype = if fitting.is_empty() { DType::F32 } else { self.dice.pick(&fitting) };
        let x = self.factor(scope, dtype, &[dims[0], depth]);
        let y = self.factor(scope, dtype, &[depth, dims[1]]);
        x.dot(y, acc)
    }

    /// A branch on a scalar, which yields tiles.
    pub fn when(&mut self, scope: &Scope<'k>) -> Vec<Tile<'k>> {
        let k = self.k;
        let i = self.dice.pick(&scope.indices);
        let condition = match self.dice.below(6) {
            0 => {
                let any = arithmetic(self.dice.pick(&scope.tiles));
                let scalar = self.k.splat(0.0, any.ty().dtype, &[]);
                self.fit(any, scalar).gt(1)
            }
            1 => i.tile.eq(0) | i.tile.gt(2),
            2 => i.tile.gt(0).xor(i.tile.ge(1)),
            _ => i.tile.lt(self.dice.below(3)),
        };
        let (a, b) = (self.dice.pick(&scope.tiles), self.dice.pick(&scope.tiles));
        let two = self.dice.one_in(2);
        let forge = std::cell::RefCell::new(&mut *self);
        let body = || -> Vec<Tile<'k>> {
            let mut forge = forge.borrow_mut();
            let mut inner = scope.clone();
            inner.depth += 1;
            let count = forge.dice.below(4);
            forge.steps(&mut inner, count);
            if forge.dice.one_in(6) {
                let tile = forge.dice.pick(&inner.tiles);
                forge.store(&inner, tile);
            }
            let last = inner.tiles[inner.tiles.len() - 1 - forge.dice.below(2.min(inner.tiles.len()))];
            [a, b].map(|like| forge.fit(last, like)).to_vec()
        };
        if two {
            k.when::<2>(condition, || take(body()), || take(body())).to_vec()
        } else {
            k.when::<1>(condition, || take(body()), || take(body())).to_vec()
        }
    }
}

/// The first `N` of `all`.
fn take<'k, const N: usize>(all: Vec<Tile<'k>>) -> [Tile<'k>; N] {
    std::array::from_fn(|i| all[i])
}
