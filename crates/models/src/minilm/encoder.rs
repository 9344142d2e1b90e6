//! The encoder's program, and the program prepared to run.

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::{DType, Tensor};
use tilewright_ir::Program;
use tilewright_kernels::{Config, Family, Problem, family};
use tilewright_run::{Pool, Prepared};

use super::kernels::{embed, merge_heads, pool, split_heads};
use super::weights::{MiniLm, Shape, array};
use crate::graph::{Form, Graph};
use crate::target::Target;
use crate::wordpiece::WordPiece;

/// The config for a problem of a family: the default, a tuned one.
pub type Choose<'a> = &'a dyn Fn(&dyn Family, &Problem) -> Config;

/// A linear layer: `y = x w^T + bias`, with an activation where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Its name in the file; the weight `[outputs, inputs]` and the bias add `.weight` and `.bias`.
    pub name: String,
    /// Elements of a row that it takes.
    pub inputs: usize,
    /// Elements of a row that it makes.
    pub outputs: usize,
    /// Whether GELU follows.
    pub gelu: bool,
    /// The array of the encoder's program that it takes, f32 `[tokens, inputs]`.
    pub from: String,
}

/// The linear layers in the order in which they run, six a layer.
pub fn linear_layers(s: &Shape) -> Vec<Linear> {
    let of_layer = |l: usize| {
        let linear = |name: &str, (inputs, outputs), gelu, from: String| Linear {
            name: format!("encoder.layer.{l}.{name}"),
            inputs,
            outputs,
            gelu,
            from,
        };
        let square = (s.hidden, s.hidden);
        [
            linear("attention.self.query", square, false, hidden(l)),
            linear("attention.self.key", square, false, hidden(l)),
            linear("attention.self.value", square, false, hidden(l)),
            linear("attention.output.dense", square, false, format!("layer{l}_context")),
            linear("intermediate.dense", (s.hidden, s.wide), true, format!("layer{l}_attended")),
            linear("output.dense", (s.wide, s.hidden), false, format!("layer{l}_wide")),
        ]
    };
    (0..s.layers).flat_map(of_layer).collect()
}

/// The encoder of `batch` sentences of up to `seq` tokens as calls of ten kernels. Its inputs are the tables `ids`
/// `[batch * seq]` and `lens` `[batch]` and the weights, by their names in the file with `_` for `.`; its output is
/// `embeddings: f32[batch, hidden]`.
///
/// `choose` gives each kernel its config.
///
/// Errors (class request): those of the families and of the verifier.
pub fn graph(s: &Shape, batch: usize, seq: usize, choose: Choose<'_>) -> Result<Graph> {
    let mut graph = Graph::default();
    let forms = Forms::declare(&mut graph, s, batch, seq, choose)?;
    let word = |part: &str| array(&format!("embeddings.{part}_embeddings.weight"));
    let (words, positions, kinds) = (word("word"), word("position"), word("token_type"));
    graph.call(
        forms.embed,
        "embed",
        &[("ids", "ids"), ("word", &words), ("position", &positions), ("kind", &kinds), ("x", "embedded")],
    )?;
    norm(&mut graph, &forms, "embed_norm", "embeddings.LayerNorm", "embedded", &hidden(0))?;
    for layer in 0..s.layers {
        attention(&mut graph, &forms, layer)?;
        feed_forward(&mut graph, &forms, layer)?;
    }
    graph.call(forms.pool, "pool", &[("lens", "lens"), ("x", &hidden(s.layers)), ("y", "embeddings")])?;
    Ok(graph)
}

/// The run-time inputs of the program: the tokens of all sentences, and how many each has.
const TABLES: [&str; 2] = ["ids", "lens"];

/// An encoder with its arrays wired. A launch allocates nothing.
#[derive(Debug)]
pub struct Encoder {
    shape: Shape,
    tokenizer: WordPiece,
    program: Program,
    prepared: Prepared,
    batch: usize,
    seq: usize,
    /// A second pair of [`TABLES`]: each run writes the pair that is not in use and exchanges them.
    spare: [Tensor; 2],
}

impl Encoder {
    pub(super) fn new(
        model: MiniLm,
        batch: usize,
        seq: usize,
        target: &Target,
        choose: Choose<'_>,
    ) -> Result<Encoder> {
        let MiniLm { shape, tokenizer, weights } = model;
        if batch == 0 || seq == 0 || seq > shape.positions {
            let rule = format!("at least one sentence, of 1 to {} tokens", shape.positions);
            return Err(
                Diagnostic::request("models/tokens", format!("{batch} sentences of {seq} tokens")).rule(rule)
            );
        }
        let (program, compiled) = graph(&shape, batch, seq, choose)?.compile(target)?;
        let tables = || -> Result<[Tensor; 2]> {
            Ok([Tensor::zeros(DType::I32, &[batch * seq])?, Tensor::zeros(DType::I32, &[batch])?])
        };
        let mut arrays = weights;
        arrays.extend(TABLES.map(str::to_string).into_iter().zip(tables()?));
        let (prepared, spare) = (compiled.prepare(arrays)?, tables()?);
        Ok(Encoder { shape, tokenizer, program, prepared, batch, seq, spare })
    }

