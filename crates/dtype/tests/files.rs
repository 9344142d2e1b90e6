//! Tensor files: what other writers wrote is read, what is broken is named, nothing panics.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use safetensors::tensor::{Dtype, TensorView, serialize};
use tempfile::TempDir;
use tilewright_diag::Diagnostic;
use tilewright_dtype::files::{SafeTensorsFile, read_npy, write_npy};
use tilewright_dtype::{DType, Tensor};

/// A folder that goes away with the value, and a file in it.
fn file(content: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, content).unwrap();
    (folder, path)
}

fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn open(content: &[u8]) -> Result<SafeTensorsFile, Box<Diagnostic>> {
    let (_folder, path) = file(content);
    SafeTensorsFile::open(path)
}

#[track_caller]
fn refused(content: &[u8], words: &str) {
    let fault = open(content).unwrap_err();
    assert_eq!(fault.code, "file/corrupt-safetensors", "{fault}");
    assert!(fault.message.contains(words), "{fault}");
    assert!(fault.span.is_some(), "{fault}");
}

#[test]
fn safetensors_of_the_reference_writer_are_read() {
    let kinds = [
        (Dtype::F64, DType::F64),
        (Dtype::F32, DType::F32),
        (Dtype::BF16, DType::BF16),
        (Dtype::F16, DType::F16),
        (Dtype::F8_E4M3, DType::F8E4M3),
        (Dtype::F8_E5M2, DType::F8E5M2),
        (Dtype::I32, DType::I32),
        (Dtype::I8, DType::I8),
        (Dtype::U8, DType::U8),
        (Dtype::BOOL, DType::Bool),
    ];
    let values: Vec<f64> = (0..6).map(|i| f64::from(i) - 2.5).collect();
    let tensors: Vec<(String, Dtype, Tensor)> = kinds
        .into_iter()
        .map(|(kind, dtype)| {
            (format!("layer.{dtype}"), kind, Tensor::from_f64(dtype, &[2, 3], &values).unwrap())
        })
        .collect();
    let views = tensors
        .iter()
        .map(|(name, kind, t)| (name, TensorView::new(*kind, t.shape().to_vec(), t.bytes()).unwrap()));
    let metadata = HashMap::from([("format".to_string(), "pt".to_string())]);
    let (_folder, path) = file(&serialize(views, Some(metadata)).unwrap());

    let opened = SafeTensorsFile::open(path).unwrap();
    assert_eq!(opened.names().count(), 10);
    assert_eq!(opened.metadata()["format"], "pt");
    for (name, _, tensor) in &tensors {
        assert_eq!(&opened.tensor(name).unwrap(), tensor, "{name}");
    }
    let fault = opened.tensor("layer.bf61").unwrap_err();
    assert_eq!(fault.code, "file/unknown-tensor");
    assert_eq!(fault.help.as_deref(), Some("did you mean `layer.bf16`?"));
}

