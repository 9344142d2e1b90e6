//! A sentence to its vector: `cargo run --release -p tilewright-models --example embed -- FOLDER SENTENCE…`, where the
//! folder holds a MiniLM sentence encoder (`config.json`, `model.safetensors`, `vocab.txt`, …). With several sentences
//! their cosine similarities follow.

use std::process::ExitCode;
use std::time::Instant;

use tilewright_diag::{Diagnostic, Result};
use tilewright_models::{Target, minilm::MiniLm};
use tilewright_run::Pool;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((folder, sentences)) if !sentences.is_empty() => match embed(folder, sentences) {
            Ok(()) => ExitCode::SUCCESS,
            Err(d) => {
                eprintln!("{d}");
                ExitCode::from(d.class.exit_status() as u8)
            }
        },
        _ => {
            eprintln!("{}", Diagnostic::request("embed/usage", "give a model's folder, then sentences"));
            ExitCode::from(2)
        }
    }
}

fn embed(folder: &str, sentences: &[String]) -> Result<()> {
    let model = MiniLm::open(folder)?;
    let tokens: Vec<Vec<i32>> =
        sentences.iter().map(|s| model.tokenizer.encode(s, model.shape.longest)).collect();
    let longest = tokens.iter().map(Vec::len).max().unwrap_or(1);
    let pool = Pool::new(0)?;
    let start = Instant::now();
    let mut encoder = model.prepare(sentences.len(), longest, &Target::here(pool.threads()))?;
    eprintln!(
        "prepared for {} x {longest} tokens in {:.2} s",
        sentences.len(),
        start.elapsed().as_secs_f64()
    );
    encoder.run(&pool, &tokens)?;
    let start = Instant::now();
    encoder.run(&pool, &tokens)?;
    eprintln!("{} kernels in {:.2} ms", encoder.program().kernels.len(), start.elapsed().as_secs_f64() * 1e3);
    let vectors = encoder.embeddings()?;
    for (sentence, vector) in sentences.iter().zip(&vectors) {
        println!("{sentence}: {vector:?}");
    }
    for (i, v) in vectors.iter().enumerate().skip(1) {
        let cosine: f32 = v.iter().zip(&vectors[0]).map(|(x, y)| x * y).sum();
        println!("{cosine:.4} {} | {}", sentences[0], sentences[i]);
    }
    Ok(())
}
