//! `kernels`: the families and their problems.

use serde::Serialize;
use tilewright::diag::Result;
use tilewright::kernels::{Family, Key, Kind, families, family};

use super::Ended;
use crate::cli::{KernelsArgs, TARGETS};
use crate::render::{Align, Output, Table, wrap};

#[derive(Serialize)]
struct Listing {
    kernels: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    about: &'static str,
    targets: [&'static str; 1],
    problem: Vec<Part>,
}

/// One part of a problem.
#[derive(Serialize)]
struct Part {
    name: &'static str,
    kind: &'static str,
    /// What it may be; empty where that is any size.
    values: Vec<&'static str>,
    /// What it is where left out; `None` where it must be given.
    default: Option<String>,
    about: &'static str,
}

/// Lists all families, or shows one.
pub fn run(args: &KernelsArgs, output: Output) -> Result<Ended> {
    let shown: Vec<&dyn Family> = match &args.kernel {
        Some(name) => vec![family(name)?],
        None => families().to_vec(),
    };
    let listing = Listing { kernels: shown.iter().map(|f| entry(*f)).collect() };
    output.result(&listing, || match &args.kernel {
        Some(_) => shown.iter().map(|f| in_full(*f, output)).collect(),
        None => all(&shown, output),
    })?;
    Ok(Ended::Held)
}

fn all(shown: &[&dyn Family], output: Output) -> String {
    let mut table = Table::new(&[("kernel", Align::Left), ("problem", Align::Left)]);
    for f in shown {
        let parts: Vec<String> = f.keys().iter().map(in_brief).collect();
        table.row([f.name().to_string(), parts.join(" ")]);
    }
    let mut text = table.render(output.width(), output.paint());
    text.push('\n');
    let foot =
        "All run on `cpu`. Parts in brackets may be left out. `tilewright kernels matmul` shows one in full.";
    for line in wrap(foot, output.width()) {
        text += &format!("{line}\n");
    }
    text
}

fn in_full(f: &dyn Family, output: Output) -> String {
    let mut text = output.heading(f.name());
    for line in wrap(f.about(), output.width().saturating_sub(2)) {
        text += &format!("  {line}\n");
    }
    text.push('\n');
    let columns = ["part", "values", "if left out", "meaning"].map(|n| (n, Align::Left));
    let mut table = Table::new(&columns);
    for key in f.keys() {
        let p = part(key);
        let values = if p.values.is_empty() { p.kind.to_string() } else { p.values.join(" ") };
        table.row([
            key.name.to_string(),
            values,
            p.default.unwrap_or_else(|| "(needed)".into()),
            p.about.to_string(),
        ]);
    }
    text += &table.render(output.width(), output.paint());
    text.push('\n');
    for line in wrap(&format!("Example: tilewright show {}", example(f)), output.width()) {
        text += &format!("{line}\n");
    }
    text
}

/// A family's name and a small problem of it, as words on a command line.
fn example(f: &dyn Family) -> String {
    let needed =
        f.keys().iter().filter(|k| matches!(k.kind, Kind::Dim(None))).map(|k| format!("{}=64", k.name));
    std::iter::once(f.name().to_string()).chain(needed).collect::<Vec<_>>().join(" ")
}

fn entry(f: &dyn Family) -> Entry {
    Entry { name: f.name(), about: f.about(), targets: TARGETS, problem: f.keys().iter().map(part).collect() }
}

fn part(key: &'static Key) -> Part {
    let (kind, values, default) = match &key.kind {
        Kind::Dim(default) => ("size", Vec::new(), default.map(|d| d.to_string())),
        Kind::Limit => ("size or 0", Vec::new(), Some("0".to_string())),
        Kind::DType(all) => {
            let names: Vec<&'static str> = all.iter().map(|d| d.name()).collect();
            let first = names.first().map(|n| n.to_string());
            ("dtype", names, first)
        }
        Kind::Flag => ("flag", Vec::new(), Some("0".to_string())),
        Kind::Choice(words) => ("choice", words.to_vec(), words.first().map(|w| w.to_string())),
        Kind::Words(words) => ("words joined by +", words.to_vec(), Some("none".to_string())),
    };
    Part { name: key.name, kind, values, default, about: key.about }
}

/// `m`, `[batch]`, `dtype`: what may be left out in brackets.
fn in_brief(key: &Key) -> String {
    match key.kind {
        Kind::Dim(None) => key.name.to_string(),
        _ => format!("[{}]", key.name),
    }
}
