//! HLO text to a [`Module`].

use std::borrow::Cow;
use std::collections::HashMap;

use tilewright_diag::{Diagnostic, Result, Span};

use crate::frames::Frames;
use crate::shape::{Array, Dtype, Layout, Shape, Tile};
use crate::{Computation, Instruction, Module};

/// Nested tuples and braces deeper than this are refused: no compiler prints them.
const DEEPEST: usize = 64;

/// Reads a module's text; `file` names it in diagnostics.
///
/// # Errors
/// `tpu/hlo` (class request), with the line and what was expected there.
pub fn parse(text: &str, file: &str) -> Result<Module> {
    let mut module = Module {
        name: String::new(),
        computations: Vec::new(),
        entry: usize::MAX,
        partitions: 1,
        replicas: 1,
        by_name: HashMap::new(),
    };
    let mut open: Option<(Computation, bool)> = None;
    let mut frames = Frames::default();
    let mut lines = text.lines().enumerate();
    while let Some((i, raw)) = lines.next() {
        // Attributes that hold text of a front end may run over several lines.
        let mut whole = Cow::Borrowed(raw.trim());
        while open.is_some() && is_open(&whole) {
            let Some((_, more)) = lines.next() else { break };
            whole = Cow::Owned(format!("{whole} {}", more.trim()));
        }
        let line: &str = &whole;
        let fault = |(what, at): (&str, &str)| -> Box<Diagnostic> {
            let col = (raw.len() - at.len().min(raw.len())) + 1;
            Diagnostic::request("tpu/hlo", format!("not HLO text: {what}")).at(Span {
                file: file.to_string(),
                line: i as u32 + 1,
                col: col as u32,
            })
        };
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        if let Some(rest) = line.strip_prefix("HloModule ") {
            module.name = rest.split([',', ' ']).next().unwrap_or_default().to_string();
            let count = |key: &str| {
                let (_, value) = rest.split_once(key)?;
                value.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|n| *n > 0)
            };
            module.partitions = count(", num_partitions=").unwrap_or(1);
            module.replicas = count(", replica_count=").unwrap_or(1);
        } else if line == "}" || line.starts_with("}, ") {
            let Some((computation, is_entry)) = open.take() else {
                return Err(fault(("a `}` that closes nothing", line)));
            };
            if computation.instructions.is_empty() {
                return Err(fault(("a computation without instructions", line)));
            }
            if is_entry {
                module.entry = module.computations.len();
            }
            module.by_name.insert(computation.name.clone(), module.computations.len());
            module.computations.push(computation);
        } else if let Some((computation, _)) = &mut open {
            let (mut instruction, is_root) = instruction(line, i + 1).map_err(fault)?;
            instruction.frame = instruction.attribute("metadata").and_then(|m| frames.of(m));
            if is_root {
                computation.root = computation.instructions.len();
            }
            computation.by_name.insert(instruction.name.clone(), computation.instructions.len());
            computation.instructions.push(instruction);
        } else if line.ends_with('{') {
            open = Some(header(line).ok_or_else(|| fault(("the head of a computation has a name", line)))?);
        } else if module.computations.is_empty() && frames.line(line) {
            // A table of source places.
        } else if !module.name.is_empty() {
            return Err(fault(("a line outside of any computation", line)));
        }
    }
    let at_end = |what: &str| {
        Diagnostic::request("tpu/hlo", format!("not HLO text: {what}")).at(Span::file(file.to_string()))
    };
    if let Some((computation, _)) = open {
        return Err(at_end(&format!("it ends within the computation `{}`", computation.name)));
    }
    if module.entry == usize::MAX {
        return Err(at_end("it has no ENTRY computation"));
    }
    Ok(module)
}

