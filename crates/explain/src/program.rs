//! A compiled program: its optimised HLO, and the listing of each op that has one.

use std::collections::{BTreeMap, HashMap};

use tilewright_bundles::folder;
use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_hlo::{Computation, Forms, Instruction, Module};

use crate::collective::{self, Inner};

/// One instruction that takes time, begins something that runs beside the ops, or waits for its end.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// Where it stands.
    pub computation: &'a Computation,
    /// The instruction.
    pub instruction: &'a Instruction,
    /// How often it runs; `None` where the trip count of a loop around it is not known before the run.
    pub count: Option<u64>,
    /// Whether the program calls machine code for it.
    pub called: bool,
    /// The exchange that it is, done when it ends.
    pub exchange: Option<Inner<'a>>,
    /// What it begins, that runs on beside the steps after it.
    pub begins: Vec<Beside<'a>>,
    /// What it waits for, by name.
    pub ends: Vec<String>,
}

/// Something that runs beside the steps.
#[derive(Clone, Debug)]
pub struct Beside<'a> {
    /// Its name, of which there is one in its computation.
    pub name: String,
    /// The instruction whose result it is.
    pub done: &'a Instruction,
    /// The exchange between devices that it is; otherwise it is a copy, or another core's work.
    pub exchange: Option<Inner<'a>>,
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
    /// The file of the module.
    pub file: &'a str,
    /// Text of the bundle listing by op, with the name of its file.
    pub listings: BTreeMap<&'a str, (&'a str, &'a str)>,
    /// The op whose listing is the code of each op that the program calls. Of ops that are the same but for their names the
    /// compiler prints one. An op of which none is known has none here.
    code: BTreeMap<String, Option<&'a str>>,
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
        let file = module.as_str();
        let module = tilewright_hlo::parse(&files[*module], file)?;
        let mut listings = BTreeMap::new();
        for (name, text) in files {
            let Some((_, op)) = folder::split(name) else { continue };
            if listings.insert(op, (name.as_str(), text.as_str())).is_some() {
                return Err(fault(format!("the dump holds two listings of `{op}`")));
            }
        }
        if listings.keys().all(|op| FRAME.contains(op)) {
            return Err(fault("the dump holds no bundle listing of any op".to_string()));
        }
        let code = code(&module, &listings);
        Ok(Program { module, file, listings, code })
    }

    /// The listing that is the code of an op, and the name of its file.
    pub fn listing(&self, op: &str) -> Option<(&'a str, &'a str)> {
        self.listings.get((*self.code.get(op)?)?).copied()
    }

    /// What the program does, in the order in which it runs, loops entered.
    pub fn items(&self) -> Vec<Item<'_>> {
        let mut items = Vec::new();
        self.walk(self.module.entry(), Some(1), 0, &mut items);
        items
    }

    /// Names of the ops that have machine code.
    pub fn ops(&self) -> impl Iterator<Item = &str> {
        self.code.keys().map(String::as_str)
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
        let pairs = Pairs::of(&self.module, computation);
        for instruction in &computation.instructions {
            let called = self.code.contains_key(&instruction.name);
            let step = pairs.step(Step {
                computation,
                instruction,
                count,
                called,
                exchange: None,
                begins: Vec::new(),
                ends: Vec::new(),
            });
            if called || step.exchange.is_some() || !step.begins.is_empty() || !step.ends.is_empty() {
                items.push(Item::Step(step));
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

/// Which listing is the code of each op that a program calls.
fn code<'a>(
    module: &Module,
    listings: &BTreeMap<&'a str, (&'a str, &'a str)>,
) -> BTreeMap<String, Option<&'a str>> {
    let mut code: BTreeMap<String, Option<&'a str>> =
        listings.keys().filter(|op| !FRAME.contains(op)).map(|op| ((*op).to_string(), Some(*op))).collect();
    let top = listings.get("TLP").map_or("", |(_, text)| text);
    let missing: Vec<&str> = top.lines().filter_map(callee).filter(|op| !code.contains_key(*op)).collect();
    if missing.is_empty() {
        return code;
    }
    let mut forms = Forms::new(module);
    let mut of = HashMap::new();
    for op in listings.keys() {
        if let Some((computation, instruction)) = module.find(op) {
            of.entry(forms.of(computation, instruction)).or_insert(*op);
        }
    }
    for op in missing {
        let same = module.find(op).and_then(|(c, i)| of.get(&forms.of(c, i)).copied());
        code.insert(op.to_string(), same);
    }
    code
}

/// The op that a line of the top level calls: `{ %61 = inlined_call %s0, %s1 /* %fusion.7 = fusion(…) */ }`.
pub fn callee(line: &str) -> Option<&str> {
    let (_, call) = line.split_once("= inlined_call ")?;
    let (_, op) = call.split_once("/* %")?;
    op.split(' ').next()
}

/// What begins and what ends the things of a computation that run beside its steps: a `-start` and its `-done`, or the first
/// and the last of the fusions that hold the steps of one exchange (of one channel).
struct Pairs<'a> {
    starts: BTreeMap<&'a str, &'a Instruction>,
    /// Exchanges by the instruction that holds them, with their channel.
    held: BTreeMap<&'a str, Vec<(Option<&'a str>, Inner<'a>)>>,
    /// First and last holder of each channel.
    channels: BTreeMap<&'a str, (&'a Instruction, &'a Instruction)>,
    computation: &'a Computation,
}

