//! Many calls of few kernels as one program.

use tilewright_diag::{Diagnostic, Result};
use tilewright_ir::{Kernel, Program, verify_program};
use tilewright_run::Compiled;
use tilewright_target_cpu::{Lowered, LoweredKernel, Options, lower};

use crate::target::Target;

/// A program under construction: kernels, each declared once as a form, and calls of them, each with arrays of its own.
///
/// ```
/// use tilewright_ir::{Builder, DType, Program};
/// use tilewright_models::Graph;
///
/// let b = Builder::new("double");
/// let x = b.input("x", DType::F32, &[4]);
/// let y = b.output("y", DType::F32, &[4]);
/// let [i] = b.grid([("i", 1)]);
/// y.store((i,), x.load((i,), &[4]) * 2.0);
///
/// let mut graph = Graph::default();
/// let double = graph.form(Program::single(b.finish()?))?;
/// graph.call(double, "first", &[("x", "a"), ("y", "b")])?;
/// graph.call(double, "second", &[("x", "b"), ("y", "c")])?;
/// let quadruple = graph.program()?;
/// assert_eq!(quadruple.kernels.len(), 2);
/// # Ok::<(), Box<tilewright_diag::Diagnostic>>(())
/// ```
#[derive(Debug, Default)]
pub struct Graph {
    /// The forms' kernels, their operands renamed apart, so that they make one program to lower.
    forms: Vec<Kernel>,
    calls: Vec<Kernel>,
    /// The form of each call.
    form_of: Vec<usize>,
}

/// A kernel that a graph may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form(usize);

impl Graph {
    /// Declares a kernel: the only one of `program`.
    ///
    /// Errors (class request): `models/form` where the program has several kernels.
    pub fn form(&mut self, program: Program) -> Result<Form> {
        let Ok([mut kernel]) = <[Kernel; 1]>::try_from(program.kernels) else {
            return Err(Diagnostic::request("models/form", "a form made of a program of several kernels")
                .rule("a form is one kernel"));
        };
        let number = self.forms.len();
        kernel.name = format!("form{number}_{}", kernel.name);
        for operand in &mut kernel.operands {
            operand.name = format!("form{number}_{}", operand.name);
        }
        self.forms.push(kernel);
        Ok(Form(number))
    }

    /// Adds a call of a form, named `name`, after those before it. `wires` names the array that stands for each operand
    /// of the form's kernel.
    ///
    /// Errors (class request): `models/wire` where an operand is left out or unknown, or two operands are one
    /// array.
    pub fn call(&mut self, form: Form, name: &str, wires: &[(&str, &str)]) -> Result<()> {
        let declared = &self.forms[form.0];
        let prefix = format!("form{}_", form.0);
        let mut kernel = Kernel { name: name.to_string(), ..declared.clone() };
        let known: Vec<&str> =
            declared.operands.iter().map(|o| o.name.strip_prefix(&prefix).unwrap_or_default()).collect();
        if let Some((unknown, _)) = wires.iter().find(|(operand, _)| !known.contains(operand)) {
            return Err(Diagnostic::unknown(
                "models/wire",
                &format!("operand of call `{name}`"),
                unknown,
                known,
            ));
        }
        let twice = |array: &str| wires.iter().filter(|(_, other)| *other == array).count() > 1;
        if let Some((_, array)) = wires.iter().find(|(_, array)| twice(array)) {
            return Err(Diagnostic::request("models/wire", format!("call `{name}` takes `{array}` twice"))
                .rule("each operand of a kernel is another array"));
        }
        for (operand, short) in kernel.operands.iter_mut().zip(known) {
            let Some((_, array)) = wires.iter().find(|(operand, _)| *operand == short) else {
                return Err(Diagnostic::request(
                    "models/wire",
                    format!("no array for operand `{short}` of call `{name}`"),
                )
                .rule("a call names an array for each operand"));
            };
            operand.name = array.to_string();
        }
        self.calls.push(kernel);
        self.form_of.push(form.0);
        Ok(())
    }

