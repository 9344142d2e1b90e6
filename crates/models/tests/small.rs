//! A small encoder with made-up weights, where no model is installed: its files are read, and its whole chain of kernels
//! lies within the derived bound, which decides at this size.
#![allow(clippy::unwrap_used, reason = "a test stops at its first fault")]

mod common;

use std::fs;
use std::path::Path;

use tilewright_models::Target;
use tilewright_models::minilm::{MiniLm, linear_layers};
use tilewright_run::Pool;
use tilewright_run::testing::clang_or_skip;

const CONFIG: &str = r#"{"hidden_act": "gelu", "hidden_size": 16, "intermediate_size": 24, "layer_norm_eps": 1e-6,
    "max_position_embeddings": 12, "num_attention_heads": 2, "num_hidden_layers": 2, "type_vocab_size": 2,
    "vocab_size": 9}"#;
const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##c\n.\n";

/// A folder with a model of [`CONFIG`]. Weights of 1/50 at most, so that bounds stay narrow.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("config.json", CONFIG);
    write("sentence_bert_config.json", r#"{"max_seq_length": 10, "do_lower_case": false}"#);
    write("vocab.txt", VOCABULARY);
    let mut tensors: Vec<(String, Vec<usize>)> = vec![
        ("embeddings.word_embeddings.weight".to_string(), vec![9, 16]),
        ("embeddings.position_embeddings.weight".to_string(), vec![12, 16]),
        ("embeddings.token_type_embeddings.weight".to_string(), vec![2, 16]),
    ];
    let norms = (0..2)
        .flat_map(|l| ["attention.output", "output"].map(|p| format!("encoder.layer.{l}.{p}.LayerNorm")));
    for norm in std::iter::once("embeddings.LayerNorm".to_string()).chain(norms) {
        tensors.extend(["weight", "bias"].map(|part| (format!("{norm}.{part}"), vec![16])));
    }
    for l in 0..2 {
        for (part, outputs, inputs) in PARTS {
            tensors.push((format!("encoder.layer.{l}.{part}.weight"), vec![outputs, inputs]));
            tensors.push((format!("encoder.layer.{l}.{part}.bias"), vec![outputs]));
        }
    }
    fs::write(folder.path().join("model.safetensors"), safetensors(&tensors)).unwrap();
    folder
}

const PARTS: [(&str, usize, usize); 6] = [
    ("attention.self.query", 16, 16),
    ("attention.self.key", 16, 16),
    ("attention.self.value", 16, 16),
    ("attention.output.dense", 16, 16),
    ("intermediate.dense", 24, 16),
    ("output.dense", 16, 24),
];

/// A file of these tensors: embeddings up to 1, the scales of norms 1, all else up to 1/50, from a fixed sequence.
fn safetensors(tensors: &[(String, Vec<usize>)]) -> Vec<u8> {
    let (mut header, mut data, mut state) = (serde_json::Map::new(), Vec::new(), 1u64);
    for (name, shape) in tensors {
        let begin = data.len();
        for _ in 0..shape.iter().product::<usize>() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let unit = (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0;
            let value = match name.as_str() {
                n if n.ends_with("embeddings.weight") => unit,
                n if n.ends_with("LayerNorm.weight") => 1.0,
                _ => unit / 50.0,
            };
            data.extend(value.to_le_bytes());
        }
        let info = serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [begin, data.len()]});
        header.insert(name.clone(), info);
    }
    let header = serde_json::Value::Object(header).to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

#[test]
fn the_whole_chain_lies_within_a_bound_that_decides() {
    if clang_or_skip().is_none() {
        return;
    }
    let folder = folder();
    let pool = Pool::new(2).unwrap();
    let encoder = common::encoded(MiniLm::open(folder.path()).unwrap(), &pool, &["A bc. a", "b", ""]);
    let chained = common::chain(&encoder, encoder.program().kernels.len());
    for (i, &x) in chained.actual.iter().enumerate() {
        let (v, e) = (chained.bounded.v[i], chained.bounded.bound(i));
        assert!((x - v).abs() <= e && e < 1e-2, "element {i}: {x}, not {v} within {e:e}");
    }
    println!("error {:e}, bound {:e}", chained.largest_error(), chained.largest_bound());
    for vector in encoder.embeddings().unwrap() {
        let norm: f32 = vector.iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-5, "{norm}");
    }
}

#[test]
fn a_model_comes_back_from_its_encoder_whole() {
    if clang_or_skip().is_none() {
        return;
    }
    let folder = folder();
    let model = MiniLm::open(folder.path()).unwrap();
    let name = &linear_layers(&model.shape)[11].name;
    let before = model.weight(&format!("{name}.weight")).unwrap().checksum();
    let model = model.prepare(2, 4, &Target::here(1)).unwrap().into_model();
    assert_eq!(model.weight(&format!("{name}.weight")).unwrap().checksum(), before);
    assert_eq!(model.weight("ids").unwrap_err().code, "models/weights");
    assert_eq!(model.prepare(1, 13, &Target::here(1)).unwrap_err().code, "models/tokens");
}

#[test]
fn folders_that_hold_no_such_model_are_refused_by_name() {
    let code = |change: &dyn Fn(&Path)| {
        let folder = folder();
        change(folder.path());
        let fault = MiniLm::open(folder.path()).unwrap_err();
        (fault.code, fault.to_string())
    };
    let edited = |from: &str, to: &str| {
        let text = CONFIG.replace(from, to);
        code(&move |f| fs::write(f.join("config.json"), &text).unwrap())
    };
    assert_eq!(code(&|f| fs::remove_file(f.join("config.json")).unwrap()).0, "models/config");
    for (from, to, named) in [
        ("gelu", "relu", "hidden_act"),
        ("\"num_attention_heads\": 2", "\"num_attention_heads\": 3", "hidden_size"),
        ("\"vocab_size\": 9", "\"vocab_size\": 8", "vocab.txt"),
        ("\"hidden_size\"", "\"hidden\"", "hidden_size"),
    ] {
        let (code, text) = edited(from, to);
        assert!(code == "models/config" && text.contains(named), "{text}");
    }
    let (wide, text) = edited("\"intermediate_size\": 24", "\"intermediate_size\": 32");
    assert!(wide == "models/weights" && text.contains("encoder.layer.0.intermediate.dense"), "{text}");
    assert_eq!(edited("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3").0, "file/unknown-tensor");
    assert_eq!(code(&|f| fs::write(f.join("vocab.txt"), "a\nb\n").unwrap()).0, "models/vocabulary");
    let cut = |f: &Path| {
        let file = f.join("model.safetensors");
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() - 4]).unwrap();
    };
    assert_eq!(code(&cut).0, "file/corrupt-safetensors");
}
