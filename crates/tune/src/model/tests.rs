use super::*;
use tilewright_kernels::{Config, Problem, family};
use tilewright_measure::ceilings::{Cache, Host, Level as Measured, Peak};
use tilewright_measure::stats::Interval;

fn rate(median: f64) -> Rate {
    let ci = Interval { lo: median, hi: median, coverage: 0.95 };
    Rate { median, ci, best: median, n: 9 }
}

/// Four cores of 100 GFLOP/s; L1 of 32 KiB at 400 GB/s, L2 of 1 MiB at 100 GB/s, memory at 10 GB/s for each core.
fn machine() -> Ceilings {
    let level = |name: &str, capacity, bandwidth| Measured {
        name: name.into(),
        capacity,
        working_set: 0,
        read_one: rate(bandwidth),
        read_all: rate(bandwidth * 4.0),
        copy_one: rate(bandwidth),
        copy_all: rate(bandwidth * 4.0),
    };
    let peak = |class, each| Peak { class, isa: String::new(), one: rate(each), all: rate(each * 4.0) };
    Ceilings {
        host: Host {
            processor: "test".into(),
            threads: 4,
            caches: vec![
                Cache { level: 1, bytes: 32 << 10, shared_by: 1 },
                Cache { level: 2, bytes: 1 << 20, shared_by: 1 },
            ],
            caches_assumed: false,
            features: Vec::new(),
        },
        measured_at: 0,
        peaks: vec![peak(PeakClass::F32, 1e11), peak(PeakClass::Bf16, 2e11), peak(PeakClass::I8, 4e11)],
        levels: vec![
            level("L1", Some(32 << 10), 4e11),
            level("L2", Some(1 << 20), 1e11),
            level("memory", None, 1e10),
        ],
    }
}

fn estimate(words: &str, config: &str, threads: usize) -> Estimate {
    let mut words = words.split(' ');
    let family = family(words.next().unwrap()).unwrap();
    let words: Vec<&str> = words.collect();
    let problem = Problem::parse(family.name(), family.keys(), &words).unwrap();
    let program = family.build(&problem, &Config::parse(config).unwrap()).unwrap();
    let model = Model::new(&machine(), CpuFeatures::detect(), threads);
    model.estimate(&program, &family.work(&problem))
}

#[test]
fn a_large_product_is_bound_by_arithmetic_and_takes_a_little_more_than_that() {
    let e = estimate("matmul m=512 n=512 k=512", "bm=128,bn=256,bk=256,order=1", 1);
    let least = 2.0 * 512f64.powi(3) / 1e11;
    assert!(e.seconds >= least && e.seconds < 2.0 * least, "{e:?} against {least}");
    assert!(e.arithmetic > e.transfers.iter().map(|t| t.1).sum::<f64>(), "{e:?}");
    assert!((e.useful, e.balance) == (1.0, 1.0), "{e:?}");
}

#[test]
fn tails_and_idle_cores_cost() {
    let whole = estimate("matmul m=256 n=256 k=256", "bm=64,bn=256,bk=256,order=1", 4);
    let idle = estimate("matmul m=256 n=256 k=256", "bm=256,bn=256,bk=256,order=1", 4);
    assert_eq!((whole.balance, idle.balance), (1.0, 0.25));
    assert!(idle.seconds > 2.0 * whole.seconds, "{idle:?} {whole:?}");
    // 33 columns fill a second panel of which one column counts.
    let tails = estimate("matmul m=256 n=33 k=256", "bm=64,bn=33,bk=256,order=1", 1);
    assert!(tails.useful < 0.9, "{tails:?}");
}

#[test]
fn packing_thin_tiles_and_accumulators_that_spill_cost() {
    let seconds = |config| estimate("matmul m=1024 n=1024 k=1024", config, 1).seconds;
    let fair = seconds("bm=128,bn=256,bk=256,order=1");
    // Along the columns, panels of `b` are not kept: each cell packs its own.
    let thin = seconds("bm=16,bn=64,bk=128,order=2");
    let spilling = seconds("bm=1024,bn=1024,bk=16,order=1");
    assert!(thin > 1.3 * fair, "{thin} {fair}");
    assert!(spilling > 1.3 * fair, "{spilling} {fair}");
}

