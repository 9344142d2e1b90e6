//! A compilation that came to no end, as a diagnostic: in the compiler's words, with what would work.

use std::path::Path;

use tilewright_diag::{Diagnostic, Span};

use super::{Fault, Request, memory};

/// Refusals that are told apart by `absl::StatusCode`.
const RESOURCE_EXHAUSTED: i32 = 8;

/// Whether a program takes more of a memory than the chip has.
pub(super) fn is_memory(fault: &Fault) -> bool {
    fault.code == RESOURCE_EXHAUSTED
}

/// A refusal: its first line as the message, the rest as notes.
pub(super) fn refusal(request: &Request<'_>, fault: &Fault) -> Box<Diagnostic> {
    let mut lines = fault.message.lines().filter(|l| !l.trim().is_empty());
    let first = lines.next().unwrap_or("no reason given");
    let (span, words) = placed(first, request.name);
    let foreign = request.module.foreign_calls();
    let blamed = foreign.iter().find(|(name, _)| fault.message.contains(name.as_str()));
    if let Some((name, platform)) = blamed {
        let message = format!("`{}` is a program for {platform}: it calls `{name}`", request.name);
        return Diagnostic::request("tpu/platform", message)
            .at(span)
            .help("lower it for TPUs: `jax.export.export(f, platforms=[\"tpu\"])`")
            .note(format!("the TPU compiler: {words}"));
    }
    let code = if is_memory(fault) { "run/tpu-memory" } else { "run/tpu-refused" };
    let message = format!("the TPU compiler refuses `{}` for {}: {words}", request.name, request.topology);
    let mut d = Diagnostic::request(code, message).at(span);
    let smallest = request.module.smallest(request.topology.chip);
    if !is_memory(fault) && smallest != request.topology && fault.message.contains("opology") {
        d = d.help(format!("`--topology {smallest}`, the smallest that fits"));
    }
    if request.module.is_polymorphic() {
        d = d.help("its sizes are symbols: export it for sizes that are numbers");
    }
    lines.take(24).fold(d, |d, line| d.note(line.to_string()))
}

/// Adds what fills the memory, from a folder of the compiler's dumps.
pub(super) fn with_buffers(d: Box<Diagnostic>, folder: &Path) -> Box<Diagnostic> {
    memory::largest(folder).into_iter().fold(d, |d, line| d.note(line))
}

/// More devices than the topology has.
pub(super) fn too_small(request: &Request<'_>) -> Option<Box<Diagnostic>> {
    let (needed, there) = (request.module.devices(), request.topology.devices());
    let smallest = request.module.smallest(request.topology.chip);
    let message =
        format!("`{}` runs on {needed} devices, and {} has {there}", request.name, request.topology);
    let help = if smallest.devices() < needed {
        format!("no topology of {} is large enough", request.topology.chip.target())
    } else {
        format!("`--topology {smallest}`, the smallest that fits")
    };
    (needed > there)
        .then(|| Diagnostic::request("tpu/topology", message).at(Span::file(request.name)).help(help))
}

/// `FILE:3:10: error: words` is a place and words; the parser of modules names what it read `-`.
fn placed<'a>(line: &'a str, file: &str) -> (Span, &'a str) {
    let place = || {
        let (place, words) =
            line.split_once(": error: ").or_else(|| line.strip_prefix("-:").and(line.split_once(": ")))?;
        let (rest, col) = place.rsplit_once(':')?;
        let (named, row) = rest.rsplit_once(':')?;
        let named = if named == "-" { file } else { named };
        Some((Span::new(named, row.parse().ok()?, col.parse().ok()?), words))
    };
    place().unwrap_or((Span::file(file), line))
}

/// Of a log's end, the lines that say why: fatal and error lines, else the last three.
pub(super) fn last_words(log: &str) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let grave = |l: &&&str| l.starts_with('F') || l.starts_with("E0") || l.contains("Check failed");
    let said: Vec<String> = lines.iter().filter(grave).take(4).map(ToString::to_string).collect();
    let said = if said.is_empty() {
        lines[lines.len().saturating_sub(3)..].iter().map(ToString::to_string).collect()
    } else {
        said
    };
    said.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_from_the_compilers_words() {
        for (line, file, row, col, words) in [
            ("-:3:10: error: no", "f.mlir", 3, 10, "no"),
            ("-:3:10: no", "f.mlir", 3, 10, "no"),
            ("/a/b.py:9:19: error: 'x' op", "/a/b.py", 9, 19, "'x' op"),
            ("E1000: no: error: it", "f.mlir", 0, 0, "E1000: no: error: it"),
            ("no", "f.mlir", 0, 0, "no"),
        ] {
            assert_eq!(placed(line, "f.mlir"), (Span::new(file, row, col), words));
        }
    }
}
