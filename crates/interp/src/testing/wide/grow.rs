//! A kernel's body: ops on tiles made before, each made legal for the tiles it finds.

use tilewright_dtype::DType;
use tilewright_ir::{Builder, Tile, rules::is_arithmetic};

use super::operands::{Arrays, Index};
use super::{Dice, Limits};

/// What a body may use.
#[derive(Clone)]
pub(super) struct Scope<'k> {
    pub tiles: Vec<Tile<'k>>,
    /// Scalars of known range; the cell's indices come first.
    pub indices: Vec<Index<'k>>,
    /// A scalar that no two runs of this body share, and the folds that it counts, where they are known.
    pub own: Option<Index<'k>>,
    /// How many folds and branches enclose the body.
    pub depth: usize,
}

/// A kernel under construction.
pub(super) struct Forge<'k, 'a> {
    pub k: &'k Builder,
    pub arrays: &'a mut Arrays<'k>,
    pub dice: Dice<'a>,
    pub limits: &'a Limits,
    grid: usize,
}

/// Records one kernel.
pub(super) fn record<'k>(k: &'k Builder, arrays: &mut Arrays<'k>, dice: Dice<'_>, limits: &Limits) {
    let extents: Vec<usize> = (0..dice.between(1, 3)).map(|_| dice.between(1, 4)).collect();
    let cell: Vec<Tile<'k>> = match extents[..] {
        [a, b, c] => k.grid([("i", a), ("j", b), ("l", c.min(2))]).to_vec(),
        [a, b] => k.grid([("i", a), ("j", b)]).to_vec(),
        [a, ..] => k.grid([("i", a)]).to_vec(),
        [] => Vec::new(),
    };
    let ranges: Vec<usize> =
        extents.iter().enumerate().map(|(d, &e)| if d == 2 { e.min(2) } else { e }).collect();
    let mut own = Index { tile: k.int(0), lo: 0, hi: 0 };
    let mut indices = Vec::new();
    for (&tile, &extent) in cell.iter().zip(&ranges) {
        let hi = extent as i64 - 1;
        indices.push(Index { tile, lo: 0, hi });
        let count = own.hi + 1;
        own = match count {
            1 => Index { tile, lo: 0, hi },
            _ => Index { tile: own.tile * extent + tile, lo: 0, hi: count * extent as i64 - 1 },
        };
    }
    let zero = Index { tile: k.int(0), lo: 0, hi: 0 };
    indices.push(zero);
    if dice.one_in(2) {
        let (lo, hi) = (dice.below(2) as i32 - 1, dice.between(1, 3) as i32);
        let name = format!("{}s{}", limits.prefix, dice.below(1000));
        indices.push(Index { tile: k.scalar(&name, lo, hi), lo: lo.into(), hi: hi.into() });
    }
    let mut forge = Forge { k, arrays, dice, limits, grid: cell.len() };
    let mut scope = Scope { tiles: Vec::new(), indices, own: Some(own), depth: 0 };
    for _ in 0..2 {
        let tile = forge.load(&scope);
        scope.tiles.push(tile);
    }
    let first = scope.tiles.len();
    forge.steps(&mut scope, limits.steps);
    // What nothing else may read is stored, and a few others.
    let stores = dice.between(1, 3).min(scope.tiles.len());
    for n in 0..stores {
        let last = scope.tiles.len() - 1 - n;
        let tile = if n == 0 || dice.one_in(2) {
            scope.tiles[last]
        } else {
            dice.pick(&scope.tiles[first.min(last)..])
        };
        forge.store(&scope, tile);
    }
}

