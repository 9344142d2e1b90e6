//! Child processes under a time limit: compilers, peers, tuning candidates.
#![allow(unsafe_code, reason = "`Command::pre_exec` asks the kernel to end the child with its parent")]

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use tilewright_diag::{Diagnostic, Result};

/// How a child process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildStatus {
    /// It exited with this code.
    Exited(i32),
    /// A signal of this name ended it, e.g. `SIGSEGV`.
    Signalled(String),
    /// It outlived its limit and was killed, with every process of its group.
    TimedOut,
}

impl std::fmt::Display for ChildStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ChildStatus::Exited(code) => write!(f, "exit status {code}"),
            ChildStatus::Signalled(name) => write!(f, "{name}"),
            ChildStatus::TimedOut => write!(f, "time limit"),
        }
    }
}

/// What a child process left behind.
#[derive(Clone, Debug)]
pub struct ChildOutput {
    /// How it ended.
    pub status: ChildStatus,
    /// What it wrote to standard output: at most [`CAPTURE_LIMIT`] bytes, the middle cut out of anything longer.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error, cut likewise.
    pub stderr: Vec<u8>,
    /// From before the start to after the end.
    pub wall: Duration,
}

impl ChildOutput {
    /// Standard output as text; bytes that are not UTF-8 are replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text; bytes that are not UTF-8 are replaced.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// The most bytes kept of either output stream: the first half and the last half. The rest is read and dropped, so that
/// a talkative child neither blocks nor fills memory.
pub const CAPTURE_LIMIT: usize = 64 << 20;

/// Runs `command` to its end or to `limit`, feeding it `stdin` and reading both outputs at the same time.
///
/// The child leads a process group of its own; whatever is left of the group when the child ends, or when the limit
/// passes, is killed. The child also ends when the calling thread does, so an interrupted run leaves nothing behind.
///
/// Errors: `run/spawn-failed` where the program cannot be started, `run/child-io` where the system fails (class tool).
pub fn run_child(mut command: Command, stdin: &[u8], limit: Duration) -> Result<ChildOutput> {
    let start = Instant::now();
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(if stdin.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let die_with_parent =
        || rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from);
    // SAFETY: the closure runs between fork and exec; it makes one system call, allocates nothing and takes no lock.
    unsafe { command.pre_exec(die_with_parent) };
    let mut child = command
        .spawn()
        .map_err(|e| Diagnostic::tool("run/spawn-failed", format!("cannot start `{program}`: {e}")))?;
    let pid = Pid::from_child(&child);
    let mut streams = match Streams::new(&mut child, stdin) {
        Ok(streams) => streams,
        Err(e) => return Err(child_io(&program, end(child, pid).err().unwrap_or(e))),
    };
    let supervised = streams.supervise(pid, start, limit);
    let status = end(child, pid);
    streams.drain();
    let ended_in_time = supervised.map_err(|e| child_io(&program, e))?;
    let status = status.map_err(|e| child_io(&program, e))?;
    Ok(ChildOutput {
        status: if ended_in_time { describe(status) } else { ChildStatus::TimedOut },
        stdout: streams.stdout.capture.into_bytes(),
        stderr: streams.stderr.capture.into_bytes(),
        wall: start.elapsed(),
    })
}

/// Runs `command` to its end or to `limit`, its output streams being this process's own and its input empty. It stays in
/// this process's group, so that what interrupts the one interrupts the other, and ends with the calling thread.
///
/// Errors: as [`run_child`].
pub fn run_attached(mut command: Command, limit: Duration) -> Result<ChildStatus> {
    let start = Instant::now();
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null());
    let die_with_parent =
        || rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from);
    // SAFETY: as in `run_child`.
    unsafe { command.pre_exec(die_with_parent) };
    let mut child = command
        .spawn()
        .map_err(|e| Diagnostic::tool("run/spawn-failed", format!("cannot start `{program}`: {e}")))?;
    let pid = Pid::from_child(&child);
    let mut streams =
        Streams { stdin: None, rest: &[], stdout: Output::new(None), stderr: Output::new(None) };
    let ended_in_time = streams.supervise(pid, start, limit);
    if !matches!(ended_in_time, Ok(true)) {
        // Failure means that it has ended meanwhile.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|e| child_io(&program, e))?;
    let ended_in_time = ended_in_time.map_err(|e| child_io(&program, e))?;
    Ok(if ended_in_time { describe(status) } else { ChildStatus::TimedOut })
}

