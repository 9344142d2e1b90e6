//! The strict reader of `*-final_bundles.txt`.

mod cursor;
mod notes;
mod operand;

use std::collections::HashMap;

use tilewright_diag::{Diagnostic, Result};
use tilewright_hw::Chip;

use crate::listing::{Bundle, Instr, Label, Listing, Mark, Unknown};
use crate::ops::{Opcode, opcode};
use cursor::Cursor;

/// The key that stands before the first bundle.
const HEADER: [&str; 8] = [
    "= control target key start",
    "LH: loop header",
    "LB: loop body",
    "LE: loop exit",
    "PB: predicated region body",
    "PF: predicated region fallthrough",
    "CT: control target",
    "= control target key end",
];

/// Reads a listing. `file` names it in diagnostics. An opcode that the table does not know is kept and reported in
/// [`Listing::unknown`]; anything else that does not fit the grammar is an error with its line.
pub fn parse(text: impl Into<String>, file: &str, chip: Chip) -> Result<Listing> {
    let text = text.into();
    if u32::try_from(text.len()).is_err() {
        return Err(Diagnostic::request("tpu/too-large", "a listing of 4 GiB or more")
            .at(tilewright_diag::Span::file(file)));
    }
    let mut listing = Listing {
        chip,
        file: file.to_owned(),
        text: String::new(),
        bundles: Vec::with_capacity(text.len() / 240),
        instrs: Vec::with_capacity(text.len() / 90),
        args: Vec::with_capacity(text.len() / 50),
        mems: Vec::new(),
        names: Vec::new(),
        labels: Vec::new(),
        marks: Vec::new(),
        regions: HashMap::new(),
        windows: Vec::new(),
        hlo: None,
        unknown: Vec::new(),
        unknown_notes: Vec::new(),
    };
    let mut reader = Reader {
        cursor: Cursor::new(&text, file),
        out: &mut listing,
        opcodes: HashMap::new(),
        labels: HashMap::new(),
        unknown: HashMap::new(),
        exit: false,
    };
    reader.header()?;
    while reader.record()? {}
    let exit = reader.exit;
    if listing.bundles.is_empty() {
        return Err(Diagnostic::request("tpu/cut-listing", "the listing has no bundle")
            .at(tilewright_diag::Span::file(file))
            .rule("a listing has a key and then one record a bundle"));
    }
    if listing.hlo.is_some() && !exit {
        let last = listing.bundles.len() - 1;
        return Err(Diagnostic::request(
            "tpu/cut-listing",
            format!("the listing ends at bundle {last:#x} without its exit bundle"),
        )
        .at(listing.span(listing.bundles.last().map_or(0, |b| b.line)))
        .rule("a listing with an entry bundle ends with the exit bundle of the same operation"));
    }
    listing.text = text;
    Ok(listing)
}

/// The state of reading one listing.
struct Reader<'t, 'o> {
    cursor: Cursor<'t>,
    out: &'o mut Listing,
    opcodes: HashMap<&'t str, (u32, Opcode)>,
    labels: HashMap<&'t str, Label>,
    unknown: HashMap<u32, usize>,
    exit: bool,
}