/// Whether a bracket or string of the line is not closed in it.
fn is_open(line: &str) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0i32, false, false);
    for c in line.bytes() {
        match c {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    depth > 0 || quoted
}

/// `%name (parameters) -> shape {`, with `ENTRY` before it or not.
fn header(line: &str) -> Option<(Computation, bool)> {
    let (rest, is_entry) = match line.strip_prefix("ENTRY ") {
        Some(rest) => (rest, true),
        None => (line, false),
    };
    let name = rest.trim_start_matches('%').split([' ', '(']).next().filter(|n| !n.is_empty())?;
    let computation =
        Computation { name: name.to_string(), instructions: Vec::new(), root: 0, by_name: HashMap::new() };
    Some((computation, is_entry))
}

/// What was expected, and the rest of the line there.
type Fault<'a> = (&'static str, &'a str);
type Parsed<'a, T> = std::result::Result<T, Fault<'a>>;

/// `[ROOT ]%name = shape opcode(operands), key=value, …`
fn instruction(line: &str, number: usize) -> Parsed<'_, (Instruction, bool)> {
    let (rest, is_root) = match line.strip_prefix("ROOT ") {
        Some(rest) => (rest, true),
        None => (line, false),
    };
    let (name, rest) = rest.split_once(" = ").ok_or(("an instruction is `%name = …`", rest))?;
    let mut cursor = Cursor { rest };
    let shape = cursor.shape(0)?;
    cursor.spaces();
    let opcode = cursor.word();
    if opcode.is_empty() {
        return Err(("an opcode is expected", cursor.rest));
    }
    let inside = cursor.group('(', ')')?;
    let operands = match opcode {
        "parameter" | "constant" | "iota" => vec![inside.trim().to_string()],
        _ => split(inside).into_iter().map(operand).filter(|o| !o.is_empty()).collect(),
    };
    let mut attributes = Vec::new();
    while !cursor.rest.trim().is_empty() {
        let rest = cursor.rest.trim_start();
        let rest = rest.strip_prefix(',').ok_or(("a comma is expected", rest))?.trim_start();
        let named = rest
            .split_once('=')
            .filter(|(key, _)| key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        let (key, value) = named.ok_or(("an attribute is `key=value`", rest))?;
        cursor.rest = value;
        attributes.push((key.to_string(), cursor.value()?.to_string()));
    }
    let name = name.trim().trim_start_matches('%').to_string();
    let opcode = opcode.to_string();
    Ok((Instruction { name, shape, opcode, operands, attributes, line: number, frame: None }, is_root))
}

/// `%name`, maybe with its shape or an `/*index=5*/` before it.
fn operand(text: &str) -> String {
    let text = text.trim();
    let text =
        text.rsplit_once('%').map_or_else(|| text.rsplit(' ').next().unwrap_or(text), |(_, name)| name);
    text.to_string()
}

/// Parts between commas that stand in no bracket.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from, mut quoted) = (Vec::new(), 0i32, 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// A comment such as `/*index=5*/` and spaces.
    fn comments(&mut self) {
        self.spaces();
        while let Some((_, after)) = self.rest.strip_prefix("/*").and_then(|r| r.split_once("*/")) {
            self.rest = after.trim_start();
        }
    }

    /// Letters, digits and what names are made of.
    fn word(&mut self) -> &'a str {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// The text between `open` and its `close`.
    fn group(&mut self, open: char, close: char) -> Parsed<'a, &'a str> {
        let whole = self.rest;
        let inside = whole.strip_prefix(open).ok_or(("a bracket is expected", whole))?;
        let (mut depth, mut quoted, mut escaped) = (1, false, false);
        for (at, c) in inside.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                _ if quoted => {}
                c if c == open => depth += 1,
                c if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        self.rest = &inside[at + close.len_utf8()..];
                        return Ok(&inside[..at]);
                    }
                }
                _ => {}
            }
        }
        Err(("a bracket is not closed", whole))
    }

    /// An attribute's value: up to a comma that stands in no bracket or string.
    fn value(&mut self) -> Parsed<'a, &'a str> {
        let whole = self.rest;
        let (mut depth, mut quoted, mut escaped) = (0i32, false, false);
        for (at, c) in whole.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                _ if quoted => {}
                '(' | '{' | '[' => depth += 1,
                ')' | '}' | ']' => depth -= 1,
                ',' if depth == 0 => {
                    self.rest = &whole[at..];
                    return Ok(whole[..at].trim());
                }
                _ => {}
            }
        }
        if depth != 0 || quoted {
            return Err(("a bracket or string is not closed", whole));
        }
        self.rest = "";
        Ok(whole.trim())
    }

    /// `bf16[8,128]{1,0:T(8,128)(2,1)S(1)}`, or shapes in parentheses.
    fn shape(&mut self, depth: usize) -> Parsed<'a, Shape> {
        self.comments();
        if depth > DEEPEST {
            return Err(("tuples nest too deep", self.rest));
        }
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            let mut parts = Vec::new();
            loop {
                self.comments();
                if let Some(rest) = self.rest.strip_prefix(')') {
                    self.rest = rest;
                    return Ok(Shape::Tuple(parts));
                }
                parts.push(self.shape(depth + 1)?);
                self.comments();
                match self.rest.strip_prefix(',') {
                    Some(rest) => self.rest = rest,
                    None if self.rest.starts_with(')') => {}
                    None => return Err(("a comma or `)` is expected in a tuple", self.rest)),
                }
            }
        }
        let at = self.rest;
        let dtype = Dtype::parse(self.word()).ok_or(("an element type is expected", at))?;
        let mut dims = Vec::new();
        for size in self.group('[', ']')?.split(',').map(str::trim).filter(|s| !s.is_empty()) {
            // A bounded dynamic size is written `<=N`.
            let size = size.trim_start_matches("<=");
            dims.push(size.parse::<usize>().map_err(|_| ("a size is expected", at))?);
        }
        let total = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        if total.is_none_or(|n| n > 1 << 56) {
            return Err(("the array has more elements than any memory", at));
        }
        let layout = if self.rest.starts_with('{') { Some(layout(self.group('{', '}')?)?) } else { None };
        Ok(Shape::Array(Array { dtype, dims, layout }))
    }
}

