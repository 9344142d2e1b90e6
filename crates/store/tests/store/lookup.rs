use proptest::prelude::*;
use tilewright_store::{BenchRecord, CheckRecord, Outcome, Peer, Query, Record, Store, TuneRecord, Verdict};

use crate::{open, problem, tune};

const KEY: &str = "m=64 n=64";

fn fresh() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("some/new/folder/store.db"));
    (folder, store)
}

fn here() -> Query {
    Query::of("matmul", &problem(KEY), "cpu", "box")
}

fn best_bm(store: &Store, query: &Query) -> Option<i64> {
    store.best(query).unwrap().value.map(|b| b.record.config["bm"])
}

#[test]
fn the_best_is_the_fastest_that_was_checked_and_measured() {
    let (_folder, store) = fresh();
    assert_eq!(best_bm(&store, &here()), None);
    for record in [
        tune(KEY, 1, 3e-3),
        tune(KEY, 2, 2e-3),
        TuneRecord { checked: false, ..tune(KEY, 3, 1e-3) },
        TuneRecord { outcome: Outcome::Wrong { detail: "o[0]".into() }, ..tune(KEY, 4, 1e-3) },
        TuneRecord { seconds: None, outcome: Outcome::Hung, ..tune(KEY, 5, 1e-3) },
        TuneRecord { kernel: "softmax".into(), ..tune(KEY, 6, 1e-3) },
        TuneRecord { target: "tpu-v5e".into(), ..tune(KEY, 7, 1e-3) },
        TuneRecord { machine: "other".into(), ..tune(KEY, 8, 1e-3) },
        tune("m=64 n=65", 9, 1e-3),
    ] {
        store.put_tune(&record).unwrap();
    }
    assert_eq!(best_bm(&store, &here()), Some(2));
}

#[test]
fn a_query_narrows_by_provenance() {
    let (_folder, store) = fresh();
    let mut newer = tune(KEY, 2, 2e-3);
    newer.provenance.versions.insert("tilewright".into(), "0.2.0".into());
    newer.provenance.compiler = "clang 20".into();
    newer.provenance.threads = 8;
    newer.batch_invariant = Some(true);
    for record in
        [&tune(KEY, 1, 1e-3), &newer, &TuneRecord { batch_invariant: Some(false), ..tune(KEY, 3, 1e-3) }]
    {
        store.put_tune(record).unwrap();
    }
    for narrow in [
        here().version("tilewright", "0.2.0"),
        here().compiler("clang 20"),
        here().threads(8),
        here().batch_invariant(),
        here().ir_hash("ir2"),
        here().code_hash("code2"),
    ] {
        assert_eq!(best_bm(&store, &narrow), Some(2), "{narrow:?}");
    }
    assert_eq!(best_bm(&store, &here()), Some(1));
    assert_eq!(best_bm(&store, &here().version("driver", "1")), None);
    assert_eq!(store.tunes(&here().since(2)).unwrap().value.len(), 2);
}

#[test]
fn the_nearest_problem_gives_its_fastest() {
    let (_folder, store) = fresh();
    for (key, bm, seconds) in
        [("m=10", 1, 1e-3), ("m=100", 2, 5e-3), ("m=100", 3, 4e-3), ("m=100 ta=1", 4, 1e-9)]
    {
        store.put_tune(&tune(key, bm, seconds)).unwrap();
    }
    store.put_tune(&TuneRecord { checked: false, ..tune("m=90", 5, 1e-9) }).unwrap();
    let distance_to = |m: f64| {
        move |p: &tilewright_store::Problem| {
            if p.get("ta").is_some() {
                return None;
            }
            p.get("m")?.parse::<f64>().ok().map(|other| (other / m).ln().abs())
        }
    };
    let query = Query::new().kernel("matmul").target("cpu").machine("box");
    let near = |m| store.nearest(&query, distance_to(m)).unwrap().value.unwrap();
    assert_eq!(near(90.0).stored.record.config["bm"], 3);
    assert!((near(90.0).distance - (100f64 / 90.0).ln()).abs() < 1e-12);
    assert_eq!(near(11.0).stored.record.config["bm"], 1);
    assert_eq!(store.nearest(&query, |_| Some(f64::NAN)).unwrap().value, None);
    assert_eq!(store.nearest(&query.kernel("softmax"), distance_to(1.0)).unwrap().value, None);
}

