//! Runs without the test harness, so that this executable can be its own isolated child.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test without the harness is still a test")]

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use tilewright_diag::Diagnostic;
use tilewright_run::isolate::{ChildOutcome, Isolated, serve};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == "isolated-job") {
        return child(&args[1]);
    }
    // What test runners ask of an executable before they run it.
    if args.iter().any(|a| a == "--list") {
        println!("isolate: test");
        return ExitCode::SUCCESS;
    }
    parent();
    println!("test isolate ... ok");
    ExitCode::SUCCESS
}

fn child(kind: &str) -> ExitCode {
    let served = serve(|job| match kind {
        "double" => Ok(json!({ "answer": job["n"].as_i64().unwrap() * 2 })),
        "abort" => {
            (0..100).for_each(|n| eprintln!("line {n}"));
            std::process::abort()
        }
        "sleep" => {
            std::thread::sleep(Duration::from_secs(60));
            Ok(json!(null))
        }
        "chatter" => {
            println!("not json");
            Ok(json!(1))
        }
        _ => Err(Diagnostic::request("test/unknown", "an unknown job")),
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(d) => {
            eprintln!("{d}");
            ExitCode::from(2)
        }
    }
}

fn parent() {
    let run =
        |kind: &str, limit| Isolated::new(&["isolated-job", kind]).spawn(&json!({ "n": 21 }), limit).unwrap();
    let long = Duration::from_secs(30);
    assert_eq!(run("double", long), ChildOutcome::Ok(json!({ "answer": 42 })));
    assert_eq!(run("sleep", Duration::from_millis(200)), ChildOutcome::Hung);
    assert!(matches!(run("chatter", long), ChildOutcome::BadOutput(text) if text.starts_with("not json")));
    let ChildOutcome::Crashed { status, stderr_tail } = run("abort", long) else { panic!("no crash") };
    assert_eq!(status, "SIGABRT");
    assert!(stderr_tail.ends_with("line 99") && !stderr_tail.contains("line 79\n"), "{stderr_tail}");
    let ChildOutcome::Crashed { status, stderr_tail } = run("other", long) else { panic!("no failure") };
    assert_eq!(status, "exit status 2");
    assert!(stderr_tail.contains("test/unknown"));
}
