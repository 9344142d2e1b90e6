//! Writes what the TPU compiler prints of a StableHLO file: `tpu_dump FILE.mlir tpu-v5e FOLDER [estimate] [trace]`.

use std::path::Path;
use std::time::{Duration, Instant};

use tilewright_diag::{Diagnostic, Result};
use tilewright_run::cache::Cache;
use tilewright_run::isolate::serve;
use tilewright_run::tpu::{Chip, Module, Request, compile, work};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (file, target, folder, more) = match words.as_slice() {
        ["worker"] => return serve(work),
        [file, target, folder, more @ ..] => (*file, *target, Path::new(*folder), more),
        _ => {
            return Err(Diagnostic::request(
                "cli/usage",
                "tpu_dump FILE.mlir TARGET FOLDER [estimate] [trace]",
            ));
        }
    };
    let io = |e: std::io::Error| Diagnostic::request("cli/file", e.to_string());
    let module = Module::read(std::fs::read(file).map_err(io)?, file)?;
    let start = Instant::now();
    let request = Request {
        module: &module,
        name: file,
        topology: module.smallest(Chip::parse(target)?),
        estimate: more.contains(&"estimate"),
        trace: more.contains(&"trace"),
        limit: Duration::from_secs(300),
        worker: &["worker"],
    };
    let compiled = compile(&request, &Cache::from_env()?)?;
    std::fs::create_dir_all(folder).map_err(io)?;
    let mut bytes = 0;
    for (name, text) in &compiled.dump.files {
        bytes += text.len();
        std::fs::write(folder.join(name), text).map_err(io)?;
    }
    let (files, took) = (compiled.dump.files.len(), start.elapsed().as_secs_f64());
    println!("{file} {}: {files} files, {bytes} bytes, {took:.2} s, {:?}", request.topology, compiled.memory);
    Ok(())
}
