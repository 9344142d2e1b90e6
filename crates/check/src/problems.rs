//! Small problems beside the one that was asked for: the same types, flags and config, sizes that end in tails.

use tilewright_kernels::{Config, Family, Kind, Problem, Val};

/// Sizes without a tile of their own go no further than this in derived problems.
const FEW: usize = 3;
/// A size that few tiles divide, yet 8 does: a tuner elsewhere once kept a kernel that was wrong for it alone.
const ODD: usize = 104;

/// Problems whose sizes are one, around each tile, and odd. At most `count`, each legal for the family, none the same
/// as `problem`.
pub(crate) fn derived(family: &dyn Family, problem: &Problem, config: &Config, count: usize) -> Vec<Problem> {
    let dims: Vec<(&str, Vec<usize>)> =
        dims(family, problem).map(|(name, size)| (name, sizes(name, size, config))).collect();
    let rounds = dims.iter().map(|(_, sizes)| sizes.len()).max().unwrap_or(0);
    let mut found: Vec<Problem> = Vec::new();
    for round in 0..rounds {
        if found.len() == count {
            break;
        }
        // Neighbouring dimensions take neighbouring sizes, so that tails of one kind meet those of another.
        let mut p = problem.clone();
        for (i, (name, sizes)) in dims.iter().enumerate() {
            let size = sizes[(round + i) % sizes.len()];
            // Rules between keys (heads that share key heads) may refuse a size; the dimension then stays.
            p = legal(family, p.with_dim(name, size)).unwrap_or(p);
        }
        if p != *problem && !found.contains(&p) {
            found.push(p);
        }
    }
    found
}

/// The sizes of a problem, by name; limits such as a window are no sizes.
pub(crate) fn dims<'a>(
    family: &dyn Family,
    problem: &'a Problem,
) -> impl Iterator<Item = (&'static str, usize)> + use<'a> {
    let keys = family.keys().iter().filter(|k| matches!(k.kind, Kind::Dim(_)));
    keys.map(|k| (k.name, problem.dim(k.name)))
}

/// The problem as one types it: parts that have their default are left out, the element types apart.
pub(crate) fn text(family: &dyn Family, problem: &Problem) -> String {
    let mut words = Vec::new();
    for ((name, value), key) in problem.values().iter().zip(family.keys()) {
        let default = match (&key.kind, value) {
            (Kind::Dim(default), Val::Int(size)) => *default == Some(*size),
            (Kind::Limit, Val::Int(size)) => *size == 0,
            (Kind::Choice(choices), Val::Word(word)) => choices.first() == Some(&word.as_str()),
            (Kind::Words(_), Val::Word(word)) => word == "none",
            (Kind::Flag, Val::Flag(set)) => !set,
            _ => false,
        };
        match value {
            _ if default => {}
            Val::Flag(_) => words.push(name.to_string()),
            value => words.push(format!("{name}={value}")),
        }
    }
    words.join(" ")
}

/// The problem, where the family takes it.
pub(crate) fn legal(family: &dyn Family, problem: Problem) -> Option<Problem> {
    family.validate(&problem).ok().map(|()| problem)
}

/// The tile sizes of a dimension: config entries `b` + the beginning of its name (`bm` of `m`, `bq` of `q_len`).
pub(crate) fn tiles(name: &str, config: &Config) -> Vec<usize> {
    let of_dim =
        |entry: &str| entry.strip_prefix('b').is_some_and(|rest| !rest.is_empty() && name.starts_with(rest));
    let entries = config.0.iter().filter(|(entry, tile)| of_dim(entry) && **tile > 0);
    entries.map(|(_, tile)| *tile as usize).collect()
}

fn sizes(name: &str, size: usize, config: &Config) -> Vec<usize> {
    let tiles: Vec<usize> = tiles(name, config).into_iter().map(|t| t.min(size)).collect();
    let mut sizes: Vec<usize> = Vec::new();
    let mut add = |s: usize| {
        if s >= 1 && s <= size + 1 && !sizes.contains(&s) {
            sizes.push(s);
        }
    };
    for &t in &tiles {
        // Several steps and a short one; within one step, a trip count that is odd for most vectors.
        let (steps, last) = if t < ODD && !ODD.is_multiple_of(t) { (ODD, 2) } else { (2 * t + 3, ODD) };
        // In this order the first problems already end in a tail after whole steps of a product's terms.
        [t.saturating_sub(1), 1, steps, t + 1, last, t, 2].into_iter().for_each(&mut add);
    }
    if tiles.is_empty() {
        [FEW.min(size), 1, size.min(256), 2.min(size)].into_iter().for_each(&mut add);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(words: &str) -> (&'static dyn Family, Problem) {
        let mut words = words.split(' ');
        let family = tilewright_kernels::family(words.next().unwrap()).unwrap();
        let words: Vec<&str> = words.collect();
        (family, Problem::parse(family.name(), family.keys(), &words).unwrap())
    }

    #[test]
    fn tails_of_every_tile_are_reached() {
        let (family, p) = problem("matmul m=256 n=256 k=256 dtype=bf16 epilogue=bias tb");
        let config = Config::of(&[("bm", 64), ("bn", 32), ("bk", 48), ("order", 1)]);
        let all = derived(family, &p, &config, 8);
        for (dim, tile) in [("m", 64), ("n", 32), ("k", 48)] {
            let sizes: Vec<usize> = all.iter().map(|p| p.dim(dim)).collect();
            for wanted in [1, 2, tile - 1, tile, tile + 1] {
                assert!(sizes.contains(&wanted), "{dim}={wanted} in {sizes:?}");
            }
        }
        assert!(all.iter().any(|p| p.dim("k") == 104), "two steps and a short one");
        assert!(all.iter().all(|p| p.flag("tb") && p.has("epilogue", "bias")), "flags stay");
        assert_eq!(derived(family, &p, &config, 3).len(), 3);
    }

    #[test]
    fn derived_problems_are_legal() {
        let words = "attention batch=2 heads=8 kv_heads=2 q_len=100 kv_len=300 head_dim=64 causal window=17";
        let (family, p) = problem(words);
        let all = derived(family, &p, &Config::of(&[("bq", 16), ("bk", 32)]), 10);
        assert!(all.len() >= 4);
        for p in &all {
            family.validate(p).unwrap();
            assert_eq!(p.dim("window"), 17, "a limit is no size to vary");
        }
        assert!(all.iter().any(|p| p.dim("q_len") == 17) && all.iter().any(|p| p.dim("kv_len") == 31));
    }

    #[test]
    fn a_problem_reads_as_it_was_typed() {
        for words in [
            "matmul m=4 n=5 k=6 dtype=bf16",
            "matmul m=4 n=5 k=6 batch=2 dtype=u8 weights=i4 tb epilogue=row_scale+bias",
            "attention batch=1 heads=8 kv_heads=2 q_len=100 kv_len=300 head_dim=64 dtype=f32 causal window=17",
        ] {
            let (family, p) = problem(words);
            let text = text(family, &p);
            assert_eq!(format!("{} {text}", family.name()), words);
            let again: Vec<&str> = text.split(' ').collect();
            assert_eq!(Problem::parse(family.name(), family.keys(), &again).unwrap(), p);
        }
    }

    #[test]
    fn a_problem_of_ones_needs_few_others() {
        let (family, p) = problem("softmax rows=1 cols=1");
        assert!(derived(family, &p, &Config::of(&[("br", 1), ("bc", 1)]), 8).len() <= 3);
    }
}
