//! The direction of dependencies and what crates must not contain, held to `layers.toml`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const PREFIX: &str = "tilewright";
/// The only crates with `unsafe`: one loads compiled code, the other measures with intrinsics.
const MAY_BE_UNSAFE: [&str; 2] = ["run", "measure"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn toml(path: &Path) -> toml::Table {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn ranks() -> BTreeMap<String, i64> {
    let layers = toml(&root().join("layers.toml"));
    let rank = layers["rank"].as_table().expect("layers.toml has a table [rank]");
    rank.iter().map(|(name, r)| (name.clone(), r.as_integer().expect("a rank is an integer"))).collect()
}

/// Every crate's folder name and manifest.
fn crates() -> BTreeMap<String, toml::Table> {
    let folders = fs::read_dir(root().join("crates")).expect("there is a folder of crates");
    let named = folders.map(|f| f.expect("readable").path()).filter(|f| f.join("Cargo.toml").is_file());
    let name = |f: &Path| f.file_name().expect("a name").to_string_lossy().into_owned();
    named.map(|f| (name(&f), toml(&f.join("Cargo.toml")))).collect()
}

/// The folder name of a package of ours.
fn short(package: &str) -> Option<&str> {
    match package.strip_prefix(PREFIX)? {
        "" => Some(PREFIX),
        rest => rest.strip_prefix('-'),
    }
}

/// Our crates that a manifest names, in every table of dependencies.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let mut tables: Vec<&toml::Table> = vec![manifest];
    if let Some(targets) = manifest.get("target").and_then(toml::Value::as_table) {
        tables.extend(targets.values().filter_map(toml::Value::as_table));
    }
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let lists = tables.iter().flat_map(|t| kinds.iter().filter_map(|k| t.get(*k)?.as_table()));
    lists.flat_map(|t| t.keys().filter_map(|k| short(k)).map(str::to_string)).collect()
}

/// Every Rust file under a crate's `src`, with its text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("crates").join(folder).join("src")];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).unwrap_or_else(|e| panic!("{}: {e}", at.display())) {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push((path.clone(), fs::read_to_string(&path).expect("UTF-8")));
            }
        }
    }
    files
}

/// Lines of code that contain `word` as a word, comments left out.
fn lines_with(text: &str, word: &str) -> Vec<String> {
    let outside = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let whole = |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            outside(line[..at].chars().next_back()) && outside(line[at + word.len()..].chars().next())
        })
    };
    let code = text.lines().map(|l| l.split("//").next().unwrap_or_default());
    code.filter(|l| whole(l)).map(|l| l.trim().to_string()).collect()
}

#[test]
fn every_crate_is_ranked_and_every_rank_has_its_crate() {
    let (ranks, crates) = (ranks(), crates());
    let ranked: Vec<&String> = ranks.keys().collect();
    let there: Vec<&String> = crates.keys().collect();
    assert_eq!(ranked, there, "layers.toml and crates/ name the same crates");
    for (folder, manifest) in &crates {
        let package = manifest["package"]["name"].as_str();
        assert_eq!(package.and_then(short), Some(folder.as_str()), "package of crates/{folder}");
        let inherited = manifest.get("lints").and_then(|l| l.get("workspace")?.as_bool());
        assert_eq!(inherited, Some(true), "crates/{folder} inherits the workspace's lints");
    }
}

#[test]
fn crates_depend_on_lower_ranks_only() {
    let ranks = ranks();
    for (folder, manifest) in crates() {
        // A crate's tests may name the crate itself, to turn on a feature of it.
        for needed in dependencies(&manifest).into_iter().filter(|needed| *needed != folder) {
            let (own, below) = (ranks[&folder], ranks[&needed]);
            assert!(below < own, "{folder} (rank {own}) depends on {needed} (rank {below})");
        }
    }
}

#[test]
fn the_interpreter_and_the_lowerings_share_no_code_but_the_ir() {
    let common = ["diag", "dtype", "ir"];
    for (folder, manifest) in crates().into_iter().filter(|(f, _)| f == "interp" || f.starts_with("target-"))
    {
        let Some(needed) = manifest.get("dependencies").and_then(toml::Value::as_table) else { continue };
        for name in needed.keys().filter_map(|k| short(k)) {
            assert!(common.contains(&name), "{folder} depends on {name}");
        }
    }
}

#[test]
fn lowerings_start_no_process_and_load_no_library() {
    for folder in crates().keys().filter(|f| f.starts_with("target-")) {
        for (path, text) in sources(folder) {
            for word in ["std::process", "libloading", "dlopen"] {
                let found = lines_with(&text, word);
                assert!(found.is_empty(), "{}: {found:?}", path.display());
            }
        }
    }
}

#[test]
fn unsafe_stays_where_it_is_explained() {
    for folder in crates().keys() {
        let may = MAY_BE_UNSAFE.contains(&folder.as_str());
        for (path, text) in sources(folder) {
            let found = lines_with(&text, "unsafe");
            assert!(may || found.is_empty(), "{}: {found:?}", path.display());
        }
    }
}

#[test]
fn words_are_found_as_words_and_not_in_comments() {
    assert_eq!(lines_with("let a = 1; // unsafe\nunsafe { b }\nunsafe_code", "unsafe"), ["unsafe { b }"]);
    assert_eq!(short("tilewright-target-cpu"), Some("target-cpu"));
    assert_eq!((short("tilewright"), short("serde")), (Some("tilewright"), None));
}
