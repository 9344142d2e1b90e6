//! A file of the corpus: header, cases, and sections of what the tests must yield.

use std::path::{Path, PathBuf};

use crate::modes::Mode;

/// Begins a section.
const SECTION: &str = "// --- ";

/// One file.
#[derive(Clone)]
pub struct File {
    /// Its path below `filetests/`, which stands in its diagnostics.
    pub name: String,
    /// One where the file names none.
    pub cases: Vec<Case>,
    path: PathBuf,
    /// The lines before the first section.
    head: Vec<String>,
    sections: Vec<(String, String)>,
}

/// A program with inputs.
#[derive(Clone, Default)]
pub struct Case {
    /// Empty where the file names no cases.
    pub name: String,
    /// The program, on the lines that it has in the file.
    pub text: String,
    /// Names and rules of `// input NAME: RULE`.
    pub inputs: Vec<(String, String)>,
}

impl File {
    /// Reads `root/name`.
    pub fn read(root: &Path, name: &str) -> Result<File, String> {
        let path = root.join(name);
        let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
        let lines: Vec<&str> = text.lines().collect();
        let end = lines.iter().position(|l| l.starts_with(SECTION)).unwrap_or(lines.len());
        let head: Vec<String> = lines[..end].iter().map(|l| l.to_string()).collect();
        let cases = cases(&head)?;
        Ok(File { name: name.to_string(), path, cases, head, sections: sections(&lines[end..])? })
    }

    /// The modes that the header names.
    pub fn modes(&self) -> Vec<Result<Mode, String>> {
        let mut modes: Vec<_> = self
            .head
            .iter()
            .filter_map(|l| l.strip_prefix("// test: "))
            .flat_map(|list| list.split(", "))
            .map(Mode::parse)
            .collect();
        let ran = |n: &String| modes.iter().any(|m| m.as_ref().is_ok_and(|m| m.name() == n));
        let unused = self.sections.iter().find(|(n, _)| !ran(n)).map(|(n, _)| n);
        match unused {
            Some(name) => modes.push(Err(format!("section `{name}` belongs to no test of the header"))),
            None if modes.is_empty() => modes.push(Err("no line `// test: MODE, ...`".to_string())),
            None => {}
        }
        modes
    }

    /// What the mode must yield; empty where it has no section.
    pub fn section(&self, name: &str) -> String {
        self.sections.iter().find(|(n, _)| n == name).map(|(_, t)| t.clone()).unwrap_or_default()
    }

    /// The file with another section of that name; without one where `text` is empty.
    pub fn with_section(&self, name: &str, text: &str) -> File {
        let mut file = self.clone();
        file.sections.retain(|(n, _)| n != name);
        if !text.is_empty() {
            file.sections.push((name.to_string(), text.to_string()));
        }
        file.sections.sort_by_key(|(n, _)| Mode::ALL.iter().position(|m| m.name() == n));
        file
    }

    /// Writes the file back.
    pub fn write(&self) -> std::io::Result<()> {
        let mut text = self.head.join("\n");
        text.push('\n');
        for (name, section) in &self.sections {
            text += &format!("{SECTION}{name}\n");
            for line in section.lines() {
                text += format!("// {line}").trim_end();
                text.push('\n');
            }
        }
        std::fs::write(&self.path, text)
    }

    /// The results of all cases as one text, each under its case's name, `nothing` where it is empty; empty where every
    /// result is.
    pub fn of_cases(
        &self,
        nothing: &str,
        run: impl Fn(&Case) -> Result<String, String>,
    ) -> Result<String, String> {
        let named = |case: &Case, message: String| {
            if case.name.is_empty() { message } else { format!("case {}: {message}", case.name) }
        };
        let results =
            self.cases.iter().map(|c| run(c).map_err(|e| named(c, e))).collect::<Result<Vec<_>, _>>()?;
        if self.cases.len() == 1 || results.iter().all(String::is_empty) {
            return Ok(results.concat());
        }
        let parts = self.cases.iter().zip(results).map(|(case, result)| {
            if result.is_empty() {
                format!("case {}: {nothing}\n", case.name)
            } else {
                format!("case {}:\n{result}", case.name)
            }
        });
        Ok(parts.collect())
    }
}

/// The lines before the first `// case: NAME` belong to every case; a case without a program runs the one before it.
fn cases(head: &[String]) -> Result<Vec<Case>, String> {
    let starts: Vec<usize> = (0..head.len()).filter(|&i| head[i].starts_with("// case: ")).collect();
    let shared = starts.first().copied().unwrap_or(head.len());
    let mut all: Vec<Case> = Vec::new();
    for (n, &start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(head.len());
        let own: Vec<&str> =
            (0..end).map(|i| if i < shared || i > start { head[i].as_str() } else { "" }).collect();
        let mut case = case(&own)?;
        case.name = head[start].trim_start_matches("// case: ").to_string();
        if program(&case.text).is_empty()
            && let Some(before) = all.last()
        {
            case.text = before.text.clone();
        }
        all.push(case);
    }
    if all.is_empty() {
        all.push(case(&head.iter().map(String::as_str).collect::<Vec<_>>())?);
    }
    Ok(all)
}

fn case(lines: &[&str]) -> Result<Case, String> {
    let mut inputs = Vec::new();
    for line in lines.iter().filter(|l| l.starts_with("// input")) {
        let input = line.strip_prefix("// input ").and_then(|l| l.split_once(": "));
        let (name, rule) = input.ok_or(format!("`{line}` is not `// input NAME: RULE`"))?;
        inputs.retain(|(n, _)| n != name);
        inputs.push((name.to_string(), rule.to_string()));
    }
    Ok(Case { name: String::new(), text: lines.join("\n") + "\n", inputs })
}

/// A program's text without comments and empty lines.
pub fn program(text: &str) -> String {
    let lines = text.lines().map(|l| l.split("//").next().unwrap_or_default().trim_end());
    lines.filter(|l| !l.is_empty()).map(|l| format!("{l}\n")).collect()
}

fn sections(lines: &[&str]) -> Result<Vec<(String, String)>, String> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in lines {
        if let Some(name) = line.strip_prefix(SECTION) {
            all.push((name.to_string(), String::new()));
        } else if let (Some((_, text)), Some(rest)) = (all.last_mut(), line.strip_prefix("//")) {
            *text += rest.strip_prefix(' ').unwrap_or(rest);
            text.push('\n');
        } else {
            return Err(format!("`{line}` in a section is no comment"));
        }
    }
    Ok(all)
}