#[test]
fn a_broken_header_is_named() {
    refused(b"", "0 bytes are too few");
    refused(&[1, 0, 0], "3 bytes are too few");
    refused(&u64::MAX.to_le_bytes(), "claims 18446744073709551615 bytes");
    refused(&[&90_000_000u64.to_le_bytes()[..], b"{}"].concat(), "claims 90000000 bytes, 2 remain");
    refused(&safetensors("{", b""), "malformed");
    refused(&safetensors("[]", b""), "an object of tensors by name");
    refused(&safetensors("{} {}", b""), "malformed");
    refused(&safetensors(r#"{"w": {"dtype": "F32"}}"#, b""), "tensor `w`: missing field `shape`");
    refused(&safetensors(r#"{"w": {"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#, b""), "tensor `w`");
    let twice = r#"{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#;
    refused(&safetensors(twice, b""), "tensor `w` appears twice");
}

#[test]
fn a_range_of_bytes_that_is_wrong_is_named() {
    let one = |shape: &str, offsets: &str| {
        format!(r#"{{"w": {{"dtype": "F32", "shape": {shape}, "data_offsets": {offsets}}}}}"#)
    };
    refused(&safetensors(&one("[2]", "[0, 8]"), &[0; 4]), "tensor `w`: bytes 0..8 are not a range of the 4");
    refused(&safetensors(&one("[2]", "[8, 0]"), &[0; 8]), "tensor `w`: bytes 8..0");
    refused(&safetensors(&one("[2]", "[0, 18446744073709551615]"), &[0; 8]), "are not a range");
    refused(&safetensors(&one("[2]", "[4, 12]"), &[0; 12]), "begin at 4");
    refused(&safetensors(&one("[3]", "[0, 8]"), &[0; 8]), "f32[3] takes 12 bytes, the file has 8");
    refused(&safetensors(&one("[18446744073709551615, 9]", "[0, 8]"), &[0; 8]), "beyond the address space");
    refused(&safetensors(&one("[2]", "[0, 8]"), &[0; 9]), "the tensors take 8");
}

#[test]
fn a_missing_file_and_an_unsupported_type_are_named() {
    assert_eq!(SafeTensorsFile::open("no/such.safetensors").unwrap_err().code, "file/not-found");
    assert_eq!(read_npy("no/such.npy").unwrap_err().code, "file/not-found");
    assert_eq!(SafeTensorsFile::open(".").unwrap_err().code, "file/unreadable");

    let header = r#"{"i": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]},
        "b": {"dtype": "BOOL", "shape": [2], "data_offsets": [8, 10]}}"#;
    let (_folder, path) = file(&safetensors(header, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 2]));
    let opened = SafeTensorsFile::open(path).unwrap();
    let fault = opened.tensor("i").unwrap_err();
    assert_eq!(fault.code, "file/unsupported-dtype");
    assert!(fault.message.contains("`i`") && fault.message.contains("`I64`"), "{fault}");
    assert!(opened.tensor("b").unwrap_err().message.contains("element 1 of a BOOL tensor is the byte 2"));
}

#[test]
fn a_file_cut_after_opening_is_a_diagnostic() {
    let header = r#"{"w": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}"#;
    let content = safetensors(header, &[1, 2, 3, 4]);
    let (_folder, path) = file(&content);
    let opened = SafeTensorsFile::open(&path).unwrap();
    fs::write(&path, &content[..content.len() - 2]).unwrap();
    assert_eq!(opened.tensor("w").unwrap_err().code, "file/unreadable");
}

/// As `np.save` writes it, version 1.0.
fn npy(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{dictionary}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

#[track_caller]
fn npy_refused(content: &[u8], code: &str, words: &str) {
    let (_folder, path) = file(content);
    let fault = read_npy(path).unwrap_err();
    assert_eq!(fault.code, code, "{fault}");
    assert!(fault.to_string().contains(words), "{fault}");
}

#[test]
fn npy_round_trips() {
    let (_folder, path) = file(b"");
    for dtype in [DType::F64, DType::F32, DType::F16, DType::I32, DType::I8, DType::U8, DType::Bool] {
        for shape in [&[][..], &[0], &[6], &[2, 3], &[1, 2, 1, 3]] {
            let values: Vec<f64> = (0..shape.iter().product()).map(|i: usize| i as f64 - 2.5).collect();
            let tensor = Tensor::from_f64(dtype, shape, &values).unwrap();
            write_npy(&path, &tensor).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().len() as usize % 64, tensor.bytes().len());
            assert_eq!(read_npy(&path).unwrap(), tensor, "{dtype}{shape:?}");
        }
    }
}

#[test]
fn npy_is_written_as_numpy_writes_it() {
    let (_folder, path) = file(b"");
    write_npy(&path, &Tensor::from_f64(DType::F32, &[2], &[1.0, -2.0]).unwrap()).unwrap();
    // The bytes of `np.save(path, np.array([1, -2], np.float32))`.
    let dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    let mut want = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    want.extend(format!("{dictionary:<117}\n").bytes());
    want.extend([0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0]);
    assert_eq!(fs::read(&path).unwrap(), want);
}

#[test]
fn npy_of_other_writers_is_read() {
    let data = [1, 0, 0, 0, 254, 255, 255, 255];
    let want = Tensor::from_f64(DType::I32, &[2], &[1.0, -2.0]).unwrap();
    for dictionary in [
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }   ",
        r#"{"shape":(2,),"fortran_order":True,"descr":"<i4"}"#,
    ] {
        let (_folder, path) = file(&npy(dictionary, &data));
        assert_eq!(read_npy(path).unwrap(), want);
    }
    let dictionary = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }";
    let version_2 =
        [b"\x93NUMPY\x02\x00", &(dictionary.len() as u32).to_le_bytes()[..], dictionary, &[7]].concat();
    let (_folder, path) = file(&version_2);
    assert_eq!(read_npy(path).unwrap().to_f64(), [7.0]);
}

#[test]
fn npy_that_is_broken_is_named() {
    let corrupt = "file/corrupt-npy";
    npy_refused(b"", corrupt, "ends at byte 0");
    npy_refused(b"PK\x03\x04 a zip file", corrupt, "magic");
    npy_refused(b"\x93NUMPY\x09\x00\x00\x00", corrupt, "version 9.0");
    npy_refused(b"\x93NUMPY\x01\x00\x76\x00{'descr'", corrupt, "within the header");
    npy_refused(b"\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{}", corrupt, "claims 4294967295 bytes");
    npy_refused(b"\x93NUMPY\x01\x00\x01\x00\xFF", corrupt, "not text");
    npy_refused(&npy("{'descr': '<f4'}", b""), corrupt, "must all be present");
    npy_refused(&npy("{'descr': '<f4', 'evil': 1}", b""), corrupt, "unknown key `evil`");
    npy_refused(&npy("{'shape': (2,), 'shape': (2,)}", b""), corrupt, "twice");
    npy_refused(&npy("{'shape': (99999999999999999999,)}", b""), corrupt, "not a size");
    npy_refused(&npy("{'shape': (-1,)}", b""), corrupt, "not a size");
    npy_refused(&npy("{'descr': '<f4", b""), corrupt, "does not end");
    let f4 = |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    npy_refused(&npy(&f4("(2,)"), &[0; 7]), corrupt, "f32[2] takes 8 bytes, 7 follow");
    npy_refused(&npy(&f4("(2,)"), &[0; 9]), corrupt, "9 follow");
    npy_refused(&npy(&f4("(2)"), &[0; 8]), corrupt, "not a tuple");
    npy_refused(&npy(&f4("(9999999999, 9999999999)"), b""), corrupt, "beyond the address space");
    let of = |descr: &str| format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,)}}");
    npy_refused(&npy(&of("|b1"), &[2]), corrupt, "the byte 2");
    npy_refused(&npy(&of("<i8"), &[0; 8]), "file/unsupported-dtype", "astype");
    npy_refused(&npy(&of(">f4"), &[0; 4]), "file/unsupported-dtype", "astype('<f4')");
    let fortran = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2)}";
    npy_refused(&npy(fortran, &[0; 4]), "file/unsupported-order", "ascontiguousarray");
}

