//! What MLIR bytecode says of its module: the attributes of its outermost operation.
//!
//! The format is that of LLVM's `mlir/docs/BytecodeFormat.md`, versions 0 to 6; of attributes only dictionaries, strings
//! and integers are understood. Nothing is guessed: what does not follow the format is a fault.

use std::collections::BTreeMap;

/// The bytes that bytecode begins with.
pub(super) const MAGIC: &[u8] = b"ML\xefR";

/// The newest version of the format that is known.
const NEWEST: u64 = 6;

/// Sections, by their number.
const STRINGS: u8 = 0;
const DIALECTS: u8 = 1;
const ATTRIBUTES: u8 = 2;
const OFFSETS: u8 = 3;
const OPERATIONS: u8 = 4;

/// What is wrong with the bytes.
type Read<T> = std::result::Result<T, &'static str>;

/// The whole-number attributes of the outermost operation, by name.
pub(super) fn integers(bytes: &[u8]) -> Read<BTreeMap<String, i128>> {
    let file = File::read(bytes)?;
    let mut cursor = Cursor(file.section(OPERATIONS)?);
    let head = cursor.varint()?;
    if head & 1 != 0 || head >> 1 != 1 {
        return Err("it does not hold one operation");
    }
    let _name = cursor.varint()?;
    let has_attributes = cursor.byte()? & 1 != 0;
    let _location = cursor.varint()?;
    let mut found = BTreeMap::new();
    if has_attributes {
        let dictionary = cursor.varint()?;
        for (name, value) in file.dictionary(dictionary)? {
            if let Some(value) = file.integer(value)? {
                found.insert(file.string_attribute(name)?, value);
            }
        }
    }
    Ok(found)
}

/// The strings of a module: names of operations and attributes, targets of calls.
pub(super) fn strings(bytes: &[u8]) -> Vec<String> {
    let strings = File::read(bytes).map(|f| f.strings).unwrap_or_default();
    strings.into_iter().map(|s| String::from_utf8_lossy(s).into_owned()).collect()
}

struct File<'a> {
    sections: BTreeMap<u8, &'a [u8]>,
    strings: Vec<&'a [u8]>,
    /// Attributes, then types.
    entries: Vec<Entry<'a>>,
    attributes: usize,
}

struct Entry<'a> {
    dialect: &'a [u8],
    bytes: &'a [u8],
    /// In the dialect's own encoding, else text.
    is_encoded: bool,
}

impl<'a> File<'a> {
    fn read(bytes: &'a [u8]) -> Read<File<'a>> {
        let mut cursor = Cursor(bytes.strip_prefix(MAGIC).ok_or("it does not begin as bytecode")?);
        let version = cursor.varint()?;
        if version > NEWEST {
            return Err("its version is newer than 6");
        }
        cursor.text()?;
        let sections = sections(&mut cursor, bytes)?;
        let mut file = File { sections, strings: Vec::new(), entries: Vec::new(), attributes: 0 };
        file.strings = strings_of(file.section(STRINGS)?)?;
        let dialects = file.dialects(version)?;
        file.attributes = file.read_entries(&dialects)?;
        Ok(file)
    }

    fn section(&self, number: u8) -> Read<&'a [u8]> {
        self.sections.get(&number).copied().ok_or("a section is missing")
    }