    /// The calls as a program. Errors: those of the verifier.
    pub fn program(&self) -> Result<Program> {
        let program = Program { kernels: self.calls.clone() };
        verify_program(&program)?;
        Ok(program)
    }

    /// The program and its code, in which each form occurs once, however often it is called.
    ///
    /// Errors: those of the verifier, of lowering and of [`Compiled::new`].
    pub fn compile(&self, target: &Target) -> Result<(Program, Compiled)> {
        let program = self.program()?;
        let forms = lower(&Program { kernels: self.forms.clone() }, Options::new(target.features))?;
        let kernels =
            self.calls.iter().zip(&self.form_of).map(|(call, &form)| self.lowered(call, form, &forms));
        let lowered = Lowered { kernels: kernels.collect(), text: forms.text.clone() };
        let compiled = Compiled::new(&program, &lowered, &target.flags())?;
        Ok((program, compiled))
    }

    /// The form's code with the arrays of a call: operands of a form and of its calls stand in one order.
    fn lowered(&self, call: &Kernel, form: usize, forms: &Lowered) -> LoweredKernel {
        let (declared, code) = (&self.forms[form], &forms.kernels[form]);
        let renamed = |names: &[String]| {
            let place = |name: &String| declared.operands.iter().position(|o| o.name == *name);
            names.iter().filter_map(place).map(|i| call.operands[i].name.clone()).collect()
        };
        LoweredKernel {
            name: call.name.clone(),
            arrays: renamed(&code.arrays),
            scalars: renamed(&code.scalars),
            ..code.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_ir::{Builder, DType};

    fn add() -> Program {
        let b = Builder::new("add");
        let [x, y] = ["x", "y"].map(|name| b.input(name, DType::F32, &[4]));
        let o = b.output("o", DType::F32, &[4]);
        let [i] = b.grid([("i", 1)]);
        o.store((i,), x.load((i,), &[4]) + y.load((i,), &[4]));
        Program::single(b.finish().unwrap())
    }

    #[test]
    fn calls_are_wired_by_name_and_share_their_form() {
        let mut graph = Graph::default();
        let form = graph.form(add()).unwrap();
        graph.call(form, "twice", &[("x", "a"), ("y", "a"), ("o", "b")]).unwrap_err();
        graph.call(form, "first", &[("x", "a"), ("y", "b"), ("o", "c")]).unwrap();
        graph.call(form, "second", &[("o", "d"), ("y", "a"), ("x", "c")]).unwrap();
        let wired: Vec<Vec<String>> =
            graph.calls.iter().map(|k| k.operands.iter().map(|o| o.name.clone()).collect()).collect();
        assert_eq!(wired, [["a", "b", "c"], ["c", "a", "d"]]);
        let given = graph.program().unwrap().operands();
        let given: Vec<&str> = given.iter().filter(|o| o.given).map(|o| o.operand.name.as_str()).collect();
        assert_eq!(given, ["a", "b"]);
        let forms =
            lower(&Program { kernels: graph.forms.clone() }, Options::new(Target::here(1).features)).unwrap();
        let code = graph.lowered(&graph.calls[1], graph.form_of[1], &forms);
        assert_eq!((code.name.as_str(), code.arrays), ("second", ["c", "a", "d"].map(String::from).to_vec()));
    }

    #[test]
    fn a_call_names_each_operand_of_its_form() {
        let mut graph = Graph::default();
        let form = graph.form(add()).unwrap();
        let missing = graph.call(form, "a", &[("x", "a"), ("o", "b")]).unwrap_err();
        assert!(missing.code == "models/wire" && missing.message.contains("`y`"), "{missing}");
        let unknown = graph.call(form, "a", &[("x", "a"), ("yy", "a"), ("o", "b")]).unwrap_err();
        assert_eq!((unknown.code, unknown.help.as_deref()), ("models/wire", Some("did you mean `y`?")));
        let two = Program { kernels: [add().kernels, add().kernels].concat() };
        assert_eq!(graph.form(two).unwrap_err().code, "models/form");
    }
}
