//! The tables of source places that a module may begin with: an instruction then gives only a `stack_frame_id`.

use std::collections::HashMap;
use std::sync::Arc;

/// File and line.
pub(crate) type Place = (Arc<str>, usize);

/// `FileNames`, `FileLocations` and `StackFrames`, as far as they have been read.
#[derive(Default)]
pub(crate) struct Frames {
    open: Option<Table>,
    files: HashMap<usize, Arc<str>>,
    locations: HashMap<usize, Place>,
    frames: HashMap<usize, Place>,
}

#[derive(Clone, Copy)]
enum Table {
    Files,
    Functions,
    Locations,
    Frames,
}

impl Frames {
    /// Reads a line; false where it is none of a table.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        let head = match line {
            "FileNames" => Some(Table::Files),
            "FunctionNames" => Some(Table::Functions),
            "FileLocations" => Some(Table::Locations),
            "StackFrames" => Some(Table::Frames),
            _ => None,
        };
        if head.is_some() {
            self.open = head;
            return true;
        }
        self.row(line).is_some()
    }

    /// The place that the `stack_frame_id` of an instruction's metadata names: the innermost frame's.
    pub(crate) fn of(&self, metadata: &str) -> Option<Place> {
        self.frames.get(&number(metadata, "stack_frame_id")?).cloned()
    }

    /// `1 "f.py"`, or `1 {key=number …}`. A row that refers to one that is not there is read over.
    fn row(&mut self, line: &str) -> Option<()> {
        let (id, rest) = line.split_once(' ')?;
        let id = id.parse().ok()?;
        let (open, close) = match self.open? {
            Table::Files | Table::Functions => ('"', '"'),
            Table::Locations | Table::Frames => ('{', '}'),
        };
        let inside = rest.strip_prefix(open)?.strip_suffix(close)?;
        match self.open? {
            Table::Files => {
                self.files.insert(id, inside.into());
            }
            Table::Functions => {}
            Table::Locations => {
                let file = number(inside, "file_name_id").and_then(|f| self.files.get(&f));
                if let (Some(file), Some(line)) = (file, number(inside, "line")) {
                    self.locations.insert(id, (file.clone(), line));
                }
            }
            Table::Frames => {
                let place = number(inside, "file_location_id").and_then(|l| self.locations.get(&l));
                if let Some(place) = place {
                    self.frames.insert(id, place.clone());
                }
            }
        }
        Some(())
    }
}

/// The number in `key=number`, where the key stands alone.
fn number(text: &str, key: &str) -> Option<usize> {
    text.split([' ', '{', '}']).find_map(|part| part.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
}