#[test]
fn npy_refuses_types_that_numpy_lacks() {
    let (_folder, path) = file(b"");
    let fault = write_npy(&path, &Tensor::zeros(DType::BF16, &[2]).unwrap()).unwrap_err();
    assert_eq!(fault.code, "file/unsupported-dtype");
    assert_eq!(fault.help.as_deref(), Some("cast to f32, which holds every value of bf16"));
    let f32 = Tensor::zeros(DType::F32, &[2]).unwrap();
    assert_eq!(write_npy("no/such/folder/x.npy", &f32).unwrap_err().code, "file/unwritable");
}

/// `content` with some bytes changed and perhaps its end cut off.
fn damaged(content: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let n = content.len();
    (prop::collection::vec((0..n, any::<u8>()), 0..4), 0..=n).prop_map(move |(edits, keep)| {
        let mut content = content.clone();
        edits.into_iter().for_each(|(at, byte)| content[at] = byte);
        content.truncate(keep.max(n / 2));
        content
    })
}

proptest! {
    #[test]
    fn damage_never_panics(
        tensors in damaged(safetensors(
            r#"{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"BOOL","shape":[1],"data_offsets":[4,5]}}"#,
            &[1, 2, 3, 4, 1],
        )),
        array in damaged(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }", &[0; 8])),
    ) {
        let (_folder, path) = file(&tensors);
        match SafeTensorsFile::open(&path) {
            Ok(opened) => opened.names().for_each(|name| drop(opened.tensor(name))),
            Err(fault) => prop_assert_eq!(fault.code, "file/corrupt-safetensors"),
        }
        fs::write(&path, array).unwrap();
        if let Err(fault) = read_npy(&path) {
            prop_assert!(fault.code.starts_with("file/"), "{}", fault);
        }
    }
}