/// `1,0:T(8,128)(2,1)S(1)`; other letters (`L(128)`, `E(4)`) are read over.
fn layout(text: &str) -> Parsed<'_, Layout> {
    let (order, rest) = text.split_once(':').unwrap_or((text, ""));
    let number = |s: &str| s.trim().parse::<usize>().ok();
    let numbers =
        |s: &str| s.split(',').filter(|s| !s.trim().is_empty()).map(number).collect::<Option<Vec<_>>>();
    let minor_to_major = numbers(order).ok_or(("a layout's dimensions are numbers", text))?;
    let mut layout = Layout { minor_to_major, ..Layout::default() };
    let (mut kind, mut cursor) = (' ', Cursor { rest });
    while let Some(c) = cursor.rest.chars().next() {
        if c != '(' {
            kind = c;
            cursor.rest = &cursor.rest[c.len_utf8()..];
            continue;
        }
        let inside = cursor.group('(', ')')?;
        match kind {
            // A `*` merges a dimension with the one before it: for padding it is as a size of 1.
            'T' => {
                let sizes = inside.split(',').map(|s| if s.trim() == "*" { Some(1) } else { number(s) });
                let sizes = sizes.collect::<Option<Vec<_>>>().ok_or(("a tile's sizes are numbers", text))?;
                layout.tiles.push(Tile(sizes));
            }
            'S' => layout.memory_space = number(inside).ok_or(("a memory space is a number", text))?,
            _ => {}
        }
    }
    Ok(layout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = r#"HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[8,128]{1,0:T(8,128)})->f32[8]{0}}

%fused (p: f32[8,128]) -> f32[8] {
  %p = f32[8,128]{1,0:T(8,128)} parameter(0)
  %c = f32[]{:T(128)} constant(0)
  ROOT %r = f32[8]{0:T(1024)S(1)} reduce(%p, %c), dimensions={1}, to_apply=%add, metadata={op_name="jit(f)/sum" source_file="f.py" source_line=7}
}

ENTRY %main (a: f32[8,128]) -> f32[8] {
  %a = f32[8,128]{1,0:T(8,128)} parameter(0)
  %t = (f32[8]{0}, /*index=1*/s32[]{:T(128)}) custom-call(%a), custom_call_target="x, \"y\"", backend_config={"a":[1,2],"b":"}"}
  ROOT %fusion.1 = f32[8]{0:T(1024)} fusion(%a), kind=kLoop, calls=%fused
}
"#;

    #[test]
    fn a_module_is_read() {
        let m = parse(TEXT, "t.txt").unwrap();
        assert_eq!((m.name.as_str(), m.entry().name.as_str()), ("jit_f", "main"));
        let root = m.entry().root();
        assert_eq!((root.name.as_str(), root.opcode.as_str()), ("fusion.1", "fusion"));
        let fused = m.computation(root.called("calls").unwrap()).unwrap().root();
        assert_eq!(fused.numbers("dimensions"), [1]);
        assert_eq!(fused.operands, ["p", "c"]);
        assert_eq!(fused.source(), Some(("f.py".to_string(), 7)));
        assert_eq!(fused.shape.array().unwrap().layout.as_ref().unwrap().memory_space, 1);
        let call = m.entry().instruction("t").unwrap();
        assert_eq!(call.shape.arrays().len(), 2);
        assert_eq!(call.attribute("custom_call_target"), Some(r#""x, \"y\"""#));
        assert_eq!(call.attribute("backend_config"), Some(r#"{"a":[1,2],"b":"}"}"#));
    }

    #[test]
    fn attributes_may_run_over_lines_and_computations_have_attributes_too() {
        let text = TEXT
            .replace("\"a\":[1,2],", "\"a\":[1,\n2],\n")
            .replace("calls=%fused\n}", "calls=%fused\n}, execution_thread=\"sparsecore\"");
        let m = parse(&text, "t.txt").unwrap();
        assert_eq!(
            m.entry().instruction("t").unwrap().attribute("backend_config"),
            Some(r#"{"a":[1, 2], "b":"}"}"#)
        );
    }

    #[test]
    fn tables_of_source_places_lead_from_a_frame_to_its_line() {
        let tables = "\n\nFileNames\n1 \"a/f.py\"\n\nFunctionNames\n1 \"<module>\"\n\nFileLocations\n\
            1 {file_name_id=1 function_name_id=1 line=32 end_line=32 column=10 end_column=49}\n\
            2 {file_name_id=9 function_name_id=1 line=33}\n\nStackFrames\n\
            1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=2}\n\n%fused";
        for (frame, place) in [("1", Some(("a/f.py".to_string(), 32))), ("2", None), ("7", None)] {
            let text = TEXT
                .replacen("\n\n%fused", tables, 1)
                .replace("source_file=\"f.py\" source_line=7", &format!("stack_frame_id={frame}"));
            let m = parse(&text, "t.txt").unwrap();
            assert_eq!(m.computation("fused").unwrap().root().source(), place);
        }
        let text = TEXT.replacen("\n\n%fused", "\n\nFileNames\n1 f.py\n%fused", 1);
        assert!(parse(&text, "t.txt").unwrap_err().message.contains("outside of any computation"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, what) in [
            (TEXT.replace("ROOT %fusion.1 = f32[8]", "ROOT %fusion.1 = g32[8]"), "element type"),
            (TEXT.replace("calls=%fused\n}\n", "calls=%fused\n"), "ends within the computation `main`"),
            (TEXT.replace("ENTRY ", ""), "no ENTRY"),
            (TEXT.replace("f32[8,128]{1,0:T(8,128)} parameter", "f32[8,x] parameter"), "a size"),
            (TEXT.replace("fusion(%a)", "fusion(%a"), "not closed"),
            (TEXT.replace("kind=kLoop", "kind"), "key=value"),
        ] {
            let d = parse(&text, "t.txt").unwrap_err();
            assert!(d.code == "tpu/hlo" && d.message.contains(what), "{what}: {d}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(at in 0..TEXT.len(), cut in 0..TEXT.len(), with in ".{0,6}") {
            if TEXT.is_char_boundary(at) && TEXT.is_char_boundary(cut) {
                let _ = parse(&format!("{}{with}{}", &TEXT[..at.min(cut)], &TEXT[at.max(cut)..]), "t.txt");
            }
        }
    }
}
