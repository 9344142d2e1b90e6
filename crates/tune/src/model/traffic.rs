//! Bytes that a nest of loops moves into a cache of a given size.

/// One step of a loop's body.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A loop.
    Loop(Loop),
    /// Bytes read or written.
    Access(Access),
    /// Vector instructions of the rate of a fused multiply-add.
    Slots(f64),
}

/// A loop.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    /// How often the body runs, on average.
    pub trips: f64,
    /// The loop's own bit in [`Access::follows`].
    pub bit: u64,
    pub body: Vec<Node>,
}

/// A block of an array or of a buffer.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// Which array.
    pub array: usize,
    /// Bytes touched by one execution.
    pub bytes: f64,
    /// How often one execution touches them: below 1 where a copy is kept for some of the executions.
    pub times: f64,
    /// Transfers for each byte: 2 where a line is read before it is written back.
    pub weight: f64,
    /// The loops by whose index the block is chosen.
    pub follows: u64,
    /// Bytes of the whole array.
    pub whole: f64,
    /// Whether the time to bring it from the first level to registers is part of the arithmetic's own peak.
    pub hidden: bool,
}

/// Vector instructions of a nest.
pub(super) fn slots(nodes: &[Node]) -> f64 {
    let each = |node: &Node| match node {
        Node::Slots(n) => *n,
        Node::Loop(l) => l.trips * slots(&l.body),
        Node::Access(_) => 0.0,
    };
    nodes.iter().map(each).sum()
}

/// Bytes that are not found in a cache that holds `holds` bytes of the most recent; with 0, all that registers are filled
/// from. What fits as a whole is there from an earlier run.
pub(super) fn bytes(nodes: &[Node], holds: f64) -> f64 {
    let parts = body(nodes, holds);
    if holds > 0.0 && distinct(&parts) <= holds {
        return 0.0;
    }
    parts.iter().filter(|p| holds > 0.0 || !p.hidden).map(|p| p.moved * p.weight).sum()
}

/// An array's part of what a stretch of the program does.
#[derive(Clone, Debug)]
struct Part {
    array: usize,
    follows: u64,
    weight: f64,
    whole: f64,
    hidden: bool,
    /// Distinct bytes.
    distinct: f64,
    /// Bytes moved into the cache.
    moved: f64,
}

/// One execution of a body, the cache cold.
fn body(nodes: &[Node], holds: f64) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for node in nodes {
        match node {
            Node::Slots(_) => {}
            Node::Loop(l) => looped(l, holds).into_iter().for_each(|p| join(&mut parts, p)),
            Node::Access(a) => join(
                &mut parts,
                Part {
                    array: a.array,
                    follows: a.follows,
                    weight: a.weight,
                    whole: a.whole,
                    hidden: a.hidden,
                    distinct: a.bytes.min(a.whole),
                    moved: a.bytes * a.times,
                },
            ),
        }
    }
    fetch_once(&mut parts, holds);
    parts
}

/// A loop. What its index chooses is new in each step; the rest is found again where one step's bytes fit.
fn looped(l: &Loop, holds: f64) -> Vec<Part> {
    let mut parts = body(&l.body, holds);
    let fits = distinct(&parts) <= holds;
    for p in &mut parts {
        let chosen = p.follows & l.bit != 0;
        if chosen {
            p.distinct = (p.distinct * l.trips).min(p.whole);
        }
        if chosen || !fits {
            p.moved *= l.trips;
        }
        p.follows &= !l.bit;
    }
    fetch_once(&mut parts, holds);
    parts
}

/// Where all distinct bytes fit, each is fetched once.
fn fetch_once(parts: &mut [Part], holds: f64) {
    if distinct(parts) <= holds {
        for p in parts {
            p.moved = p.moved.min(p.distinct);
        }
    }
}

fn distinct(parts: &[Part]) -> f64 {
    parts.iter().map(|p| p.distinct).sum()
}

/// Two stretches that read one array by the same loops are taken to read the same blocks.
fn join(parts: &mut Vec<Part>, new: Part) {
    let same = |p: &&mut Part| (p.array, p.follows, p.hidden) == (new.array, new.follows, new.hidden);
    match parts.iter_mut().find(same) {
        Some(p) => {
            p.distinct = p.distinct.max(new.distinct);
            p.moved += new.moved;
        }
        None => parts.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(array: usize, bytes: f64, follows: u64, whole: f64) -> Node {
        Node::Access(Access { array, bytes, times: 1.0, weight: 1.0, follows, whole, hidden: false })
    }

    /// `for i in 0..4 { for k in 0..8 { read a[i, k]; read b[k] } }`, blocks of 100 bytes.
    fn nest() -> Vec<Node> {
        let inner = vec![access(0, 100.0, 0b11, 3200.0), access(1, 100.0, 0b10, 800.0)];
        let k = Node::Loop(Loop { trips: 8.0, bit: 0b10, body: inner });
        vec![Node::Loop(Loop { trips: 4.0, bit: 0b01, body: vec![k] })]
    }

    #[test]
    fn what_fits_is_fetched_once_and_what_does_not_each_time() {
        // A step of the outer loop touches 1600 bytes, of which 800 come again.
        assert_eq!(bytes(&nest(), 1600.0), 3200.0 + 800.0);
        assert_eq!(bytes(&nest(), 1599.0), 3200.0 + 4.0 * 800.0);
        assert_eq!(bytes(&nest(), 3999.0), 4000.0);
        assert_eq!(bytes(&nest(), 4000.0), 0.0, "an earlier run left it there");
        assert_eq!(bytes(&nest(), 0.0), 6400.0);
    }

    #[test]
    fn two_passes_over_one_array_are_one_footprint() {
        let pass = |bit| Node::Loop(Loop { trips: 10.0, bit, body: vec![access(0, 10.0, bit, 100.0)] });
        let both = vec![pass(1), pass(2)];
        assert_eq!(bytes(&both, 100.0), 0.0);
        assert_eq!(bytes(&both, 99.0), 200.0);
    }

    #[test]
    fn slots_add_up_over_loops() {
        let inner = Node::Loop(Loop { trips: 3.0, bit: 1, body: vec![Node::Slots(2.0)] });
        assert_eq!(slots(&[Node::Slots(1.0), inner]), 7.0);
    }
}
