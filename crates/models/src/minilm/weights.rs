//! A model's folder: its sizes, weights and vocabulary.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_dtype::files::SafeTensorsFile;
use tilewright_dtype::{DType, Tensor};

use super::encoder::{Choose, Encoder, linear_layers};
use crate::target::Target;
use crate::wordpiece::WordPiece;

/// The sizes of an encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Transformer layers.
    pub layers: usize,
    /// Elements of a token.
    pub hidden: usize,
    /// Attention heads.
    pub heads: usize,
    /// Elements of a token between the two products of a feed-forward network.
    pub wide: usize,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// Positions that have an embedding.
    pub positions: usize,
    /// Kinds of tokens (of a first, a second sentence); all tokens are of the first here.
    pub kinds: usize,
    /// What layer normalisation adds to a variance.
    pub eps: f64,
    /// Tokens of the longest sentence, the special ones included.
    pub longest: usize,
}

impl Shape {
    /// Elements of one head.
    pub fn head(&self) -> usize {
        self.hidden / self.heads
    }
}

/// A model as it was read.
#[derive(Debug)]
pub struct MiniLm {
    /// Its sizes.
    pub shape: Shape,
    /// The tokeniser of its vocabulary.
    pub tokenizer: WordPiece,
    /// Weights by array name.
    pub(super) weights: BTreeMap<String, Tensor>,
}

impl MiniLm {
    /// Reads `config.json`, `sentence_bert_config.json`, `model.safetensors` and `vocab.txt` of a folder, as Hugging Face
    /// and `sentence-transformers` lay them out.
    ///
    /// Errors (class request): `models/config` where a config cannot be read or asks for what this encoder is not;
    /// `models/weights` where a tensor has another shape than the config says; `models/vocabulary`; those of
    /// [`SafeTensorsFile`].
    pub fn open(folder: impl AsRef<Path>) -> Result<MiniLm> {
        let folder = folder.as_ref();
        let shape = shape(folder)?;
        let tokenizer = WordPiece::open(folder.join("vocab.txt"))?;
        if tokenizer.size() != shape.vocabulary {
            let message =
                format!("`vocab.txt` has {} tokens, `vocab_size` is {}", tokenizer.size(), shape.vocabulary);
            return Err(unsuitable(folder, message));
        }
        let file = SafeTensorsFile::open(folder.join("model.safetensors"))?;
        let weights =
            wanted(&shape).into_iter().map(|(name, dims)| Ok((array(&name), weight(&file, &name, dims)?)));
        Ok(MiniLm { weights: weights.collect::<Result<_>>()?, shape, tokenizer })
    }

    /// Compiles the encoder for `batch` sentences of up to `seq` tokens and wires its arrays. The weights move into it;
    /// [`Encoder::into_model`] gives them back.
    ///
    /// Errors: `models/tokens` (class request) where `seq` is 0 or beyond the model's positions; those of compilation.
    pub fn prepare(self, batch: usize, seq: usize, target: &Target) -> Result<Encoder> {
        self.prepare_with(batch, seq, target, &|family, problem| {
            family.default_config(problem, &target.machine)
        })
    }

    /// As [`MiniLm::prepare`], with configs of the caller's in place of the families' defaults.
    pub fn prepare_with(
        self,
        batch: usize,
        seq: usize,
        target: &Target,
        choose: Choose<'_>,
    ) -> Result<Encoder> {
        Encoder::new(self, batch, seq, target, choose)
    }

    /// A weight, by its name in the file. `models/weights` (class request) where the encoder has no such weight.
    pub fn weight(&self, name: &str) -> Result<&Tensor> {
        let known = || self.weights.keys().map(String::as_str);
        self.weights
            .get(&array(name))
            .ok_or_else(|| Diagnostic::unknown("models/weights", "weight", name, known()))
    }
}

/// The name of a weight's array in the encoder's program: identifiers have no dots.
pub(super) fn array(name: &str) -> String {
    name.replace('.', "_")
}

