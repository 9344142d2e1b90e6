//! A compiled program: its optimised HLO, and the listing of each op that has one.

use std::collections::BTreeMap;

use tilewright_bundles::folder;
use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_hlo::{Computation, Instruction, Module};

/// One instruction that takes time, begins something that runs beside the ops, or waits for its end.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// Where it stands.
    pub computation: &'a Computation,
    /// The instruction.
    pub instruction: &'a Instruction,
    /// How often it runs; `None` where the trip count of a loop around it is not known before the run.
    pub count: Option<u64>,
    /// Whether it has a listing.
    pub listed: bool,
    /// The instruction that ends what this one begins.
    pub ended_by: Option<&'a Instruction>,
    /// The instruction that began what this one ends.
    pub begun_by: Option<&'a Instruction>,
}

/// A program in the order in which it runs.
#[derive(Clone, Debug)]
pub enum Item<'a> {
    /// A step.
    Step(Step<'a>),
    /// The end of a loop whose body stands once, from this item on.
    LoopEnd {
        /// The body's first item.
        first: usize,
        /// How often it runs, where that is known.
        trips: Option<u64>,
    },
}

/// A dump's texts, sorted out.
pub struct Program<'a> {
    /// The module.
    pub module: Module,
    /// Text of the bundle listing by op, with the name of its file.
    pub listings: BTreeMap<&'a str, (&'a str, &'a str)>,
}

/// Listings that are no op of the program.
const FRAME: [&str; 3] = ["TLP", "<late-initialization>", "<late-finalization>"];

/// Loops within loops deeper than this are refused: no compiler prints them.
const DEEPEST: usize = 32;

impl<'a> Program<'a> {
    /// Sorts out the files of a dump. `name` names it in diagnostics.
    ///
    /// # Errors
    /// `tpu/dump` where it is of no program or of several, or of another version of the compiler; `tpu/hlo`.
    pub fn of(files: &'a BTreeMap<String, String>, name: &str) -> Result<Program<'a>> {
        let fault = |what: String| {
            Diagnostic::request("tpu/dump", what)
                .at(Span::file(name.to_string()))
                .rule("a dump holds `…-TLP-hlo.txt` and `…-OP-NN-final_bundles.txt` of one program")
                .help("LIBTPU_INIT_ARGS=\"--xla_jf_dump_to=DIR --xla_jf_dump_llo_text=true --xla_jf_dump_llo_pass_label_regex=final\"")
        };
        let modules: Vec<&String> = files.keys().filter(|f| f.ends_with("-TLP-hlo.txt")).collect();
        let [module] = modules.as_slice() else {
            return Err(fault(format!("the dump holds {} programs", modules.len())));
        };
        let module = tilewright_hlo::parse(&files[*module], module)?;
        let mut listings = BTreeMap::new();
        for (file, text) in files {
            let Some((_, op)) = folder::split(file) else { continue };
            if listings.insert(op, (file.as_str(), text.as_str())).is_some() {
                return Err(fault(format!("the dump holds two listings of `{op}`")));
            }
        }
        if listings.keys().all(|op| FRAME.contains(op)) {
            return Err(fault("the dump holds no bundle listing of any op".to_string()));
        }
        Ok(Program { module, listings })
    }

    /// What the program does, in the order in which it runs, loops entered.
    pub fn items(&self) -> Vec<Item<'_>> {
        let mut items = Vec::new();
        self.walk(self.module.entry(), Some(1), 0, &mut items);
        items
    }

    /// Names of the ops that have a listing.
    pub fn ops(&self) -> impl Iterator<Item = &str> {
        self.listings.keys().copied().filter(|op| !FRAME.contains(op))
    }

    /// Devices that the program is split over.
    pub fn devices(&self) -> usize {
        self.module.partitions.saturating_mul(self.module.replicas)
    }