    fn string(&self, at: u64) -> Read<&'a [u8]> {
        usize::try_from(at).ok().and_then(|at| self.strings.get(at).copied()).ok_or("a string is missing")
    }

    /// The names of the dialects, in order.
    fn dialects(&self, version: u64) -> Read<Vec<&'a [u8]>> {
        let mut cursor = Cursor(self.section(DIALECTS)?);
        let count = cursor.count()?;
        (0..count)
            .map(|_| {
                let head = cursor.varint()?;
                if version >= 1 && head & 1 != 0 {
                    let length = cursor.count()?;
                    cursor.take(length)?;
                }
                self.string(if version >= 1 { head >> 1 } else { head })
            })
            .collect()
    }

    /// Reads where each attribute and type lies; how many of them are attributes.
    fn read_entries(&mut self, dialects: &[&'a [u8]]) -> Read<usize> {
        let mut cursor = Cursor(self.section(OFFSETS)?);
        let mut bytes = Cursor(self.section(ATTRIBUTES)?);
        let (attributes, types) = (cursor.count()?, cursor.count()?);
        while self.entries.len() < attributes + types {
            let dialect = *dialects.get(cursor.count()?).ok_or("a dialect is missing")?;
            let count = cursor.count()?;
            for _ in 0..count {
                let size = cursor.varint()?;
                let bytes = bytes.take(usize::try_from(size >> 1).map_err(|_| ENDS_EARLY)?)?;
                self.entries.push(Entry { dialect, bytes, is_encoded: size & 1 != 0 });
            }
        }
        Ok(attributes)
    }

    /// The entry at a place, if it is of the builtin dialect, without the number of its kind.
    fn builtin(&self, at: Option<usize>) -> Read<Option<(u64, Cursor<'a>)>> {
        let entry = at.and_then(|at| self.entries.get(at)).ok_or("an attribute is missing")?;
        if entry.dialect != b"builtin" || !entry.is_encoded {
            return Ok(None);
        }
        let mut cursor = Cursor(entry.bytes);
        Ok(Some((cursor.varint()?, cursor)))
    }

    fn attribute(&self, at: u64) -> Read<Option<(u64, Cursor<'a>)>> {
        self.builtin(usize::try_from(at).ok().filter(|&at| at < self.attributes))
    }

    fn dictionary(&self, at: u64) -> Read<Vec<(u64, u64)>> {
        const DICTIONARY: u64 = 1;
        let Some((DICTIONARY, mut cursor)) = self.attribute(at)? else {
            return Err("its attributes are no dictionary");
        };
        let count = cursor.count()?;
        (0..count).map(|_| Ok((cursor.varint()?, cursor.varint()?))).collect()
    }

    fn string_attribute(&self, at: u64) -> Read<String> {
        const STRING: u64 = 2;
        match self.attribute(at)? {
            Some((STRING, mut cursor)) => {
                Ok(String::from_utf8_lossy(self.string(cursor.varint()?)?).into_owned())
            }
            _ => Err("an attribute's name is no string"),
        }
    }

    /// The value of an attribute; `None` where it is no integer of at most 64 bits.
    fn integer(&self, at: u64) -> Read<Option<i128>> {
        const INTEGER: u64 = 8;
        let Some((INTEGER, mut cursor)) = self.attribute(at)? else { return Ok(None) };
        let kind = usize::try_from(cursor.varint()?).ok().and_then(|t| t.checked_add(self.attributes));
        const INTEGER_TYPE: u64 = 0;
        let Some((INTEGER_TYPE, mut width)) = self.builtin(kind)? else { return Ok(None) };
        // The two lowest bits say whether it is signed.
        match width.varint()? >> 2 {
            0..=8 => Ok(Some(i128::from(cursor.byte()?))),
            9..=64 => {
                let coded = cursor.varint()?;
                Ok(Some(i128::from((coded >> 1) as i64 ^ -((coded & 1) as i64))))
            }
            _ => Ok(None),
        }
    }
}

fn sections<'a>(cursor: &mut Cursor<'a>, whole: &[u8]) -> Read<BTreeMap<u8, &'a [u8]>> {
    let mut sections = BTreeMap::new();
    while !cursor.0.is_empty() {
        let head = cursor.byte()?;
        let length = cursor.count()?;
        if head & 0x80 != 0 {
            let alignment = cursor.count()?.max(1);
            let at = whole.len() - cursor.0.len();
            cursor.take(at.next_multiple_of(alignment).checked_sub(at).ok_or(ENDS_EARLY)?)?;
        }
        sections.insert(head & 0x7f, cursor.take(length)?);
    }
    Ok(sections)
}

/// Strings lie one after the other; their lengths come first, the last string's before the others'.
fn strings_of(section: &[u8]) -> Read<Vec<&[u8]>> {
    let mut cursor = Cursor(section);
    let count = cursor.count()?;
    let mut lengths = (0..count).map(|_| cursor.count()).collect::<Read<Vec<_>>>()?;
    lengths.reverse();
    lengths
        .into_iter()
        .map(|length| {
            let (_, string) = cursor.take(length)?.split_last().ok_or("a string has no end")?;
            Ok(string)
        })
        .collect()
}

