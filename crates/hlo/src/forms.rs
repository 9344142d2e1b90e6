//! Which instructions are the same but for their names: the compiler makes code of such only once.

use std::collections::HashMap;

use crate::{Computation, Instruction, Module};

/// Attributes that do not change what an instruction does on its core.
const IGNORED: [&str; 3] = ["metadata", "channel_id", "frontend_attributes"];

/// Computations within computations deeper than this are not followed: no compiler prints them.
const DEEPEST: usize = 32;

/// Numbers forms: two instructions of a module have the same number where they agree in opcode, shapes and layouts of
/// operands and result, attributes, and the forms of the computations that they call.
pub struct Forms<'m> {
    module: &'m Module,
    numbers: HashMap<String, usize>,
    computations: HashMap<&'m str, usize>,
}

impl<'m> Forms<'m> {
    /// None numbered yet.
    pub fn new(module: &'m Module) -> Forms<'m> {
        Forms { module, numbers: HashMap::new(), computations: HashMap::new() }
    }

    /// The number of an instruction's form; `computation` is where it stands.
    pub fn of(&mut self, computation: &Computation, instruction: &'m Instruction) -> usize {
        let operands: Vec<String> = instruction
            .operands
            .iter()
            .map(|o| computation.instruction(o).map_or_else(|| o.clone(), |i| format!("{:?}", i.shape)))
            .collect();
        let form = self.form(instruction, &operands.join(" "), 0);
        self.number(form)
    }

    fn number(&mut self, form: String) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(form).or_insert(next)
    }

    fn form(&mut self, instruction: &'m Instruction, operands: &str, depth: usize) -> String {
        let mut form = format!("{:?} {}({operands})", instruction.shape, instruction.opcode);
        for (key, value) in instruction.attributes.iter().filter(|(key, _)| !IGNORED.contains(&key.as_str()))
        {
            let called = self.module.computation(value.trim_start_matches('%'));
            form += &match called.filter(|_| value.starts_with('%')) {
                Some(called) => format!(", {key}=#{}", self.computation(called, depth + 1)),
                None if key == "replica_groups" => format!(", {key}={}", groups(value)),
                None => format!(", {key}={value}"),
            };
        }
        form
    }

    /// Operands of a computation's instructions are told by their places.
    fn computation(&mut self, computation: &'m Computation, depth: usize) -> usize {
        if let Some(&number) = self.computations.get(computation.name.as_str()) {
            return number;
        }
        let mut form = String::new();
        // Deeper ones are told apart by their names.
        let instructions = if depth < DEEPEST { computation.instructions.as_slice() } else { &[] };
        if instructions.is_empty() {
            form.clone_from(&computation.name);
        }
        for (place, instruction) in instructions.iter().enumerate() {
            let place_of = |o: &String| match computation.by_name.get(o) {
                Some(place) if instruction.opcode != "parameter" => format!("#{place}"),
                _ => o.clone(),
            };
            let operands: Vec<String> = instruction.operands.iter().map(place_of).collect();
            form += &self.form(instruction, &operands.join(" "), depth);
            form += if place == computation.root { " root\n" } else { "\n" };
        }
        let number = self.number(form);
        self.computations.insert(&computation.name, number);
        number
    }
}

/// Groups of devices along the last axes of a mesh, `mesh['x'=4,'y'=2] {'y'}`, in their other form, `[4,2]<=[8]`; others
/// as they are.
fn groups(value: &str) -> String {
    let other_form = || {
        let (axes, listed) = value.strip_prefix("mesh[")?.split_once("] {")?;
        let axes: Vec<(&str, usize)> = axes
            .split(',')
            .map(|a| a.split_once('=').and_then(|(n, s)| Some((n, s.parse().ok()?))))
            .collect::<Option<_>>()?;
        let listed: Vec<&str> = listed.strip_suffix('}')?.split(',').collect();
        let (others, last) = axes.split_at(axes.len().checked_sub(listed.len())?);
        let product = |axes: &[(&str, usize)]| axes.iter().try_fold(1usize, |n, a| n.checked_mul(a.1));
        let (count, size) = (product(others)?, product(last)?);
        let is_last = last.iter().map(|a| a.0).eq(listed);
        is_last.then_some(format!("[{count},{size}]<=[{}]", count.checked_mul(size)?))
    };
    other_form().unwrap_or_else(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn groups_have_two_forms() {
        assert_eq!(groups("mesh['x'=4,'y'=2] {'y'}"), "[4,2]<=[8]");
        assert_eq!(groups("mesh['x'=4,'y'=2] {'x','y'}"), "[1,8]<=[8]");
        for other in ["mesh['x'=4,'y'=2] {'x'}", "[4,2]<=[8]", "mesh[", "mesh[] {}", "{{0,1}}"] {
            assert_eq!(groups(other), other);
        }
    }

    #[test]
    fn names_and_sources_do_not_tell_instructions_apart_but_shapes_and_bodies_do() {
        let fused = |name: &str, op: &str| {
            format!(
                "%{name} (p.{name}: f32[8]) -> f32[8] {{\n  %p.{name} = f32[8]{{0:T(1024)}} parameter(0)\n  ROOT %r.{name} = f32[8]{{0:T(1024)}} {op}(%p.{name}, %p.{name}), metadata={{op_name=\"{name}\"}}\n}}\n"
            )
        };
        let call = |name: &str, of: &str, calls: &str| {
            format!("  %{name} = f32[8]{{0:T(1024)}} fusion(%{of}), kind=kLoop, calls=%{calls}\n")
        };
        let text = format!(
            "HloModule m\n\n{}{}{}ENTRY %main (a: f32[8]) -> f32[8] {{\n  %a = f32[8]{{0:T(1024)}} parameter(0)\n  %b = f32[8]{{0:T(1024)S(1)}} copy(%a)\n{}{}{}{}  ROOT %z = f32[8]{{0:T(1024)}} copy(%a)\n}}\n",
            fused("f1", "add"),
            fused("f2", "add"),
            fused("f3", "multiply"),
            call("c1", "a", "f1"),
            call("c2", "c1", "f2"),
            call("c3", "a", "f3"),
            call("c4", "b", "f1"),
        );
        let module = parse(&text, "t.txt").unwrap();
        let mut forms = Forms::new(&module);
        let entry = module.entry();
        let mut of = |name: &str| forms.of(entry, entry.instruction(name).unwrap());
        let first = of("c1");
        assert_eq!(of("c2"), first);
        assert!(of("c3") != first && of("c4") != first && of("z") != of("b"));
    }
}