    /// Encodes sentences, each its tokens: at most as many, and as long, as the encoder was prepared for.
    ///
    /// Errors (class request): `models/tokens` where they do not fit, or a token is not of the vocabulary.
    pub fn run(&mut self, pool: &Pool, sentences: &[impl AsRef<[i32]>]) -> Result<()> {
        let longest = sentences.iter().map(|s| s.as_ref().len()).max().unwrap_or(0);
        if sentences.len() > self.batch || longest > self.seq {
            let message = format!("{} sentences of up to {longest} tokens", sentences.len());
            let rule = format!("the encoder is prepared for {} of {}", self.batch, self.seq);
            return Err(Diagnostic::request("models/tokens", message).rule(rule));
        }
        let known = 0..self.shape.vocabulary as i64;
        let foreign = |token: &&i32| !known.contains(&i64::from(**token));
        if let Some(token) = sentences.iter().flat_map(AsRef::as_ref).find(foreign) {
            return Err(Diagnostic::request("models/tokens", format!("token {token}"))
                .rule(format!("the vocabulary has {} tokens, numbered from 0", known.end)));
        }
        let [ids, lens] = &mut self.spare;
        ids.bytes_mut().fill(0);
        lens.bytes_mut().fill(0);
        for (n, tokens) in sentences.iter().map(AsRef::as_ref).enumerate() {
            write(lens, n, &[tokens.len() as i32]);
            write(ids, n * self.seq, tokens);
        }
        for (name, spare) in TABLES.into_iter().zip(&mut self.spare) {
            let filled = std::mem::replace(spare, Tensor::zeros(DType::I32, &[0])?);
            *spare = self.prepared.set(name, filled)?;
        }
        self.prepared.run(pool)
    }

    /// The vectors of the last run, one for each sentence that the encoder is prepared for, of length 1; zeros beyond
    /// the sentences that were given.
    pub fn embeddings(&self) -> Result<Vec<Vec<f32>>> {
        let all = self.array("embeddings")?.to_f64();
        Ok(all.chunks(self.shape.hidden).map(|row| row.iter().map(|&x| x as f32).collect()).collect())
    }

    /// An array of the program as the last run left it, intermediate ones and weights included.
    ///
    /// Errors (class request): `run/missing-array`.
    pub fn array(&self, name: &str) -> Result<&Tensor> {
        self.prepared.get(name)
    }

    /// The model's sizes.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The model, to prepare for other sizes.
    pub fn into_model(self) -> MiniLm {
        let operands = self.program.operands();
        let mut weights = self.prepared.into_tensors();
        let given = |name: &str| operands.iter().any(|o| o.given && o.operand.name == name);
        weights.retain(|name, _| given(name) && !TABLES.contains(&name.as_str()));
        MiniLm { shape: self.shape, tokenizer: self.tokenizer, weights }
    }
}

/// The kernels that the encoder calls.
struct Forms {
    embed: Form,
    norm: Form,
    /// `hidden` to `hidden`, with bias.
    project: Form,
    /// The same, and adds to what came before.
    project_add: Form,
    /// `hidden` to `wide`, with bias and GELU.
    widen: Form,
    /// `wide` to `hidden`, with bias, and adds to what came before.
    narrow_add: Form,
    split: Form,
    attention: Form,
    merge: Form,
    pool: Form,
}

impl Forms {
    fn declare(graph: &mut Graph, s: &Shape, batch: usize, seq: usize, choose: Choose<'_>) -> Result<Forms> {
        let (tokens, hidden, wide, heads, head) = (batch * seq, s.hidden, s.wide, s.heads, s.head());
        let product = |n, k, epilogue| format!("m={tokens} n={n} k={k} tb epilogue={epilogue}");
        let sizes =
            format!("batch={batch} heads={heads} kv_heads={heads} q_len={seq} kv_len={seq} head_dim={head}");
        let mut of = |name: &str, problem: String| graph.form(build(name, &problem, choose)?);
        Ok(Forms {
            norm: of("layernorm", format!("rows={tokens} cols={hidden} eps={:e}", s.eps))?,
            project: of("matmul", product(hidden, hidden, "bias"))?,
            project_add: of("matmul", product(hidden, hidden, "bias+residual"))?,
            widen: of("matmul", product(wide, hidden, "bias+gelu_erf"))?,
            narrow_add: of("matmul", product(hidden, wide, "bias+residual"))?,
            attention: of("attention", format!("{sizes} lengths"))?,
            embed: graph.form(embed(s, batch, seq)?)?,
            split: graph.form(split_heads(s, batch, seq)?)?,
            merge: graph.form(merge_heads(s, batch, seq)?)?,
            pool: graph.form(pool(s, batch, seq)?)?,
        })
    }
}

