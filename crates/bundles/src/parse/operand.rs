//! Operands: values, immediates, addresses, labels, guards, attributes.

use tilewright_diag::Result;

use super::Reader;
use crate::listing::{Arg, Class, Guard, Instr, Label, Mem, Operand, Part, Space, Symbol};
use crate::ops::Gives;

/// The register class that a family's result has.
pub fn class_of(gives: Gives) -> Option<Class> {
    match gives {
        Gives::Nothing => None,
        Gives::Scalar => Some(Class::Scalar),
        Gives::Predicate => Some(Class::Predicate),
        Gives::Vector => Some(Class::Vector),
        Gives::Mask => Some(Class::Mask),
    }
}

impl<'t> Reader<'t, '_> {
    /// Everything of an instruction after its opcode.
    pub(super) fn operands(&mut self, instr: &mut Instr) -> Result<()> {
        let mut label = None;
        let mut separated = true;
        loop {
            self.cursor.spaces();
            let Some(byte) = self.cursor.peek() else {
                return Err(self.cursor.unexpected("an operand, `;;` or `}`"));
            };
            match byte {
                b'}' => break,
                b';' if self.cursor.starts(";;") => break,
                b',' => {
                    self.cursor.pos += 1;
                    separated = true;
                    continue;
                }
                b'/' => {
                    if let Some(name) = self.cursor.label() {
                        label = Some(self.label(name)?);
                    } else {
                        let Some(range) = self.cursor.comment()? else {
                            return Err(self.cursor.unexpected("a comment"));
                        };
                        instr.note = range.start as u32..range.end as u32;
                    }
                    continue;
                }
                b'(' => {
                    self.parenthesis(instr)?;
                    continue;
                }
                b'[' => {
                    if self.bracketed(instr, label.take(), separated)? {
                        separated = false;
                    }
                    continue;
                }
                _ => {}
            }
            let operand = self.plain(byte)?;
            self.out.args.push(Arg { label: label.take(), operand, names: None });
            separated = false;
        }
        if label.is_some() {
            return Err(self.cursor.unexpected("an operand after its label"));
        }
        Ok(())
    }

    fn label(&mut self, name: &'t str) -> Result<Label> {
        if let Some(known) = self.labels.get(name) {
            return Ok(*known);
        }
        let Ok(index) = u16::try_from(self.out.labels.len()) else {
            return Err(self.cursor.unexpected("fewer distinct labels"));
        };
        self.out.labels.push(name.to_owned());
        self.labels.insert(name, Label(index));
        Ok(Label(index))
    }

    /// A guard, or one of the words of a transpose.
    fn parenthesis(&mut self, instr: &mut Instr) -> Result<()> {
        if self.cursor.take_str("(short)") || self.cursor.take_str("(narrow)") {
            return Ok(());
        }
        self.cursor.pos += 1;
        let negated = self.cursor.take(b'!');
        let value = self.cursor.value()?;
        if value.reg.is_none_or(|r| r.class != Class::Predicate) {
            return Err(self.cursor.unexpected("a predicate in the guard"));
        }
        let mut otherwise = None;
        if self.cursor.take(b',') {
            self.cursor.spaces();
            otherwise = Some(self.cursor.value()?);
        }
        self.cursor.expect(b')', "`)` after the guard")?;
        if instr.guard.replace(Guard { value, negated, otherwise }).is_some() {
            return Err(self.cursor.unexpected("one guard an instruction"));
        }
        Ok(())
    }

    /// A memory operand, an allocation or an attribute; true where it was an operand.
    fn bracketed(&mut self, instr: &mut Instr, label: Option<Label>, separated: bool) -> Result<bool> {
        if self.cursor.starts("[#allocation") {
            let symbol = self.symbol_bracket()?;
            if !separated
                && let Some(last) =
                    self.out.args.get_mut(instr.args.start as usize..).and_then(|a| a.last_mut())
            {
                last.names = Some(symbol);
                return Ok(false);
            }
            self.out.args.push(Arg { label, operand: Operand::Symbol(symbol), names: None });
            return Ok(true);
        }
        let space = if self.cursor.take_str("[vmem:") {
            Space::Vmem
        } else if self.cursor.take_str("[smem:") {
            Space::Smem
        } else {
            let range = self.cursor.bracket()?;
            let start = if instr.attributes.start == 0 { range.start as u32 } else { instr.attributes.start };
            instr.attributes = start..range.end as u32;
            return Ok(false);
        };
        let mem = self.mem(space)?;
        self.out.args.push(Arg { label, operand: Operand::Mem(self.out.mems.len() as u32), names: None });
        self.out.mems.push(mem);
        Ok(true)
    }

    fn mem(&mut self, space: Space) -> Result<Mem> {
        let mut mem = Mem {
            space,
            base: Part::None,
            index: Part::None,
            mask: Part::None,
            stride: None,
            per_stride: None,
            pattern: None,
        };
        if self.cursor.starts("[#allocation") {
            self.cursor.pos += 1;
            mem.base = Part::Symbol(self.symbol()?);
        } else {
            self.cursor.expect(b'[', "`[` of an address")?;
            mem.base = if self.cursor.peek() == Some(b'%') {
                Part::Value(self.cursor.value()?)
            } else {
                Part::Imm(self.cursor.decimal("an address")?)
            };
        }
        mem.index = self.index()?;
        self.cursor.expect(b']', "`]` of an address")?;
        loop {
            self.cursor.spaces();
            if self.cursor.take(b']') {
                return Ok(mem);
            } else if self.cursor.take_str("sm:") {
                mem.mask = if self.cursor.peek() == Some(b'%') {
                    Part::Value(self.cursor.value()?)
                } else {
                    Part::Imm(self.cursor.hex_literal()?)
                };
            } else if self.cursor.take_str("ss:") {
                mem.stride = Some(self.cursor.hex_literal()?);
            } else if self.cursor.take_str("sps:") {
                mem.per_stride = Some(self.cursor.hex_literal()?);
            } else if self.cursor.take_str("pattern:") {
                mem.pattern = Some(self.cursor.hex_literal()?);
            } else {
                return Err(self.cursor.unexpected("`sm:`, `ss:`, `sps:`, `pattern:` or `]`"));
            }
        }
    }

    /// ` + $0x8`, ` - $0x8`, ` + %s3_s1` or nothing.
    fn index(&mut self) -> Result<Part> {
        self.cursor.spaces();
        let negative = match self.cursor.peek() {
            Some(b'+') => false,
            Some(b'-') => true,
            _ => return Ok(Part::None),
        };
        self.cursor.pos += 1;
        self.cursor.spaces();
        if self.cursor.peek() == Some(b'%') {
            if negative {
                return Err(self.cursor.unexpected("an immediate after `-`"));
            }
            return Ok(Part::Value(self.cursor.value()?));
        }
        let value = self.cursor.hex_literal()?;
        Ok(Part::Imm(if negative { -value } else { value }))
    }

    /// `[#allocation5 + $0x1]`.
    fn symbol_bracket(&mut self) -> Result<Symbol> {
        self.cursor.pos += 1;
        let mut symbol = self.symbol()?;
        match self.index()? {
            Part::Imm(offset) => match i32::try_from(offset) {
                Ok(offset) => symbol.offset = offset,
                Err(_) => return Err(self.cursor.unexpected("an offset of 32 bits")),
            },
            Part::None => {}
            _ => return Err(self.cursor.unexpected("an immediate offset")),
        }
        self.cursor.expect(b']', "`]` of an allocation")?;
        Ok(symbol)
    }

    /// `#allocation12` or `#allocation12_spill`.
    fn symbol(&mut self) -> Result<Symbol> {
        if !self.cursor.take_str("#allocation") {
            return Err(self.cursor.unexpected("an allocation"));
        }
        let allocation = self.cursor.decimal("an allocation's number")?;
        let spill = self.cursor.take_str("_spill");
        Ok(Symbol { allocation, offset: 0, spill })
    }

    fn plain(&mut self, byte: u8) -> Result<Operand> {
        if byte == b'%' {
            return Ok(Operand::Value(self.cursor.value()?));
        }
        if self.cursor.take_str("target = $region") {
            return Ok(Operand::Region(self.cursor.decimal("a region's number")?));
        }
        let at = self.cursor.pos;
        let first = self.cursor.number_text();
        if let Ok(int) = first.parse::<i64>() {
            if self.cursor.take(b'|') {
                let second = self.cursor.number_text().parse::<f32>();
                return second
                    .map(|s| Operand::Pair(int as f32, s))
                    .map_err(|_| self.cursor.unexpected("the high half of a pair"));
            }
            return Ok(Operand::Int(int));
        }
        let Ok(float) = first.parse::<f32>() else {
            self.cursor.pos = at;
            return Err(self.cursor.unexpected("an operand"));
        };
        if self.cursor.take(b'|') {
            let second = self.cursor.number_text().parse::<f32>();
            return second
                .map(|s| Operand::Pair(float, s))
                .map_err(|_| self.cursor.unexpected("the high half of a pair"));
        }
        Ok(Operand::Float(float))
    }
}