/// `SIGSEGV` for 11, and so on; `signal 40` for one without a common name. Linux numbering.
pub fn signal_name(number: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(number).ok().and_then(|n| NAMES.get(n.checked_sub(1)?));
    name.map_or_else(|| format!("signal {number}"), |name| format!("SIG{name}"))
}

fn child_io(program: &str, error: io::Error) -> Box<Diagnostic> {
    Diagnostic::tool("run/child-io", format!("lost touch with the child process `{program}`: {error}"))
}

fn describe(status: ExitStatus) -> ChildStatus {
    match (status.code(), status.signal()) {
        (Some(code), _) => ChildStatus::Exited(code),
        (None, Some(signal)) => ChildStatus::Signalled(signal_name(signal)),
        (None, None) => ChildStatus::Signalled("an unknown signal".into()),
    }
}

/// Kills what is left of the child's group, then reaps the child. The order matters: until it is reaped its process id,
/// which names the group, cannot be given to another.
fn end(mut child: Child, pid: Pid) -> io::Result<ExitStatus> {
    // Failure means that nothing is left to kill.
    let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    child.wait()
}

/// Whether the child has ended; it is left unreaped.
fn has_ended(pid: Pid) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(rustix::process::waitid(WaitId::Pid(pid), options)?.is_some())
}

struct Streams<'a> {
    stdin: Option<ChildStdin>,
    rest: &'a [u8],
    stdout: Output,
    stderr: Output,
}

