//! What fills a memory of the chip, from the buffer assignment that the compiler writes (OpenXLA's
//! `BufferAssignment::ToString`): allocations, and the values that lie in each.

use std::collections::BTreeMap;
use std::path::Path;

/// Lines that a diagnostic gives to buffers.
const LISTED: usize = 16;

/// A stretch of device memory.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Buffer {
    bytes: u64,
    /// `argument 3`, `result`, `temporary` …
    kind: String,
    /// The largest value in it: its op, where it has one of its own, and its shape.
    value: String,
}

/// The largest buffers of a folder of the compiler's dumps, a line each, and a line for the rest; empty where it wrote
/// none.
pub(super) fn largest(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).ok().into_iter().flatten().flatten();
    let file = files.map(|f| f.path()).find(|p| p.to_string_lossy().ends_with("-buffer-assignment.txt"));
    let text = file.and_then(|f| std::fs::read(f).ok()).unwrap_or_default();
    lines(buffers(&String::from_utf8_lossy(&text)))
}

/// Buffers of the device's main memory, the largest first.
fn buffers(text: &str) -> Vec<Buffer> {
    let mut found = Vec::new();
    let mut open: Option<Allocation> = None;
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("allocation ") {
            found.extend(open.take().into_iter().flat_map(Allocation::buffers));
            open = Allocation::read(head);
        } else if let Some(value) = line.trim_start().strip_prefix("value: ") {
            if let (Some(a), Some(v)) = (&mut open, Value::read(value)) {
                a.values.push(v);
            }
        } else if !line.starts_with(' ') {
            found.extend(open.take().into_iter().flat_map(Allocation::buffers));
        }
    }
    found.extend(open.into_iter().flat_map(Allocation::buffers));
    found.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.cmp(b)));
    found
}

struct Allocation {
    bytes: u64,
    kind: Kind,
    values: Vec<Value>,
}

enum Kind {
    Temporary,
    Other(String),
}

struct Value {
    op: String,
    bytes: u64,
    offset: u64,
    shape: String,
}

impl Allocation {
    /// `3: size 268435456, color 1, page 0, parameter 80, shape |…|:`; `None` where it is of no main memory (a colour
    /// above 0).
    fn read(head: &str) -> Option<Allocation> {
        let facts = head.split_once(": ")?.1;
        let fact = |name: &str| facts.split(", ").find_map(|f| f.strip_prefix(name));
        if fact("color ").is_some_and(|c| c != "0") {
            return None;
        }
        let has = |name| facts.contains(name);
        let kind = match fact("parameter ") {
            Some(n) => Kind::Other(format!("argument {}", n.trim_end_matches(':'))),
            None if has("preallocated-temp") => Kind::Temporary,
            None if has("maybe-live-out") || has("output shape") => Kind::Other("result".to_string()),
            None if has("constant") => Kind::Other("constant".to_string()),
            None => Kind::Other("other".to_string()),
        };
        Some(Allocation {
            bytes: fact("size ")?.trim_end_matches(':').parse().ok()?,
            kind,
            values: Vec::new(),
        })
    }

    /// One, or of the temporaries each stretch that values begin at.
    fn buffers(self) -> Vec<Buffer> {
        let largest = |values: &[&Value]| {
            let value = values.iter().max_by_key(|v| (v.bytes, &v.op));
            value.map(|v| format!("{} {}", v.op, v.shape)).unwrap_or_default()
        };
        let all: Vec<&Value> = self.values.iter().collect();
        match self.kind {
            Kind::Other(kind) => vec![Buffer { bytes: self.bytes, kind, value: largest(&all) }],
            Kind::Temporary => {
                let mut places: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
                for value in all {
                    places.entry(value.offset).or_default().push(value);
                }
                let buffer = |values: &Vec<&Value>| Buffer {
                    bytes: values.iter().map(|v| v.bytes).max().unwrap_or(0),
                    kind: "temporary".to_string(),
                    value: largest(values),
                };
                places.values().map(buffer).collect()
            }
        }
    }
}