    fn walk<'s>(
        &'s self,
        computation: &'s Computation,
        count: Option<u64>,
        depth: usize,
        items: &mut Vec<Item<'s>>,
    ) {
        // What ends a start: its `-done`, through any `-update`s.
        let mut ends: BTreeMap<&str, &Instruction> = BTreeMap::new();
        for instruction in computation.instructions.iter().filter(|i| i.opcode.ends_with("-done")) {
            if let Some(start) = begun_by(computation, instruction) {
                ends.insert(&start.name, instruction);
            }
        }
        for instruction in &computation.instructions {
            let listed = self.listings.contains_key(instruction.name.as_str());
            let done = instruction.opcode.ends_with("-done");
            let begun_by = if done { begun_by(computation, instruction) } else { None };
            let ended_by = ends.get(instruction.name.as_str()).copied();
            if listed || begun_by.is_some() || ended_by.is_some() || is_exchange(&instruction.opcode) {
                items.push(Item::Step(Step { computation, instruction, count, listed, ended_by, begun_by }));
                continue;
            }
            let inner = |name: &str| instruction.called(name).and_then(|n| self.module.computation(n));
            match instruction.opcode.as_str() {
                _ if depth > DEEPEST => {}
                "while" => {
                    let trips = trip_count(&self.module, computation, instruction);
                    let count = count.zip(trips).and_then(|(a, b)| a.checked_mul(b));
                    let first = items.len();
                    for part in ["condition", "body"].into_iter().filter_map(inner) {
                        self.walk(part, count, depth + 1, items);
                    }
                    items.push(Item::LoopEnd { first, trips });
                }
                "call" => {
                    if let Some(called) = inner("to_apply").or(inner("calls")) {
                        self.walk(called, count, depth + 1, items);
                    }
                }
                "conditional" => {
                    // Which branch runs is not known before the run: each is counted.
                    let branches = instruction.attribute("branch_computations").unwrap_or_default();
                    let named = branches
                        .trim_matches(['{', '}'])
                        .split(',')
                        .map(|b| b.trim().trim_start_matches('%'));
                    let both = ["true_computation", "false_computation"].into_iter().filter_map(inner);
                    for branch in named.filter_map(|b| self.module.computation(b)).chain(both) {
                        self.walk(branch, count, depth + 1, items);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether an instruction exchanges data with other devices and is done when it ends.
fn is_exchange(opcode: &str) -> bool {
    crate::collective::KINDS.contains(&opcode)
}

/// The start that a `-done` ends.
fn begun_by<'a>(computation: &'a Computation, done: &Instruction) -> Option<&'a Instruction> {
    let mut at = computation.instruction(done.operands.first()?)?;
    for _ in 0..DEEPEST {
        if at.opcode.ends_with("-start") {
            return Some(at);
        }
        at = computation.instruction(at.operands.first()?)?;
    }
    None
}

/// How often a loop runs, where its text tells: an index that counts up from a constant by a constant while it is below
/// another, or what the compiler wrote down.
fn trip_count(module: &Module, around: &Computation, looped: &Instruction) -> Option<u64> {
    if let Some(config) = looped.attribute("backend_config")
        && let Some((_, rest)) = config.split_once("\"known_trip_count\":{\"n\":\"")
    {
        return rest.split('"').next()?.parse().ok();
    }
    let condition = module.computation(looped.called("condition")?)?;
    let root = condition.root();
    if root.opcode != "compare" || root.attribute("direction") != Some("LT") {
        return None;
    }
    let [index, limit] = [0, 1].map(|n| root.operands.get(n).and_then(|o| condition.instruction(o)));
    let limit = constant(condition, limit?)?;
    let part: usize = index.filter(|i| i.opcode == "get-tuple-element")?.attribute("index")?.parse().ok()?;
    let start = around.instruction(looped.operands.first()?)?;
    let start = constant(around, around.instruction(start.operands.get(part)?)?)?;
    let body = module.computation(looped.called("body")?)?;
    let next = body.instruction(body.root().operands.get(part)?)?;
    let step = next.operands.iter().find_map(|o| constant(body, body.instruction(o)?));
    let step = step.filter(|s| next.opcode == "add" && *s > 0)?;
    let (way, step) = (u64::try_from((limit - start).max(0)).ok()?, u64::try_from(step).ok()?);
    Some(way.div_ceil(step))
}

/// A whole constant, through copies.
fn constant(computation: &Computation, instruction: &Instruction) -> Option<i64> {
    match instruction.opcode.as_str() {
        "constant" => instruction.operands.first()?.parse().ok(),
        "copy" | "bitcast" => constant(computation, computation.instruction(instruction.operands.first()?)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOP: &str = "HloModule m

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %two = s32[] constant(2)
  %next = s32[] add(%i, %two)
  %x = f32[8] get-tuple-element(%p), index=1
  %inner = f32[8] fusion(%x), kind=kLoop, calls=%f
  ROOT %t = (s32[], f32[8]) tuple(%next, %inner)
}

%condition (p: (s32[], f32[8])) -> pred[] {
  %p.1 = (s32[], f32[8]) parameter(0)
  %i.1 = s32[] get-tuple-element(%p.1), index=0
  %limit = s32[] constant(9)
  ROOT %c = pred[] compare(%i.1, %limit), direction=LT
}

%f (q: f32[8]) -> f32[8] {
  ROOT %q = f32[8] parameter(0)
}

ENTRY %main (a: f32[8]) -> (s32[], f32[8]) {
  %a = f32[8] parameter(0)
  %zero = s32[] constant(1)
  %copied = s32[] copy(%zero)
  %fusion.1 = f32[8] fusion(%a), kind=kLoop, calls=%f
  %start = (s32[], f32[8]) tuple(%copied, %fusion.1)
  ROOT %w = (s32[], f32[8]) while(%start), condition=%condition, body=%body
}
";

    fn dump() -> BTreeMap<String, String> {
        [
            "1-TLP-hlo.txt",
            "1-TLP-03-final_bundles.txt",
            "1-fusion.1-03-final_bundles.txt",
            "2-inner-03-final_bundles.txt",
        ]
        .into_iter()
        .map(|name| {
            (name.to_string(), if name.ends_with("hlo.txt") { LOOP.to_string() } else { String::new() })
        })
        .chain([("1-fusion.1-02-schedule-analysis_final_bundles.txt".to_string(), String::new())])
        .collect()
    }

    #[test]
    fn loops_are_entered_as_often_as_they_run() {
        let files = dump();
        let program = Program::of(&files, "d").unwrap();
        let items = program.items();
        let steps: Vec<(&str, Option<u64>)> = items
            .iter()
            .filter_map(|i| match i {
                Item::Step(s) => Some((s.instruction.name.as_str(), s.count)),
                Item::LoopEnd { .. } => None,
            })
            .collect();
        assert_eq!(steps, [("fusion.1", Some(1)), ("inner", Some(4))]);
        assert!(matches!(items[2], Item::LoopEnd { first: 1, trips: Some(4) }));
    }

    #[test]
    fn a_dump_of_nothing_or_of_two_programs_is_refused() {
        let d = Program::of(&BTreeMap::new(), "d").err().unwrap();
        assert_eq!(d.code, "tpu/dump");
        let mut two = dump();
        two.insert("2-TLP-hlo.txt".to_string(), LOOP.to_string());
        assert!(Program::of(&two, "d").err().unwrap().message.contains("2 programs"));
        let mut again = dump();
        again.insert("9-inner-03-final_bundles.txt".to_string(), String::new());
        assert!(Program::of(&again, "d").err().unwrap().message.contains("two listings of `inner`"));
    }
}
