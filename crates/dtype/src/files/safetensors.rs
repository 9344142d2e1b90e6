//! Reads safetensors files: a little-endian `u64` length, a JSON header of that length, then the tensors' bytes.
//!
//! Source: <https://huggingface.co/docs/safetensors>, "Format".

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use tilewright_diag::{Diagnostic, Result, Span};

use super::{corrupt, not_a_bool, open, unreadable};
use crate::tensor::required_bytes;
use crate::{DType, Tensor};

const CORRUPT: &str = "file/corrupt-safetensors";

/// The longest header that the format allows, in bytes.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// Bytes of the header's length.
const LENGTH_BYTES: u64 = 8;

/// An open safetensors file whose header was read and checked; the tensors stay on disk until they are asked for.
#[derive(Debug)]
pub struct SafeTensorsFile {
    path: PathBuf,
    /// Where the tensors' bytes begin.
    data_start: u64,
    tensors: BTreeMap<String, TensorInfo>,
    metadata: BTreeMap<String, String>,
}

/// One tensor of a safetensors file, as its header describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorInfo {
    /// The element type as the file names it, e.g. `BF16`; not every one has a [`DType`].
    #[serde(rename = "dtype")]
    pub dtype_name: String,
    /// The dimensions.
    pub shape: Vec<usize>,
    /// Begin and end of the bytes, counted from the end of the header.
    pub data_offsets: (u64, u64),
}

impl TensorInfo {
    /// The element type, where there is one of the file's name for it.
    pub fn dtype(&self) -> Option<DType> {
        DTYPES.iter().find(|(name, _)| *name == self.dtype_name).map(|(_, dtype)| *dtype)
    }
}

/// The format's names of the element types that are read.
const DTYPES: [(&str, DType); 10] = [
    ("F64", DType::F64),
    ("F32", DType::F32),
    ("BF16", DType::BF16),
    ("F16", DType::F16),
    ("F8_E4M3", DType::F8E4M3),
    ("F8_E5M2", DType::F8E5M2),
    ("I32", DType::I32),
    ("I8", DType::I8),
    ("U8", DType::U8),
    ("BOOL", DType::Bool),
];