impl<'a> Pairs<'a> {
    fn of(module: &'a Module, computation: &'a Computation) -> Self {
        let mut pairs =
            Pairs { starts: BTreeMap::new(), held: BTreeMap::new(), channels: BTreeMap::new(), computation };
        for instruction in &computation.instructions {
            if instruction.opcode.ends_with("-done")
                && let Some(start) = begun_by(computation, instruction)
            {
                pairs.starts.insert(&start.name, instruction);
            }
            let exchanges = exchanges(module, computation, instruction);
            for (channel, _) in &exchanges {
                let Some(channel) = *channel else { continue };
                pairs
                    .channels
                    .entry(channel)
                    .and_modify(|e| e.1 = instruction)
                    .or_insert((instruction, instruction));
            }
            if !exchanges.is_empty() {
                pairs.held.insert(&instruction.name, exchanges);
            }
        }
        pairs
    }

    /// Fills in what a step begins and ends.
    fn step(&self, mut step: Step<'a>) -> Step<'a> {
        let instruction = step.instruction;
        let name = instruction.name.as_str();
        let held = self.held.get(name).map_or(&[][..], Vec::as_slice);
        if instruction.opcode.ends_with("-done") {
            step.ends.extend(begun_by(self.computation, instruction).map(|start| start.name.clone()));
            return step;
        }
        if let Some(done) = self.starts.get(name) {
            let exchange = held.first().map(|(_, inner)| *inner);
            step.begins.push(Beside { name: instruction.name.clone(), done, exchange });
            return step;
        }
        for (channel, inner) in held {
            match channel.and_then(|c| Some((c, self.channels.get(c)?))) {
                Some((channel, (first, last))) if first.name != last.name => {
                    let name = format!("{} (channel {channel})", inner.instruction.opcode);
                    if first.name == instruction.name {
                        step.begins.push(Beside { name, done: last, exchange: Some(*inner) });
                    } else if last.name == instruction.name {
                        step.ends.push(name);
                    }
                }
                _ => step.exchange = Some(*inner),
            }
        }
        step
    }
}

/// The exchanges that an instruction is, or that the computation that it calls holds, with their channels.
fn exchanges<'a>(
    module: &'a Module,
    computation: &'a Computation,
    instruction: &'a Instruction,
) -> Vec<(Option<&'a str>, Inner<'a>)> {
    let one =
        |computation, i: &'a Instruction| (i.attribute("channel_id"), Inner { computation, instruction: i });
    if collective::kind(instruction).is_some() {
        return vec![one(computation, instruction)];
    }
    if !["fusion", "async-start", "call-start"].contains(&instruction.opcode.as_str()) {
        return Vec::new();
    }
    let called = ["calls", "called_computation", "to_apply"].iter().find_map(|a| instruction.called(a));
    let Some(inner) = called.and_then(|c| module.computation(c)) else { return Vec::new() };
    inner.instructions.iter().filter(|i| collective::kind(i).is_some()).map(|i| one(inner, i)).collect()
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