/// The part of `config.json` that says what the encoder is.
#[derive(Deserialize)]
struct Config {
    hidden_act: String,
    hidden_size: usize,
    intermediate_size: usize,
    layer_norm_eps: f64,
    max_position_embeddings: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    position_embedding_type: Option<String>,
    type_vocab_size: usize,
    vocab_size: usize,
}

/// `sentence_bert_config.json`.
#[derive(Deserialize)]
struct Sentences {
    max_seq_length: usize,
}

fn shape(folder: &Path) -> Result<Shape> {
    let c: Config = json(&folder.join("config.json"))?;
    let sentences: Sentences = json(&folder.join("sentence_bert_config.json"))?;
    let absolute = c.position_embedding_type.as_deref().unwrap_or("absolute");
    let rules = [
        (c.hidden_act == "gelu", "hidden_act", "the activation is `gelu`, by the error function"),
        (absolute == "absolute", "position_embedding_type", "positions are `absolute`"),
        (
            c.num_attention_heads > 0 && c.hidden_size.is_multiple_of(c.num_attention_heads),
            "hidden_size",
            "heads share it evenly",
        ),
        (c.num_hidden_layers > 0, "num_hidden_layers", "there is a layer"),
        (
            (2..=c.max_position_embeddings).contains(&sentences.max_seq_length),
            "max_seq_length",
            "each token has a position",
        ),
    ];
    if let Some((_, key, rule)) = rules.iter().find(|(holds, ..)| !holds) {
        return Err(unsuitable(folder, format!("`{key}` is not what this encoder takes")).rule(*rule));
    }
    Ok(Shape {
        layers: c.num_hidden_layers,
        hidden: c.hidden_size,
        heads: c.num_attention_heads,
        wide: c.intermediate_size,
        vocabulary: c.vocab_size,
        positions: c.max_position_embeddings,
        kinds: c.type_vocab_size,
        eps: c.layer_norm_eps,
        longest: sentences.max_seq_length,
    })
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| unsuitable(path, format!("the config cannot be read: {e}")))?;
    serde_json::from_str(&text)
        .map_err(|e| unsuitable(path, format!("the config is not one of a BERT encoder: {e}")))
}

fn unsuitable(path: &Path, message: String) -> Box<Diagnostic> {
    Diagnostic::request("models/config", message).at(Span::file(path.display().to_string()))
}

/// Every weight by its name in the file, with its dimensions there.
fn wanted(s: &Shape) -> Vec<(String, Vec<usize>)> {
    let mut all = vec![
        ("embeddings.word_embeddings.weight".to_string(), vec![s.vocabulary, s.hidden]),
        ("embeddings.position_embeddings.weight".to_string(), vec![s.positions, s.hidden]),
        ("embeddings.token_type_embeddings.weight".to_string(), vec![s.kinds, s.hidden]),
    ];
    let norm = |name: String, all: &mut Vec<_>| {
        all.extend(["weight", "bias"].map(|part| (format!("{name}.{part}"), vec![s.hidden])));
    };
    norm("embeddings.LayerNorm".to_string(), &mut all);
    for layer in 0..s.layers {
        norm(format!("encoder.layer.{layer}.attention.output.LayerNorm"), &mut all);
        norm(format!("encoder.layer.{layer}.output.LayerNorm"), &mut all);
    }
    for linear in linear_layers(s) {
        all.push((format!("{}.weight", linear.name), vec![linear.outputs, linear.inputs]));
        all.push((format!("{}.bias", linear.name), vec![linear.outputs]));
    }
    all
}

/// A weight in f32; a vector becomes a matrix of one row, as kernels take it.
fn weight(file: &SafeTensorsFile, name: &str, dims: Vec<usize>) -> Result<Tensor> {
    let found = &file.info(name)?.shape;
    if *found != dims {
        return Err(Diagnostic::request("models/weights", format!("`{name}` is {found:?}"))
            .rule(format!("by the model's config it is {dims:?}")));
    }
    let tensor = file.tensor(name)?;
    let tensor = if tensor.dtype() == DType::F32 { tensor } else { tensor.cast(DType::F32)? };
    if dims.len() == 1 { Tensor::from_bytes(DType::F32, &[1, dims[0]], tensor.bytes()) } else { Ok(tensor) }
}
