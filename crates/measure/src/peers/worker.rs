//! PyTorch and JAX, in a child process that times itself by the same protocol.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::Tensor;

use super::session::{fault, unsupported};
use super::{Data, Found, Peer, Prepared, Work, environment, locate};
use crate::timing::{Contestant, Measurement};

/// Looks for a framework: only its presence and version, without the seconds that importing it takes.
pub(super) fn find(name: &'static str) -> Found {
    const PROBE: &str = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))";
    for python in locate::pythons() {
        let probe = Command::new(&python).args(["-c", PROBE, name]).stderr(Stdio::null()).output();
        if let Ok(output) = probe
            && output.status.success()
        {
            let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            let kernel = format!("in {}", python.display());
            let idle = RefCell::default();
            return Found::Ready(Box::new(Framework { name, python, version, kernel, idle }));
        }
    }
    Found::Absent { name, reason: "not installed".to_owned(), help: format!("{} --all", locate::SETUP) }
}

struct Framework {
    name: &'static str,
    python: PathBuf,
    version: String,
    kernel: String,
    /// Children that wait for the next evaluation, by their number of threads: importing a framework takes seconds.
    idle: RefCell<BTreeMap<usize, Session>>,
}

impl Framework {
    fn session(&self, work: &Work, threads: usize) -> Result<Session> {
        self.supports(work).map_err(|reason| unsupported(self.name, work, reason))?;
        Session::start(self, threads)
    }
}

impl Peer for Framework {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn kernel(&self) -> &str {
        &self.kernel
    }

    fn supports(&self, work: &Work) -> std::result::Result<(), String> {
        let dtype = work.dtype();
        if !["f32", "bf16", "f16", "i8"].contains(&dtype.name()) {
            return Err(format!("the worker has no {} of {dtype}", work.name()));
        }
        match work {
            Work::Matmul { batch, epilogue, .. } if dtype.is_int() && (*batch > 1 || !epilogue.is_none()) => {
                Err("its integer product has no batch and no epilogue".to_owned())
            }
            Work::Matmul { .. } => Ok(()),
            _ if dtype.is_int() => Err(format!("it has no {} of integers", work.name())),
            _ => Ok(()),
        }
    }

    fn evaluate(&self, work: &Work, threads: usize, inputs: &[Tensor]) -> Result<Tensor> {
        let waiting = self.idle.borrow_mut().remove(&threads);
        let mut session = match waiting {
            Some(session) if self.supports(work).is_ok() => session,
            _ => self.session(work, threads)?,
        };
        let values: Vec<Vec<f64>> = inputs.iter().map(Tensor::to_f64).collect();
        let reply: Evaluated = session.ask(json!({"op": "evaluate", "work": work, "inputs": values}))?;
        self.idle.borrow_mut().insert(threads, session);
        let output = work.output();
        Tensor::from_f64(output.dtype, &output.shape, &reply.output)
    }

    fn prepare(&self, work: &Work, threads: usize, data: Data) -> Result<Prepared> {
        let mut session = self.session(work, threads)?;
        let kernel = format!("{}; {}", self.kernel, session.about);
        let sets = data.sets.max(1);
        let _: Value =
            session.ask(json!({"op": "prepare", "work": work, "sets": sets, "seed": data.seed}))?;
        let contestant = Contestant::self_timed(self.name, move |repeat, min_seconds| {
            let timed: Timed =
                session.ask(json!({"op": "time", "repeat": repeat, "min_seconds": min_seconds}))?;
            Ok(Measurement { seconds: timed.seconds, inner_repeats: timed.inner_repeats })
        });
        Ok(Prepared { contestant, kernel })
    }
}

#[derive(Deserialize)]
struct Hello {
    about: String,
}

#[derive(Deserialize)]
struct Evaluated {
    output: Vec<f64>,
}

#[derive(Deserialize)]
struct Timed {
    seconds: f64,
    inner_repeats: u64,
}

/// A running child: one JSON object a line each way.
struct Session {
    name: &'static str,
    child: Child,
    requests: ChildStdin,
    replies: Receiver<std::io::Result<String>>,
    about: String,
}

/// Importing a framework and compiling a problem take tens of seconds on a loaded machine; past this it hangs.
const PATIENCE: Duration = Duration::from_secs(180);