impl<'a> Streams<'a> {
    fn new(child: &mut Child, stdin: &'a [u8]) -> io::Result<Self> {
        let streams = Streams {
            stdin: child.stdin.take(),
            rest: stdin,
            stdout: Output::new(child.stdout.take().map(Into::into)),
            stderr: Output::new(child.stderr.take().map(Into::into)),
        };
        let fds = [
            streams.stdin.as_ref().map(AsFd::as_fd),
            streams.stdout.pipe.as_ref().map(AsFd::as_fd),
            streams.stderr.pipe.as_ref().map(AsFd::as_fd),
        ];
        for fd in fds.into_iter().flatten() {
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        Ok(streams)
    }

    /// Serves the three streams until the child ends (true) or the limit passes (false).
    fn supervise(&mut self, pid: Pid, start: Instant, limit: Duration) -> io::Result<bool> {
        // Kernels before 5.3 have no descriptor for a process: the end is then noticed by looking every 2 ms.
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok();
        let longest_wait = if pidfd.is_some() { Duration::from_secs(3600) } else { Duration::from_millis(2) };
        loop {
            self.feed();
            self.drain();
            if has_ended(pid)? {
                return Ok(true);
            }
            let left = limit.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            self.wait(pidfd.as_ref(), left.min(longest_wait))?;
        }
    }

    fn wait(&self, pidfd: Option<&OwnedFd>, longest: Duration) -> io::Result<()> {
        let readable = [
            self.stdout.pipe.as_ref().map(AsFd::as_fd),
            self.stderr.pipe.as_ref().map(AsFd::as_fd),
            pidfd.map(AsFd::as_fd),
        ];
        let mut fds: Vec<PollFd<'_>> =
            readable.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        fds.extend(self.stdin.as_ref().map(|fd| PollFd::new(fd, PollFlags::OUT)));
        let timeout = Timespec {
            tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: longest.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn feed(&mut self) {
        while let Some(pipe) = &mut self.stdin {
            match pipe.write(self.rest) {
                Ok(n) if n < self.rest.len() => self.rest = &self.rest[n..],
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // Everything is written, or the child closed its end, which is its right.
                Ok(_) | Err(_) => self.stdin = None,
            }
        }
    }

    fn drain(&mut self) {
        self.stdout.drain();
        self.stderr.drain();
    }
}

struct Output {
    pipe: Option<std::fs::File>,
    capture: Capture,
}

impl Output {
    fn new(pipe: Option<OwnedFd>) -> Self {
        Output { pipe: pipe.map(Into::into), capture: Capture::default() }
    }

    /// Reads what is there. Bounded, so that an endless writer cannot keep the limit from being looked at.
    fn drain(&mut self) {
        let mut buffer = [0; 64 << 10];
        for _ in 0..32 {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(n) => self.capture.push(&buffer[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

#[derive(Default)]
struct Capture {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    dropped: usize,
}

impl Capture {
    fn push(&mut self, bytes: &[u8]) {
        let half = CAPTURE_LIMIT / 2;
        let (first, rest) = bytes.split_at(bytes.len().min(half - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(half);
        self.tail.drain(..excess);
        self.dropped += excess;
    }

    fn into_bytes(mut self) -> Vec<u8> {
        if self.dropped > 0 {
            self.head.extend_from_slice(format!("\n[{} bytes dropped]\n", self.dropped).as_bytes());
        }
        self.head.extend(self.tail);
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_and_the_code_come_back() {
        let out = run_child(sh("echo out; echo err >&2; exit 7"), &[], Duration::from_secs(10)).unwrap();
        assert_eq!(out.status, ChildStatus::Exited(7));
        assert_eq!((out.stdout_text().as_str(), out.stderr_text().as_str()), ("out\n", "err\n"));
    }

    #[test]
    fn more_than_a_pipe_holds_goes_through_in_both_directions() {
        let text = vec![b'x'; 3 << 20];
        let out = run_child(Command::new("/bin/cat"), &text, Duration::from_secs(20)).unwrap();
        assert_eq!(out.status, ChildStatus::Exited(0));
        assert!(out.stdout == text);
        // A child that does not read its input is no fault.
        let out = run_child(sh("exec 0<&-; echo done"), &text, Duration::from_secs(10)).unwrap();
        assert_eq!((out.status.clone(), out.stdout_text().as_str()), (ChildStatus::Exited(0), "done\n"));
    }

    #[test]
    fn the_limit_kills_the_whole_group() {
        let script = "sleep 61 & echo $!; wait";
        let out = run_child(sh(script), &[], Duration::from_millis(200)).unwrap();
        assert_eq!(out.status, ChildStatus::TimedOut);
        assert!(out.wall < Duration::from_secs(10), "{:?}", out.wall);
        let grandchild = out.stdout_text().trim().to_string();
        assert!(is_gone(&grandchild), "the background process {grandchild} still runs");
    }

    #[test]
    fn what_a_child_leaves_running_does_not_hold_the_caller() {
        let out = run_child(sh("sleep 62 & echo $!"), &[], Duration::from_secs(30)).unwrap();
        assert_eq!(out.status, ChildStatus::Exited(0));
        assert!(out.wall < Duration::from_secs(10), "{:?}", out.wall);
        assert!(is_gone(out.stdout_text().trim()));
    }

    #[test]
    fn signals_are_named() {
        let out = run_child(sh("kill -SEGV $$"), &[], Duration::from_secs(10)).unwrap();
        assert_eq!(out.status, ChildStatus::Signalled("SIGSEGV".into()));
        assert_eq!(
            (signal_name(6), signal_name(31), signal_name(40)),
            ("SIGABRT".into(), "SIGSYS".into(), "signal 40".into())
        );
    }

    #[test]
    fn a_program_that_is_not_there_is_a_diagnostic() {
        let d = run_child(Command::new("/nonexistent"), &[], Duration::from_secs(1)).unwrap_err();
        assert_eq!(d.code, "run/spawn-failed");
        assert!(d.message.contains("/nonexistent"));
    }

    #[test]
    fn a_flood_keeps_its_two_ends() {
        let mut capture = Capture::default();
        capture.push(b"first");
        for _ in 0..70 {
            capture.push(&vec![b'.'; 1 << 20]);
        }
        capture.push(b"last");
        let bytes = capture.into_bytes();
        assert!(bytes.len() < CAPTURE_LIMIT + 100);
        assert!(bytes.starts_with(b"first") && bytes.ends_with(b"last"));
    }

    /// A killed orphan is gone once whoever adopted it has reaped it; until then it is a zombie.
    fn is_gone(pid: &str) -> bool {
        for _ in 0..100 {
            match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
                Ok(stat) if !stat.contains(") Z") => std::thread::sleep(Duration::from_millis(10)),
                _ => return true,
            }
        }
        false
    }
}