impl SafeTensorsFile {
    /// Opens a file, reads its header and checks it: every tensor's bytes lie in the file, are as many as type and
    /// shape say, and follow one another without gap or overlap to the file's end.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (mut file, file_bytes) = open(path)?;
        let header = read_header(path, &mut file, file_bytes)?;
        let data_start = LENGTH_BYTES + header.len() as u64;
        let Header { tensors, metadata } = serde_json::from_slice(&header)
            .map_err(|e| corrupt(CORRUPT, path, format!("the header is malformed: {e}")))?;
        let opened = SafeTensorsFile { path: path.to_path_buf(), data_start, tensors, metadata };
        opened.check_layout(file_bytes - data_start)?;
        Ok(opened)
    }

    /// The tensors' names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The header's words on a tensor; `file/unknown-tensor`, with the nearest name, where there is none.
    pub fn info(&self, name: &str) -> Result<&TensorInfo> {
        self.tensors.get(name).ok_or_else(|| {
            Diagnostic::unknown("file/unknown-tensor", "tensor", name, self.names())
                .at(Span::file(self.path.display().to_string()))
        })
    }

    /// The free-form `__metadata__` of the header.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// Reads one tensor, and no other byte of the file.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let info = self.info(name)?;
        let dtype = info.dtype().ok_or_else(|| self.unsupported(name, &info.dtype_name))?;
        let mut tensor = Tensor::try_new(dtype, &info.shape)?;
        let (mut file, _) = open(&self.path)?;
        file.seek(SeekFrom::Start(self.data_start + info.data_offsets.0))
            .and_then(|_| file.read_exact(tensor.bytes_mut()))
            .map_err(|e| unreadable(&self.path, &e).note(format!("while reading tensor `{name}`")))?;
        match not_a_bool(&tensor) {
            Some((i, byte)) => {
                Err(self.fault(name, format!("element {i} of a BOOL tensor is the byte {byte}, not 0 or 1")))
            }
            None => Ok(tensor),
        }
    }

    /// Checks every tensor's range of bytes against its type and shape, and all of them against the `data_bytes` that
    /// follow the header.
    fn check_layout(&self, data_bytes: u64) -> Result<()> {
        let mut by_offset: Vec<(&String, &TensorInfo)> = self.tensors.iter().collect();
        by_offset.sort_by_key(|(_, info)| info.data_offsets);
        let mut next = 0;
        for (name, info) in by_offset {
            let (begin, end) = info.data_offsets;
            if begin > end || end > data_bytes {
                let fault = format!("bytes {begin}..{end} are not a range of the {data_bytes} data bytes");
                return Err(self.fault(name, fault));
            }
            if begin != next {
                let fault = format!("its bytes begin at {begin}, the tensor before it ends at {next}");
                return Err(self.fault(name, fault));
            }
            if let Some(dtype) = info.dtype() {
                let shape = &info.shape;
                let needed = required_bytes(dtype, shape).map_err(|e| self.fault(name, e.message))?;
                if needed as u64 != end - begin {
                    let fault =
                        format!("{dtype}{shape:?} takes {needed} bytes, the file has {}", end - begin);
                    return Err(self.fault(name, fault));
                }
            }
            next = end;
        }
        if next != data_bytes {
            let fault = format!("{data_bytes} data bytes follow the header, the tensors take {next}");
            return Err(corrupt(CORRUPT, &self.path, fault));
        }
        Ok(())
    }

    fn fault(&self, name: &str, fault: String) -> Box<Diagnostic> {
        corrupt(CORRUPT, &self.path, format!("tensor `{name}`: {fault}"))
    }

    fn unsupported(&self, name: &str, dtype_name: &str) -> Box<Diagnostic> {
        let known: Vec<&str> = DTYPES.iter().map(|(name, _)| *name).collect();
        corrupt(
            "file/unsupported-dtype",
            &self.path,
            format!("tensor `{name}`: the element type `{dtype_name}` is not supported"),
        )
        .help(format!("convert it to one of {}", known.join(", ")))
    }
}

/// The bytes of the JSON header. Allocates no more than the file holds.
fn read_header(path: &Path, file: &mut File, file_bytes: u64) -> Result<Vec<u8>> {
    let mut length = [0; LENGTH_BYTES as usize];
    if file_bytes < LENGTH_BYTES {
        let fault =
            format!("{file_bytes} bytes are too few for the header's length, which takes {LENGTH_BYTES}");
        return Err(corrupt(CORRUPT, path, fault));
    }
    file.read_exact(&mut length).map_err(|e| unreadable(path, &e))?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER_BYTES {
        let fault = format!("the header claims {length} bytes, the format allows {MAX_HEADER_BYTES}");
        return Err(corrupt(CORRUPT, path, fault));
    }
    if length > file_bytes - LENGTH_BYTES {
        let fault = format!("the header claims {length} bytes, {} remain", file_bytes - LENGTH_BYTES);
        return Err(corrupt(CORRUPT, path, fault));
    }
    let mut header = vec![0; length as usize];
    file.read_exact(&mut header).map_err(|e| unreadable(path, &e))?;
    Ok(header)
}

/// The JSON header. A derived map would keep the last of two entries of one name; this one refuses the second.
struct Header {
    tensors: BTreeMap<String, TensorInfo>,
    metadata: BTreeMap<String, String>,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Header, A::Error> {
        let mut header = Header { tensors: BTreeMap::new(), metadata: BTreeMap::new() };
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                header.metadata = map.next_value()?;
                continue;
            }
            let info =
                map.next_value().map_err(|e| A::Error::custom(format_args!("tensor `{name}`: {e}")))?;
            match header.tensors.entry(name) {
                Entry::Vacant(entry) => entry.insert(info),
                Entry::Occupied(entry) => {
                    return Err(A::Error::custom(format_args!("tensor `{}` appears twice", entry.key())));
                }
            };
        }
        Ok(header)
    }
}
