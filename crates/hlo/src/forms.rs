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

    /// The form of a computation is that of its root, whose operands are told by their forms: the order in which a text
    /// lists instructions does not matter.
    fn computation(&mut self, computation: &'m Computation, depth: usize) -> usize {
        if let Some(&number) = self.computations.get(computation.name.as_str()) {
            return number;
        }
        // Deeper ones are told apart by their names.
        let instructions = if depth < DEEPEST { computation.instructions.as_slice() } else { &[] };
        let mut numbers: Vec<usize> = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            // Operands stand before their users.
            let form_of = |o: &String| match computation.by_name.get(o).and_then(|&place| numbers.get(place))
            {
                Some(number) if instruction.opcode != "parameter" => format!("#{number}"),
                _ => o.clone(),
            };
            let operands: Vec<String> = instruction.operands.iter().map(form_of).collect();
            let form = self.form(instruction, &operands.join(" "), depth);
            numbers.push(self.number(form));
        }
        let number = match numbers.get(computation.root) {
            Some(number) => *number,
            None => self.number(computation.name.clone()),
        };
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
    fn the_order_in_which_a_body_is_listed_does_not_matter() {
        let body = |name: &str, lines: [&str; 2]| {
            format!(
                "%{name} (p: f32[8]) -> f32[8] {{\n  %p = f32[8]{{0}} parameter(0)\n  {}\n  {}\n  ROOT %r = f32[8]{{0}} add(%n, %e)\n}}\n",
                lines[0], lines[1]
            )
        };
        let (n, e) = ("%n = f32[8]{0} negate(%p)", "%e = f32[8]{0} exponential(%p)");
        let text = format!(
            "HloModule m\n\n{}{}ENTRY %main (a: f32[8]) -> f32[8] {{\n  %a = f32[8]{{0}} parameter(0)\n  %x = f32[8]{{0}} fusion(%a), kind=kLoop, calls=%f\n  ROOT %y = f32[8]{{0}} fusion(%a), kind=kLoop, calls=%g\n}}\n",
            body("f", [n, e]),
            body("g", [e, n]),
        );
        let module = parse(&text, "t.txt").unwrap();
        let mut forms = Forms::new(&module);
        let entry = module.entry();
        let x = forms.of(entry, entry.instruction("x").unwrap());
        assert_eq!(x, forms.of(entry, entry.root()));
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