/// A family's program for an f32 problem.
fn build(name: &str, problem: &str, choose: Choose<'_>) -> Result<Program> {
    let family = family(name)?;
    let words: Vec<&str> = problem.split(' ').collect();
    let problem = Problem::parse(name, family.keys(), &words)?;
    family.validate(&problem)?;
    family.build(&problem, &choose(family, &problem))
}

/// The array that layer `layer` takes, and the one before it makes.
fn hidden(layer: usize) -> String {
    format!("hidden{layer}")
}

/// Self-attention, the sum with what came in, and its normalisation: `hidden{layer}` to `layer{layer}_attended`.
fn attention(graph: &mut Graph, forms: &Forms, layer: usize) -> Result<()> {
    let named = |part: &str| format!("layer{layer}_{part}");
    let weights = |part: &str| format!("encoder.layer.{layer}.attention.{part}");
    let x = hidden(layer);
    for part in ["query", "key", "value"] {
        linear(graph, forms.project, &named(part), &weights(&format!("self.{part}")), &[("a", &x)])?;
    }
    let [q, k, v, q_heads, k_heads, v_heads, o_heads, context, sum] = [
        "query",
        "key",
        "value",
        "query_heads",
        "key_heads",
        "value_heads",
        "context_heads",
        "context",
        "attended_sum",
    ]
    .map(named);
    graph.call(
        forms.split,
        &named("split"),
        &[
            ("q", &q),
            ("k", &k),
            ("v", &v),
            ("q_heads", &q_heads),
            ("k_heads", &k_heads),
            ("v_heads", &v_heads),
        ],
    )?;
    graph.call(
        forms.attention,
        &named("attention"),
        &[("q", &q_heads), ("k", &k_heads), ("v", &v_heads), ("lens", "lens"), ("o", &o_heads)],
    )?;
    graph.call(forms.merge, &named("merge"), &[("heads", &o_heads), ("x", &context)])?;
    linear(graph, forms.project_add, &sum, &weights("output.dense"), &[("a", &context), ("residual", &x)])?;
    norm(graph, forms, &named("attended_norm"), &weights("output.LayerNorm"), &sum, &named("attended"))
}

/// The feed-forward network, the sum with what came in, and its normalisation: `layer{layer}_attended` to the next
/// layer's `hidden`.
fn feed_forward(graph: &mut Graph, forms: &Forms, layer: usize) -> Result<()> {
    let named = |part: &str| format!("layer{layer}_{part}");
    let weights = |part: &str| format!("encoder.layer.{layer}.{part}");
    let (x, wide, sum) = (named("attended"), named("wide"), named("sum"));
    linear(graph, forms.widen, &wide, &weights("intermediate.dense"), &[("a", &x)])?;
    linear(graph, forms.narrow_add, &sum, &weights("output.dense"), &[("a", &wide), ("residual", &x)])?;
    norm(graph, forms, &named("norm"), &weights("output.LayerNorm"), &sum, &hidden(layer + 1))
}

/// A call of a product with bias, named like the array that it makes.
fn linear(graph: &mut Graph, form: Form, name: &str, weights: &str, inputs: &[(&str, &str)]) -> Result<()> {
    let [weight, bias] = ["weight", "bias"].map(|part| array(&format!("{weights}.{part}")));
    let mut wires = vec![("b", weight.as_str()), ("bias", &bias), ("o", name)];
    wires.extend(inputs);
    graph.call(form, name, &wires)
}

/// A call of layer normalisation from the array `x` to the array `y`.
fn norm(graph: &mut Graph, forms: &Forms, name: &str, weights: &str, x: &str, y: &str) -> Result<()> {
    let [w, bias] = ["weight", "bias"].map(|part| array(&format!("{weights}.{part}")));
    graph.call(forms.norm, name, &[("x", x), ("w", &w), ("bias", &bias), ("y", y)])
}

/// Writes i32 elements from `at` on; the caller has seen to it that they fit.
fn write(table: &mut Tensor, at: usize, values: &[i32]) {
    let bytes = table.bytes_mut()[4 * at..].chunks_exact_mut(4);
    bytes.zip(values).for_each(|(to, value)| to.copy_from_slice(&value.to_le_bytes()));
}
