use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tilewright_store::{Query, TuneRecord};

use crate::{open, tune};

/// Makes `child_writer` write: `PATH|NAME|COUNT`.
const ORDERS: &str = "TILEWRIGHT_STORE_TEST_CHILD";

/// No test by itself: what the children run, which are this very program. Prints each record's number once it is kept.
#[test]
fn child_writer() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let [path, name, count] = orders.split('|').collect::<Vec<_>>().try_into().unwrap();
    let store = open(Path::new(path));
    for i in 0..count.parse().unwrap() {
        store.put_tune(&numbered(name, i)).unwrap();
        println!("kept {i}");
    }
}

#[test]
fn two_processes_and_a_thread_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let children = [spawn(&path, "one", 500), spawn(&path, "two", 500)];
    let store = open(&path);
    for i in 0..500 {
        store.put_tune(&numbered("three", i)).unwrap();
    }
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    for name in ["one", "two", "three"] {
        let read = store.tunes(&Query::new().machine(name)).unwrap();
        assert_eq!(read.torn, []);
        assert!(read.value.into_iter().map(|s| s.record).eq((0..500).map(|i| numbered(name, i))), "{name}");
    }
}

#[test]
fn a_killed_writer_leaves_whole_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    for kept_before_the_kill in [1, 40, 97] {
        let name = format!("killed{kept_before_the_kill}");
        let mut child = spawn(&path, &name, i64::MAX);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut kept = lines.by_ref().filter(|l| l.contains("kept ")).take(kept_before_the_kill).count();
        // SIGKILL, in the middle of whatever it does.
        child.kill().unwrap();
        child.wait().unwrap();
        kept += lines.filter(|l| l.contains("kept ")).count();

        let store = open(&path);
        let read = store.tunes(&Query::new().machine(&name)).unwrap();
        assert_eq!(read.torn, []);
        let found = read.value.len();
        // One more may have been kept and not yet said.
        assert!((kept..=kept + 1).contains(&found), "{kept} said, {found} found");
        assert!(read.value.into_iter().map(|s| s.record).eq((0..found as i64).map(|i| numbered(&name, i))));
    }
}

#[test]
fn many_may_create_the_store_at_once() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/store.db");
        std::thread::scope(|scope| {
            for i in 0..8 {
                let path = &path;
                scope.spawn(move || open(path).put_tune(&numbered("here", i)).unwrap());
            }
        });
        assert_eq!(open(&path).tunes(&Query::new()).unwrap().value.len(), 8);
    }
}

#[test]
fn a_reader_sees_a_writer_that_is_still_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (writer, reader) = (open(&path), open(&path));
    writer.put_tune(&numbered("here", 0)).unwrap();
    assert_eq!(reader.tunes(&Query::new()).unwrap().value.len(), 1);
}

/// Record `i` of the writer `name`, which is its machine.
fn numbered(name: &str, i: i64) -> TuneRecord {
    TuneRecord { machine: name.into(), ..tune("m=64 n=64", i, 1e-3 + i as f64) }
}

fn spawn(path: &Path, name: &str, count: i64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child_writer", "--nocapture"])
        .env(ORDERS, format!("{}|{name}|{count}", path.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