#[test]
fn a_cast_runs_at_the_speed_of_memory() {
    let e = estimate("cast rows=4096 cols=4096 from=f32 to=bf16", "br=16,bc=1024", 1);
    let bytes = 4096.0 * 4096.0 * (4.0 + 2.0);
    assert!(e.seconds > bytes / 1e10 && e.seconds < 2.5 * bytes / 1e10, "{e:?}");
    assert!(e.transfers.iter().all(|t| t.1 <= e.transfers[2].1), "{e:?}");
}

#[test]
fn a_second_pass_over_long_rows_reads_memory_again() {
    let words = "softmax rows=64 cols=1048576";
    let bytes = 64.0 * 1048576.0 * 4.0;
    let e = estimate(words, "br=1,bc=8192", 1);
    // Two reads, and a write that reads its lines first.
    let memory = e.transfers[2].1 * 1e10;
    assert!((memory / bytes - 4.0).abs() < 0.2, "{} times the array", memory / bytes);
    let short = estimate("softmax rows=65536 cols=1024", "br=4,bc=1024", 1).transfers[2].1 * 1e10;
    assert!((short / bytes - 3.0).abs() < 0.2, "{} times the array", short / bytes);
}

#[test]
fn tiles_that_leave_the_first_level_between_passes_cost() {
    let seconds = |config| estimate("softmax rows=4096 cols=1000", config, 1).seconds;
    assert!(seconds("br=128,bc=1000") > 1.1 * seconds("br=2,bc=1000"));
}

#[test]
fn causal_attention_costs_about_half() {
    let common = "attention batch=1 heads=4 kv_heads=4 q_len=1024 kv_len=1024 head_dim=64";
    let all = estimate(common, "bq=64,bk=128", 1).arithmetic;
    let causal = estimate(&format!("{common} causal"), "bq=64,bk=128", 1).arithmetic;
    assert!(causal < 0.7 * all && causal > 0.4 * all, "{causal} {all}");
}

#[test]
fn every_family_has_an_estimate_for_every_config() {
    let problems = [
        "matmul m=100 n=70 k=130 dtype=bf16 epilogue=bias+gelu",
        "matmul m=64 n=64 k=64 batch=3 dtype=u8",
        "softmax rows=64 cols=1000",
        "logsumexp rows=64 cols=1000",
        "cross_entropy rows=64 cols=1000",
        "rmsnorm rows=64 cols=1000 residual",
        "layernorm rows=64 cols=1000 dtype=bf16",
        "attention batch=2 heads=4 kv_heads=2 q_len=100 kv_len=130 head_dim=64 lengths",
        "decode_attention batch=2 heads=8 kv_heads=2 kv_len=1000 head_dim=64",
        "transpose rows=100 cols=70",
        "cast rows=100 cols=70 from=f32 to=bf16",
    ];
    let sizes = tilewright_kernels::Machine {
        lanes: 16,
        l1_bytes: 32 << 10,
        l2_bytes: 1 << 20,
        l3_bytes: 32 << 20,
        cores: 2,
    };
    for text in problems {
        let mut words = text.split(' ');
        let family = family(words.next().unwrap()).unwrap();
        let words: Vec<&str> = words.collect();
        let problem = Problem::parse(family.name(), family.keys(), &words).unwrap();
        let model = Model::new(&machine(), CpuFeatures::detect(), 2);
        for config in family.space(&problem, &sizes).configs {
            let e = model.estimate(&family.build(&problem, &config).unwrap(), &family.work(&problem));
            assert!(e.seconds.is_finite() && e.seconds > 1e-7 && e.seconds < 1.0, "{text} {config}: {e:?}");
            assert!(
                e.useful > 0.0 && e.useful <= 1.0 && e.balance > 0.0 && e.balance <= 1.0,
                "{text}: {e:?}"
            );
        }
    }
}