impl Session {
    fn start(framework: &Framework, threads: usize) -> Result<Session> {
        const WORKER: &str = include_str!("../../../../bench/peers/worker.py");
        let mut command = Command::new(&framework.python);
        command.args(["-u", "-c", WORKER, framework.name, &threads.to_string()]);
        for (name, value) in environment::IDLE {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().map_err(
                |e| fault(framework.name, format!("cannot start {}: {e}", framework.python.display())),
            )?;
        let (requests, replies) = child.stdin.take().zip(child.stdout.take()).ok_or_else(|| {
            // Both were asked for above, so this is the standard library's breach.
            fault(framework.name, "the child has no pipes")
        })?;
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(replies).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut session =
            Session { name: framework.name, child, requests, replies: receiver, about: String::new() };
        let hello: Hello = session.ask(json!({"op": "hello"}))?;
        session.about = hello.about;
        Ok(session)
    }

    fn ask<T: for<'a> Deserialize<'a>>(&mut self, request: Value) -> Result<T> {
        let sent = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        let line = match (sent, self.replies.recv_timeout(PATIENCE)) {
            (Ok(()), Ok(Ok(line))) => line,
            (_, Err(RecvTimeoutError::Timeout)) => {
                return Err(fault(self.name, format!("no answer in {} s", PATIENCE.as_secs())));
            }
            _ => {
                let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
                return Err(fault(self.name, format!("the worker ended ({status})")));
            }
        };
        let reply: Value = serde_json::from_str(&line)
            .map_err(|e| fault(self.name, format!("the worker answered {line:?}: {e}")))?;
        if let Some(error) = reply.get("error").and_then(Value::as_str) {
            return Err(Diagnostic::tool("peer/failed", format!("{}: {error}", self.name)));
        }
        serde_json::from_value(reply)
            .map_err(|e| fault(self.name, format!("the worker answered {line:?}: {e}")))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Either may fail because the child is gone already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Mutex;

    use tilewright_dtype::DType;

    use super::*;

    /// While one test writes its script, another must not fork: the copy of the open file would make it "busy".
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    /// A framework whose interpreter is a shell script.
    fn scripted(name: &str, script: &str) -> (Framework, PathBuf) {
        let file = std::env::temp_dir().join(format!("tilewright-worker-{}-{name}", std::process::id()));
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("writes");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("may run");
        let framework = Framework {
            name: "torch",
            python: file.clone(),
            version: String::new(),
            kernel: String::new(),
            idle: RefCell::default(),
        };
        (framework, file)
    }

    #[test]
    fn a_worker_that_dies_babbles_or_refuses_is_reported() {
        let _alone = ONE_AT_A_TIME.lock();
        let work = Work::Softmax { rows: 1, cols: 1, dtype: DType::F32 };
        let cases = [
            ("dies", "exit 7", "exit status: 7"),
            ("babbles", "echo hello; cat >/dev/null", "answered \"hello\""),
            ("refuses", r#"echo '{"error": "no module"}'; cat >/dev/null"#, "no module"),
            ("half", r#"echo '{"about": "x"}'; read a; read b; exit 3"#, "exit status: 3"),
        ];
        for (name, script, expected) in cases {
            let (framework, file) = scripted(name, script);
            let data = Data { seed: 1, sets: 1 };
            let fault = framework.prepare(&work, 1, data).err().expect("fails");
            fs::remove_file(file).expect("clean up");
            assert_eq!((fault.code, fault.class.exit_status()), ("peer/failed", 3), "{name}");
            assert!(fault.message.contains(expected), "{name}: {}", fault.message);
        }
    }

    #[test]
    fn a_worker_that_answers_is_timed() {
        let _alone = ONE_AT_A_TIME.lock();
        let script = r#"read a; echo '{"about": "x"}'; read a; echo '{}'; while read a; do
            echo '{"seconds": 0.25, "inner_repeats": 3}'; done"#;
        let (framework, file) = scripted("answers", script);
        let work = Work::Softmax { rows: 1, cols: 1, dtype: DType::F32 };
        let prepared = framework.prepare(&work, 1, Data { seed: 1, sets: 1 }).expect("prepares");
        fs::remove_file(file).expect("clean up");
        assert!(prepared.kernel.ends_with("; x"));
        let plan = crate::timing::Plan { max_rounds: 2, min_rounds: 2, ..Default::default() };
        let series = &crate::timing::interleave(&mut [prepared.contestant], &plan)[0];
        assert_eq!((series.seconds.as_slice(), series.inner_repeats), ([0.25, 0.25].as_slice(), 3));
    }
}