impl<'k> Forge<'k, '_> {
    /// Adds up to `count` ops to the scope.
    pub fn steps(&mut self, scope: &mut Scope<'k>, count: usize) {
        for _ in 0..count {
            if self.dice.one_in(4) {
                let index = self.index(scope);
                scope.indices.push(index);
            }
            let made = self.step(scope);
            scope.tiles.extend(made);
        }
    }

    fn step(&mut self, scope: &Scope<'k>) -> Vec<Tile<'k>> {
        // Recent tiles make chains, old ones make several uses.
        let n = scope.tiles.len();
        let recent = if self.dice.one_in(3) { self.dice.below(n) } else { n - 1 - self.dice.below(n.min(3)) };
        let x = scope.tiles[recent];
        let nested = if scope.depth < 2 { [5, 3] } else { [0, 0] };
        let weights = [6, 5, 8, 3, 3, 3, 4, 3, 3, 3, 3, 3, 7, nested[0], nested[1], 2, 1];
        let made = match self.dice.weighted(&weights) {
            0 => self.load(scope),
            1 => self.unary(x),
            2 => self.binary(scope, x),
            3 => self.choose(scope, x),
            4 => self.compare(scope, x),
            5 => x.cast(self.dtype()),
            6 => self.reduce(x),
            7 => self.permute(x),
            8 => self.reshape(x),
            9 => self.slice(x),
            10 => self.concat(scope, x),
            11 => self.broadcast(x),
            12 => self.dot(scope),
            13 => return self.fold(scope),
            14 => return self.when(scope),
            15 => self.mask(scope, x),
            _ => match self.arrays.load_made(self.k, self.dice, self.limits.elements) {
                Some(tile) => tile,
                None => self.load(scope),
            },
        };
        vec![made]
    }

    fn dtype(&self) -> DType {
        let all = &self.limits.dtypes;
        if self.dice.one_in(3) { DType::F32 } else { self.dice.pick(all) }
    }

    pub fn load(&mut self, scope: &Scope<'k>) -> Tile<'k> {
        let rank = self.dice.weighted(&[1, 4, 6, 3, 2]);
        let dims = self.dice.dims(rank, self.limits.elements);
        let dtype = self.dtype();
        self.arrays.load(self.k, self.dice, dtype, &dims, &scope.indices)
    }

    pub fn store(&mut self, scope: &Scope<'k>, tile: Tile<'k>) {
        let Some(own) = scope.own else { return };
        let grid = if scope.depth == 0 { &scope.indices[..self.grid] } else { &[] };
        self.arrays.store(self.k, self.dice, tile, own, grid, &scope.indices);
    }

    /// A scalar made of others.
    fn index(&mut self, scope: &Scope<'k>) -> Index<'k> {
        let x = self.dice.pick(&scope.indices);
        let y = self.dice.pick(&scope.indices);
        let most = x.hi.abs().max(x.lo.abs());
        match self.dice.below(9) {
            0 => Index { tile: x.tile - 1, lo: x.lo - 1, hi: x.hi - 1 },
            1 if most < 8 => Index { tile: x.tile + 1, lo: x.lo + 1, hi: x.hi + 1 },
            2 => Index { tile: x.tile % 2, lo: 0, hi: 1 },
            3 => Index { tile: x.tile / 2, lo: x.lo.div_euclid(2), hi: x.hi.div_euclid(2) },
            4 => self.arrays.lookup(self.k, self.dice, x),
            5 => Index { tile: x.tile.min(1), lo: x.lo.min(1), hi: x.hi.min(1) },
            6 => Index { tile: x.tile.max(y.tile), lo: x.lo.max(y.lo), hi: x.hi.max(y.hi) },
            7 => {
                let tile = x.tile.lt(y.tile).select(x.tile, y.tile);
                Index { tile, lo: x.lo.min(y.lo), hi: x.hi.max(y.hi) }
            }
            _ => {
                let c = self.dice.below(3) as i64;
                Index { tile: self.k.int(c as i32), lo: c, hi: c }
            }
        }
    }

    fn unary(&self, x: Tile<'k>) -> Tile<'k> {
        if x.ty().dtype == DType::Bool {
            return !x;
        }
        let x = arithmetic(x);
        if x.ty().dtype == DType::I32 {
            return match self.dice.below(3) {
                0 => -x,
                1 => x.abs(),
                _ => !x,
            };
        }
        match self.dice.below(12) {
            0 => -x,
            1 => x.abs(),
            2 => x.min(4).exp(),
            3 => (x.abs() + 0.25).log(),
            4 => x.tanh(),
            5 => x.erf(),
            6 => x.abs().sqrt(),
            7 => (x.abs() + 0.5).rsqrt(),
            8 => x.floor(),
            9 => x.round(),
            10 => x.exp(),
            _ => x.rsqrt(),
        }
    }

    /// A tile that has `x`'s dtype and its shape, or broadcasts with it.
    fn partner(&mut self, scope: &Scope<'k>, x: Tile<'k>) -> Tile<'k> {
        let dtype = x.ty().dtype;
        let dims = x.dims();
        let same = |t: &&Tile<'k>| t.dims() == dims;
        let joins = |t: &&Tile<'k>| {
            let d = t.dims();
            let count: usize = d.iter().zip(&dims).map(|(&p, &q)| p.max(q)).product();
            d.len() == dims.len()
                && d.iter().zip(&dims).all(|(&p, &q)| p == q || p == 1 || q == 1)
                && count <= self.limits.elements
        };
        let all = |test: &dyn Fn(&&Tile<'k>) -> bool| -> Vec<Tile<'k>> {
            scope.tiles.iter().filter(|t| test(t)).copied().collect()
        };
        let (same, joins) = (all(&same), all(&joins));
        match self.dice.below(8) {
            0..3 if same.len() > 1 => self.dice.pick(&same).cast(dtype),
            3 | 4 if joins.len() > 1 => self.dice.pick(&joins).cast(dtype),
            5 if is_arithmetic(dtype) && !dims.is_empty() => {
                let d = self.dice.below(dims.len());
                if self.dice.one_in(2) { x.max_along(d) } else { x.sum(d) }
            }
            6 if !dims.is_empty() => self.k.iota(self.dice.below(dims.len()), &dims).cast(dtype),
            7 => {
                let any = self.dice.pick(&scope.tiles);
                self.fit(any, x)
            }
            _ => self.k.splat(self.dice.pick(&[0.0, 1.0, 2.0, 3.0]), dtype, &[]),
        }
    }

    fn binary(&mut self, scope: &Scope<'k>, x: Tile<'k>) -> Tile<'k> {
        if x.ty().dtype == DType::Bool && self.dice.one_in(2) {
            let y = self.partner(scope, x);
            let [x, y] = joined(x, y);
            return match self.dice.below(3) {
                0 => x & y,
                1 => x | y,
                _ => x.xor(y),
            };
        }
        let x = arithmetic(x);
        let y = self.partner(scope, x);
        let [x, y] = joined(x, y);
        let int = x.ty().dtype == DType::I32;
        match self.dice.below(if int { 10 } else { 7 }) {
            0 => x + y,
            1 => x - y,
            2 | 3 => x * y,
            4 if int => {
                x / if self.limits.poison {
                    y
                } else {
                    y.xor(1).eq(0).select(y, y | self.k.splat(1.0, DType::I32, &[]).broadcast(&y.dims()))
                }
            }
            4 => x / (y.abs() + 0.5),
            5 => x.min(y),
            6 => x.max(y),
            7 => x % if self.limits.poison { y } else { y.eq(0).select(y - 1, y) },
            8 => x & y,
            _ => x | y,
        }
    }

    fn compare(&mut self, scope: &Scope<'k>, x: Tile<'k>) -> Tile<'k> {
        let x = arithmetic(x);
        let y = self.partner(scope, x);
        let [x, y] = joined(x, y);
        match self.dice.below(6) {
            0 => x.eq(y),
            1 => x.ne(y),
            2 => x.lt(y),
            3 => x.le(y),
            4 => x.gt(y),
            _ => x.ge(y),
        }
    }

    fn choose(&mut self, scope: &Scope<'k>, x: Tile<'k>) -> Tile<'k> {
        let y = self.partner(scope, x);
        let [x, y] = joined(x, y);
        let conditions: Vec<Tile<'k>> = scope
            .tiles
            .iter()
            .filter(|t| t.ty().dtype == DType::Bool && t.dims() == x.dims())
            .copied()
            .collect();
        let c = if conditions.is_empty() { self.compare(scope, x) } else { self.dice.pick(&conditions) };
        let c = if c.dims() == x.dims() { c } else { self.fit(c, x.cast(DType::Bool)) };
        c.select(x, y)
    }

    fn mask(&mut self, scope: &Scope<'k>, x: Tile<'k>) -> Tile<'k> {
        let x = arithmetic(x);
        let dims = x.dims();
        if dims.is_empty() {
            return x + 1;
        }
        let d = self.dice.below(dims.len());
        let at = self.k.iota(d, &dims) + self.dice.pick(&scope.indices).tile * 3;
        let keep = at.lt(self.dice.below(dims[d] + 2));
        if x.ty().dtype.is_float() && self.dice.one_in(2) {
            keep.select(x, f64::NEG_INFINITY)
        } else {
            keep.select(x, 0)
        }
    }

    pub fn reduce(&self, x: Tile<'k>) -> Tile<'k> {
        let x = arithmetic(x);
        let rank = x.dims().len();
        if rank == 0 {
            return x;
        }
        let d = self.dice.below(rank);
        match self.dice.below(4) {
            0 => x.max_along(d),
            1 => x.min_along(d),
            _ => x.sum(d),
        }
    }

    fn permute(&self, x: Tile<'k>) -> Tile<'k> {
        let mut perm: Vec<usize> = (0..x.dims().len()).collect();
        for d in (1..perm.len()).rev() {
            perm.swap(d, self.dice.below(d + 1));
        }
        x.transpose(&perm)
    }

    /// The same elements under another shape: dimensions of 1 come and go, others merge and split.
    pub fn reshape(&self, x: Tile<'k>) -> Tile<'k> {
        let mut dims = x.dims();
        let count: usize = dims.iter().product();
        if count == 1 && self.dice.one_in(2) {
            return x.reshape(&vec![1; self.dice.below(4)]);
        }
        for _ in 0..self.dice.between(1, 3) {
            match self.dice.below(4) {
                0 if dims.len() < 4 => dims.insert(self.dice.below(dims.len() + 1), 1),
                1 if dims.contains(&1) => drop(dims.iter().position(|&d| d == 1).map(|d| dims.remove(d))),
                2 if dims.len() > 1 => {
                    let d = self.dice.below(dims.len() - 1);
                    dims[d] *= dims.remove(d + 1);
                }
                3 if !dims.is_empty() && dims.len() < 4 => {
                    let d = self.dice.below(dims.len());
                    let divisors: Vec<usize> = (2..dims[d]).filter(|f| dims[d].is_multiple_of(*f)).collect();
                    if !divisors.is_empty() {
                        let f = self.dice.pick(&divisors);
                        dims[d] /= f;
                        dims.insert(d, f);
                    }
                }
                _ => {}
            }
        }
        x.reshape(&dims)
    }

    fn slice(&self, x: Tile<'k>) -> Tile<'k> {
        let dims = x.dims();
        let size: Vec<usize> =
            dims.iter().map(|&d| if self.dice.one_in(2) { d } else { self.dice.between(1, d) }).collect();
        let start: Vec<usize> = dims.iter().zip(&size).map(|(d, n)| self.dice.below(d - n + 1)).collect();
        x.slice(&start, &size)
    }

    fn concat(&mut self, scope: &Scope<'k>, x: Tile<'k>) -> Tile<'k> {
        let dims = x.dims();
        let count: usize = dims.iter().product();
        if dims.is_empty() || count * 2 > self.limits.elements {
            return self.slice(x);
        }
        let d = self.dice.below(dims.len());
        let mut part = dims.clone();
        part[d] = self.dice.between(1, dims[d]);
        let other = self.partner(scope, x);
        let other = if other.dims() == dims { other } else { self.fit(other, x) };
        let other = other.slice(&vec![0; dims.len()], &part);
        if self.dice.one_in(2) { x.concat(other, d) } else { other.concat(x, d) }
    }

    fn broadcast(&self, x: Tile<'k>) -> Tile<'k> {
        let mut dims = x.dims();
        let count: usize = dims.iter().product();
        let room = (self.limits.elements / count).max(1);
        if dims.is_empty() {
            let rank = self.dice.between(1, 3);
            return x.broadcast(&self.dice.dims(rank, room.min(200)));
        }
        match dims.iter().position(|&d| d == 1) {
            Some(d) => {
                dims[d] = self.dice.between(1, room.min(40));
                x.broadcast(&dims)
            }
            None => self.reshape(x),
        }
    }

    /// `x` cut or repeated to the type of `like`.
    pub fn fit(&self, x: Tile<'k>, like: Tile<'k>) -> Tile<'k> {
        let (ty, dims) = (like.ty(), like.dims());
        let x = x.cast(ty.dtype);
        let count = |dims: &[usize]| -> usize { dims.iter().product() };
        let (have, want) = (count(&x.dims()), count(&dims));
        if x.dims() == dims {
            x
        } else if have == want {
            x.reshape(&dims)
        } else if have > want {
            x.reshape(&[have]).slice(&[self.dice.below(have - want + 1)], &[want]).reshape(&dims)
        } else {
            x.reshape(&[have]).slice(&[self.dice.below(have)], &[1]).reshape(&[]).broadcast(&dims)
        }
    }
}

/// `x` in a dtype that has arithmetic.
pub(super) fn arithmetic(x: Tile<'_>) -> Tile<'_> {
    if is_arithmetic(x.ty().dtype) {
        x
    } else {
        x.cast(if x.ty().dtype.is_float() { DType::F32 } else { DType::I32 })
    }
}

/// Both under their common shape.
fn joined<'k>(x: Tile<'k>, y: Tile<'k>) -> [Tile<'k>; 2] {
    let (a, b) = (x.dims(), y.dims());
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { [x.broadcast(&b), y] } else { [x, y.broadcast(&a)] };
    }
    let dims: Vec<usize> = a.iter().zip(&b).map(|(&p, &q)| p.max(q)).collect();
    [x.broadcast(&dims), y.broadcast(&dims)]
}