impl Value {
    /// `<3366 fusion.79{0} @1> (size=2097152,offset=2359296): f32[8192,64]{0,1:T(8,128)S(1)}`
    fn read(text: &str) -> Option<Value> {
        let (name, rest) = text.strip_prefix('<')?.split_once(" @")?;
        let op = name.split_once(' ')?.1.to_string();
        let (_, rest) = rest.split_once("(size=")?;
        let (bytes, rest) = rest.split_once(",offset=")?;
        let (offset, shape) = rest.split_once("): ")?;
        let shape = shape.split('{').next()?.to_string();
        Some(Value { op, bytes: bytes.parse().ok()?, offset: offset.parse().ok()?, shape })
    }
}

fn lines(buffers: Vec<Buffer>) -> Vec<String> {
    let (listed, rest) = buffers.split_at(buffers.len().min(LISTED));
    let mut lines: Vec<String> = listed
        .iter()
        .map(|b| {
            format!("{} bytes ({}): {} {}", b.bytes, binary(b.bytes), b.kind, b.value).trim_end().to_string()
        })
        .collect();
    if !rest.is_empty() {
        let bytes: u64 = rest.iter().map(|b| b.bytes).sum();
        lines.push(format!(
            "{bytes} bytes ({}): {} smaller buffers, some of them in turn at one place",
            binary(bytes),
            rest.len()
        ));
    }
    lines
}

/// Bytes in the largest binary unit that leaves at least 1.
fn binary(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.2} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "BufferAssignment:
allocation 0: size 4456448, color 1, page 0, preallocated-temp:
 value: <3366 slice.79 @1> (size=4456448,offset=0): f32[8192,64]{0,1:T(8,128)S(1)}
allocation 1: size 512, page 0, output shape is |f32[8192,8192]|, maybe-live-out:
 value: <9 add.1{0} @0> (size=512,offset=0): f32[8,16]{1,0:T(8,128)}
allocation 2: size 4096, page 0, parameter 80, shape |f32[8,128]| at ShapeIndex {}:
 value: <4 x.1 @0> (size=4096,offset=0): f32[8,128]{1,0:T(8,128)}
allocation 3: size 3221225472, page 0, preallocated-temp:
 value: <5 fusion.1 @0> (size=1073741824,offset=0): f32[268435456]{0:T(1024)}
 value: <6 fusion.2 @0> (size=2147483648,offset=1073741824): f32[536870912]{0:T(1024)}
 value: <7 copy @0> (size=1024,offset=1073741824): f32[256]{0:T(1024)}

Total bytes used: 1
";

    #[test]
    fn allocations_are_read_largest_first() {
        assert_eq!(
            lines(buffers(TEXT)),
            [
                "2147483648 bytes (2.00 GiB): temporary fusion.2 f32[536870912]",
                "1073741824 bytes (1.00 GiB): temporary fusion.1 f32[268435456]",
                "4096 bytes (4.00 KiB): argument 80 x.1 f32[8,128]",
                "512 bytes (512 B): result add.1{0} f32[8,16]",
            ]
        );
    }

    #[test]
    fn of_many_only_the_largest_are_listed() {
        let many: String =
            (0..20).map(|i| format!("allocation {i}: size {}, page 0, parameter {i}:\n", 100 + i)).collect();
        let lines = lines(buffers(&many));
        assert_eq!(lines.len(), LISTED + 1);
        assert!(lines[0].starts_with("119 bytes") && lines[LISTED].contains("4 smaller"), "{lines:?}");
    }

    #[test]
    fn no_text_makes_it_panic() {
        for end in 0..TEXT.len() {
            let _ = buffers(&TEXT[..end]);
            let _ = buffers(&TEXT[end..]);
        }
    }
}