#[test]
fn a_resumed_search_knows_what_was_tried() {
    let (_folder, store) = fresh();
    let rejected = Outcome::Rejected { reason: "block too large".into() };
    for record in [
        tune(KEY, 1, 1e-3),
        TuneRecord { outcome: rejected.clone(), seconds: None, checked: false, ..tune(KEY, 2, 1.0) },
        TuneRecord {
            outcome: Outcome::Pruned { reason: "model".into() },
            seconds: None,
            ..tune(KEY, 3, 1.0)
        },
        tune("m=1", 4, 1e-3),
    ] {
        store.put_tune(&record).unwrap();
    }
    let mut again = tune(KEY, 1, 9e-4);
    again.provenance.created = 10;
    store.put_tune(&again).unwrap();

    let tried = store.measured_configs(&here()).unwrap().value;
    assert_eq!(tried.keys().map(|c| c["bm"]).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(tried[&again.config].record.seconds, Some(9e-4));
    assert_eq!(tried.values().nth(1).unwrap().record.outcome, rejected);
    assert_eq!(store.measured_configs(&here().code_hash("code2")).unwrap().value.len(), 1);
}

#[test]
fn history_is_every_kind_in_order_of_time() {
    let (_folder, store) = fresh();
    let t = tune(KEY, 30, 1e-3);
    let at = |created| tilewright_store::Provenance { created, ..t.provenance.clone() };
    let bench = BenchRecord {
        kernel: "matmul".into(),
        problem: problem(KEY),
        target: "cpu".into(),
        config: t.config.clone(),
        seconds: 0.1 + 0.2,
        ci: (0.3, 0.31),
        flops: 2.0 * 64f64.powi(3),
        bytes: 3.0 * 64.0 * 64.0 * 4.0,
        peers: [("openblas".to_owned(), Peer { seconds: 1e-3, ratio: 1.0 / 3.0 })].into(),
        provenance: at(20),
    };
    let check = CheckRecord {
        kernel: "matmul".into(),
        problem: problem(KEY),
        target: "cpu".into(),
        config: t.config.clone(),
        verdict: Verdict::Failed,
        cases: 12,
        worst: serde_json::json!({"case": "tails", "index": [3, 4], "value": 0.1, "reference": 1e-300}),
        provenance: at(10),
    };
    let id = store.put_tune(&t).unwrap();
    store.put_bench(&bench).unwrap();
    store.put_check(&check).unwrap();

    let history = store.history(&Query::new().kernel("matmul")).unwrap();
    assert!(history.torn.is_empty());
    let records: Vec<Record> = history.value.into_iter().map(|s| s.record).collect();
    assert_eq!(
        records,
        [Record::Check(check.clone()), Record::Bench(bench.clone()), Record::Tune(t.clone())],
    );
    assert_eq!(store.benches(&here()).unwrap().value[0].record, bench);
    assert_eq!(store.checks(&here()).unwrap().value[0].record, check);
    assert_eq!(store.record(id).unwrap(), Record::Tune(t));
    assert_eq!(store.record(99).unwrap_err().code, "store/unknown-record");
}

#[test]
fn what_could_not_be_read_back_is_not_kept() {
    let (_folder, store) = fresh();
    for bad in [
        tune(KEY, 1, f64::NAN),
        tune(KEY, 1, f64::INFINITY),
        tune(KEY, 1, 0.0),
        tune(KEY, 1, -1.0),
        TuneRecord { seconds: None, ..tune(KEY, 1, 1.0) },
        TuneRecord { estimate: Some(f64::NAN), ..tune(KEY, 1, 1.0) },
        TuneRecord { machine: String::new(), ..tune(KEY, 1, 1.0) },
    ] {
        assert_eq!(store.put_tune(&bad).unwrap_err().code, "store/bad-record", "{bad:?}");
    }
    assert!(store.history(&Query::new()).unwrap().value.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_record_comes_back_bit_for_bit(
        seconds in prop::num::f64::POSITIVE | prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL,
        text in ".{0,40}",
        created in any::<i64>(),
        bm in any::<i64>(),
    ) {
        let (_folder, store) = fresh();
        let mut record = tune(KEY, bm, seconds);
        record.estimate = None;
        record.outcome = Outcome::Crashed { detail: text.clone() };
        record.provenance.compiler = text;
        record.provenance.created = created;
        store.put_tune(&record).unwrap();
        let read = store.tunes(&here()).unwrap();
        prop_assert!(read.torn.is_empty());
        prop_assert_eq!(read.value[0].record.seconds.map(f64::to_bits), Some(seconds.to_bits()));
        prop_assert_eq!(&read.value[0].record, &record);
    }
}
