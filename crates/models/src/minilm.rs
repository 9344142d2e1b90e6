//! MiniLM sentence encoders: Wang et al., "MiniLM: Deep self-attention distillation for task-agnostic compression of
//! pre-trained transformers" (2020). A BERT encoder, the mean over a sentence's tokens, and L2 normalisation.
//!
//! ```no_run
//! use tilewright_models::{Target, minilm::MiniLm};
//!
//! let model = MiniLm::open("all-MiniLM-L6-v2")?;
//! let tokens = model.tokenizer.encode("A sentence.", model.shape.longest);
//! let pool = tilewright_run::Pool::new(0)?;
//! let mut encoder = model.prepare(1, tokens.len(), &Target::here(pool.threads()))?;
//! encoder.run(&pool, &[tokens])?;
//! println!("{:?}", encoder.embeddings()?[0]);
//! # Ok::<(), Box<tilewright_diag::Diagnostic>>(())
//! ```

mod encoder;
mod kernels;
mod weights;

pub use encoder::{Choose, Encoder, Linear, graph, linear_layers};
pub use kernels::{embed, merge_heads, pool, split_heads};
pub use weights::{MiniLm, Shape};