const ENDS_EARLY: &str = "it ends early";

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn byte(&mut self) -> Read<u8> {
        let (&first, rest) = self.0.split_first().ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(first)
    }

    fn take(&mut self, length: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Up to the byte 0, which is read over.
    fn text(&mut self) -> Read<&'a [u8]> {
        let end = self.0.iter().position(|&b| b == 0).ok_or(ENDS_EARLY)?;
        let text = self.take(end)?;
        self.byte()?;
        Ok(text)
    }

    /// As many bytes follow the first one as that has zeros at its low end.
    fn varint(&mut self) -> Read<u64> {
        let first = *self.0.first().ok_or(ENDS_EARLY)?;
        // Nine bytes: the first only says so.
        let length = first.trailing_zeros() as usize + 1;
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(self.take(length)?) {
            *to = *from;
        }
        Ok((u128::from_le_bytes(bytes) >> length.min(8)) as u64)
    }

    /// A number that is a count, a length or an index.
    fn count(&mut self) -> Read<usize> {
        usize::try_from(self.varint()?).ok().filter(|&n| n < 1 << 40).ok_or(ENDS_EARLY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `module attributes {mhlo.num_partitions = 4 : i32, small = -3 : i8, text = "x"} {}` written by hand.
    fn sample() -> Vec<u8> {
        let one = |n: u8| n << 1 | 1;
        let section = |number: u8, body: Vec<u8>| [vec![number, one(body.len() as u8)], body].concat();
        let names: [&[u8]; 6] =
            [b"builtin\0", b"module\0", b"mhlo.num_partitions\0", b"small\0", b"text\0", b"x\0"];
        let mut strings = vec![one(6)];
        strings.extend(names.iter().rev().map(|n| one(n.len() as u8)));
        strings.extend(names.concat());
        // dictionary, three names, 4 : i32, 253 : i8, "x"; then the types i32 and i8.
        let entries: [Vec<u8>; 9] = [
            vec![one(1), one(3), one(1), one(4), one(2), one(5), one(3), one(6)],
            vec![one(2), one(2)],
            vec![one(2), one(3)],
            vec![one(2), one(4)],
            vec![one(8), one(0), one(8)],
            vec![one(8), one(1), 253],
            vec![one(2), one(5)],
            vec![one(0), 2, 2],
            vec![one(0), one(32)],
        ];
        let mut offsets = vec![one(7), one(2), one(0), one(9)];
        offsets.extend(entries.iter().map(|e| one(one(e.len() as u8))));
        [
            b"ML\xefR".to_vec(),
            vec![one(6)],
            b"by hand\0".to_vec(),
            section(STRINGS, strings),
            section(DIALECTS, vec![one(1), one(0), one(1), one(0), one(1), one(one(1))]),
            section(ATTRIBUTES, entries.concat()),
            section(OFFSETS, offsets),
            section(OPERATIONS, vec![one(2), one(0), 1, one(0), one(0)]),
        ]
        .concat()
    }

    #[test]
    fn attributes_of_the_module_are_read() {
        let found = integers(&sample()).unwrap();
        assert_eq!(found.get("mhlo.num_partitions"), Some(&4));
        assert_eq!((found.get("small"), found.len()), (Some(&253), 2));
        assert!(strings(&sample()).contains(&"text".to_string()));
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        for n in [0, 1, 127, 128, 16383, 16384, 1 << 40, u64::MAX >> 8, u64::MAX >> 7, u64::MAX] {
            let length = (1..9).find(|l| n >> (7 * l) == 0).unwrap_or(9);
            let coded =
                if length == 9 { u128::from(n) << 8 } else { (u128::from(n) << 1 | 1) << (length - 1) };
            assert_eq!(Cursor(&coded.to_le_bytes()[..length as usize]).varint(), Ok(n));
        }
    }

    #[test]
    fn cut_or_changed_bytes_are_a_fault_or_another_module_never_a_panic() {
        let whole = sample();
        for end in 0..whole.len() {
            assert!(integers(&whole[..end]).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            for value in [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                let _ = integers(&changed);
            }
        }
    }
}
