//! The file that `jax.export`'s `Exported.serialize()` writes: a FlatBuffer around MLIR bytecode.
//!
//! Fields are numbered as in JAX's `jax/_src/export/serialization.fbs`, which keeps their numbers from version to version.

use super::bytecode::MAGIC;

/// What of an exported function is read here.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exported<'a> {
    /// The platforms that it was lowered for, as JAX names them: `tpu`, `cuda`, `cpu` …
    pub platforms: Vec<String>,
    /// MLIR bytecode.
    pub module: &'a [u8],
}

const PLATFORMS: usize = 9;
const MODULE: usize = 13;

/// Reads it; `None` where the bytes are none.
pub(super) fn exported(bytes: &[u8]) -> Option<Exported<'_>> {
    let buffer = Buffer(bytes);
    let root = buffer.follow(0)?;
    let module = buffer.vector(buffer.field(root, MODULE)?, 1)?;
    let module = bytes.get(module.0..module.0.checked_add(module.1)?).filter(|m| m.starts_with(MAGIC))?;
    let (start, count) = buffer.vector(buffer.field(root, PLATFORMS)?, 4)?;
    let platform = |i: usize| {
        let (at, length) = buffer.vector(start + 4 * i, 1)?;
        Some(String::from_utf8_lossy(bytes.get(at..at.checked_add(length)?)?).into_owned())
    };
    Some(Exported { platforms: (0..count).map(platform).collect::<Option<_>>()?, module })
}

struct Buffer<'a>(&'a [u8]);

impl Buffer<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn number(&self, at: usize) -> Option<usize> {
        Some(u32::from_le_bytes(self.bytes(at)?) as usize)
    }

    /// Where the offset at a place leads.
    fn follow(&self, at: usize) -> Option<usize> {
        at.checked_add(self.number(at)?)
    }

    /// Where a field of the table lies; the table of offsets lies at a distance before it.
    fn field(&self, table: usize, field: usize) -> Option<usize> {
        let distance = i32::from_le_bytes(self.bytes(table)?);
        let offsets = usize::try_from(i64::try_from(table).ok()? - i64::from(distance)).ok()?;
        let size = u16::from_le_bytes(self.bytes(offsets)?) as usize;
        let entry = 4 + 2 * field;
        let offset = (entry + 2 <= size).then(|| self.bytes(offsets + entry))??;
        match u16::from_le_bytes(offset) {
            0 => None,
            offset => table.checked_add(offset as usize),
        }
    }

    /// Begin and count of the vector that the place refers to, of elements of `size` bytes that the buffer holds.
    fn vector(&self, at: usize, size: usize) -> Option<(usize, usize)> {
        let at = self.follow(at)?;
        let (start, count) = (at.checked_add(4)?, self.number(at)?);
        (start.checked_add(count.checked_mul(size)?)? <= self.0.len()).then_some((start, count))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A buffer with the two fields.
    pub(in crate::tpu) fn sample(platform: &str, module: &[u8]) -> Vec<u8> {
        let word = |n: usize| (n as u32).to_le_bytes();
        let mut out = word(36).to_vec();
        // The table of offsets at 4: its size, the table's size, 14 fields of which two are there.
        out.extend([32, 0, 12, 0]);
        for field in 0..14 {
            let offset = match field {
                PLATFORMS => 4,
                MODULE => 8,
                _ => 0,
            };
            out.extend([offset, 0]);
        }
        // The table at 36, its vectors at 48.
        out.extend(word(32));
        let name = platform.len().next_multiple_of(4);
        out.extend([word(8), word(16 + name)].concat());
        out.extend([word(1), word(4), word(platform.len())].concat());
        out.extend(platform.as_bytes());
        out.resize(60 + name, 0);
        out.extend(word(module.len()));
        out.extend(module);
        out
    }

    #[test]
    fn platforms_and_module_are_read() {
        let buffer = sample("cuda", b"ML\xefRxyz");
        assert_eq!(
            exported(&buffer),
            Some(Exported { platforms: vec!["cuda".to_string()], module: b"ML\xefRxyz" })
        );
        assert_eq!(exported(&sample("cuda", b"xyz")), None);
        for end in 0..buffer.len() {
            assert_eq!(exported(&buffer[..end]), None, "{end}");
        }
    }
}