impl<'t> Reader<'t, '_> {
    fn header(&mut self) -> Result<()> {
        for expected in HEADER {
            let line = self.cursor.rest_of_line();
            if line.trim_end() != expected {
                return Err(self
                    .cursor
                    .fault("tpu/not-a-listing", format!("expected `{expected}`, found `{}`", clip(line)))
                    .rule("a final bundle listing starts with the control target key"));
            }
            self.cursor.newline();
        }
        Ok(())
    }

    /// Reads one bundle; false at the end of the text.
    fn record(&mut self) -> Result<bool> {
        self.cursor.skip_blank_lines();
        if self.cursor.at_end() {
            return Ok(false);
        }
        let line = self.cursor.line;
        let address = self.cursor.address()?;
        let expected = self.out.bundles.len() as u64;
        if address != expected {
            return Err(self
                .cursor
                .fault("tpu/address-gap", format!("bundle {address:#x} where {expected:#x} was due"))
                .rule("addresses count up by one from 0"));
        }
        let depth = self.flags()?;
        self.cursor.expect(b'{', "the bundle's `{`")?;
        let first = self.out.instrs.len() as u32;
        loop {
            self.cursor.spaces();
            if self.cursor.take(b'}') {
                break;
            }
            self.instr()?;
            self.cursor.spaces();
            if self.cursor.take(b'}') {
                break;
            }
            if !self.cursor.take_str(";;") {
                return Err(self.cursor.unexpected("`;;` or `}` after an instruction"));
            }
        }
        let bundle = self.out.bundles.len() as u32;
        let last = self.out.instrs.len() as u32;
        self.out.bundles.push(Bundle { line, instrs: first..last, depth });
        self.trailing_notes(bundle)?;
        Ok(true)
    }

    /// The control flags, the colon and the nesting marks.
    fn flags(&mut self) -> Result<u8> {
        loop {
            self.cursor.spaces();
            if self.cursor.take(b':') {
                break;
            }
            let known = ["LH", "LB", "LE", "PB", "PF", "CT"].iter().any(|f| self.cursor.take_str(f));
            if !known {
                return Err(self.cursor.unexpected("a control flag (LH LB LE PB PF CT) or `:`"));
            }
        }
        let mut depth = 0u8;
        loop {
            self.cursor.spaces();
            if !self.cursor.take(b'>') {
                return Ok(depth);
            }
            depth = depth.saturating_add(1);
        }
    }

    fn instr(&mut self) -> Result<()> {
        let line = self.cursor.line;
        let dest = match self.cursor.peek() {
            Some(b'%') => {
                let value = self.cursor.value()?;
                self.cursor.spaces();
                self.cursor.expect(b'=', "`=` after the defined value")?;
                self.cursor.spaces();
                Some(value)
            }
            _ => None,
        };
        let name = self.cursor.opcode()?;
        let (text, op) = match self.opcodes.get(name) {
            Some(known) => *known,
            None => {
                let entry = (self.out.names.len() as u32, opcode(name));
                self.out.names.push(name.to_owned());
                self.opcodes.insert(name, entry);
                entry
            }
        };
        let mut instr = Instr {
            op,
            text,
            line,
            dest,
            guard: None,
            args: self.out.args.len() as u32..0,
            attributes: 0..0,
            note: 0..0,
        };
        self.operands(&mut instr)?;
        instr.args.end = self.out.args.len() as u32;
        self.check(&instr, name)?;
        self.window(&instr)?;
        self.out.instrs.push(instr);
        Ok(())
    }

    /// Holds an instruction to its family's entry, or counts it as unknown.
    fn check(&mut self, instr: &Instr, name: &str) -> Result<()> {
        let Some(family) = instr.op.entry() else {
            match self.unknown.get(&instr.text).and_then(|i| self.out.unknown.get_mut(*i)) {
                Some(u) => u.count += 1,
                None => {
                    self.unknown.insert(instr.text, self.out.unknown.len());
                    self.out.unknown.push(Unknown { name: name.to_owned(), line: instr.line, count: 1 });
                }
            }
            return Ok(());
        };
        let count = instr.args.end - instr.args.start;
        let (low, high) = (u32::from(family.operands.0), u32::from(family.operands.1));
        if count < low || count > high {
            return Err(self
                .cursor
                .fault_at(instr.line, "tpu/bad-operands", format!("`{name}` has {count} operands"))
                .rule(format!("`{}` takes {low} to {high}", family.pattern)));
        }
        let gives = instr.dest.and_then(|d| d.reg).map(|r| r.class);
        if gives != operand::class_of(family.gives) {
            return Err(self
                .cursor
                .fault_at(
                    instr.line,
                    "tpu/bad-operands",
                    format!("`{name}` defines a register of the wrong class"),
                )
                .rule(format!("`{}` gives {:?}", family.pattern, family.gives)));
        }
        Ok(())
    }

    /// Comments after the closing brace: region marks, entry and exit.
    fn trailing_notes(&mut self, bundle: u32) -> Result<()> {
        loop {
            self.cursor.spaces();
            if self.cursor.at_end() || self.cursor.newline() {
                return Ok(());
            }
            let line = self.cursor.line;
            let Some(range) = self.cursor.comment()? else {
                return Err(self.cursor.unexpected("the end of the line or a comment after a bundle"));
            };
            let text = self.cursor.text;
            for piece in text.get(range).unwrap_or("").split(" :: ") {
                self.note(bundle, line, piece.trim())?;
            }
        }
    }

    fn note(&mut self, bundle: u32, line: u32, piece: &str) -> Result<()> {
        if let Some(hlo) = piece.strip_prefix("entry bundle: ") {
            self.out.hlo = Some(hlo.to_owned());
        } else if piece.starts_with("exit bundle: ") {
            self.exit = true;
        } else if let Some(mark) = notes::mark(piece) {
            if let Mark::Start(region) | Mark::Empty(region) = mark
                && self.out.regions.insert(region, bundle).is_some()
            {
                return Err(self
                    .cursor
                    .fault_at(line, "tpu/duplicate-region", format!("region {region} starts twice"))
                    .rule("a branch names the one bundle at which its region starts"));
            }
            self.out.marks.push((bundle, mark));
        } else {
            self.out.unknown_notes.push((line, piece.to_owned()));
        }
        Ok(())
    }

    /// The window note of a transfer.
    fn window(&mut self, instr: &Instr) -> Result<()> {
        let note = self.cursor.text.get(instr.note.start as usize..instr.note.end as usize).unwrap_or("");
        if !note.contains("window_bounds") {
            return Ok(());
        }
        match notes::window(note) {
            Some(mut window) => {
                window.instr = self.out.instrs.len() as u32;
                self.out.windows.push(window);
                Ok(())
            }
            None => Err(self
                .cursor
                .fault_at(instr.line, "tpu/bad-window", "the note on a transfer's window is malformed")
                .rule("each line of the note is `name: number` or `name: (numbers)`")),
        }
    }
}

/// At most the first 60 characters of `text`.
fn clip(text: &str) -> String {
    text.chars().take(60).collect()
}
