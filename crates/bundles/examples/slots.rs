//! Reads every listing of folders of dumps, holds slot counts to the vendor's table, and prints what it does not know.
#![allow(clippy::print_stdout, missing_docs, reason = "an example")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use tilewright_bundles::ops::Slot;
use tilewright_bundles::{parse, utilization};
use tilewright_hw::Chip;

fn main() {
    let (mut bytes, mut bundles, mut instrs, mut seconds) = (0, 0, 0, 0.0);
    let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
    let mut wrong: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for folder in std::env::args().skip(1).map(PathBuf::from) {
        let name = folder.file_name().and_then(|n| n.to_str()).unwrap_or("").to_owned();
        let Ok(chip) = Chip::parse(name.rsplit('.').next().unwrap_or("")) else { continue };
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let file = path.to_string_lossy().into_owned();
            if !file.ends_with("final_bundles.txt") || file.contains("schedule-analysis") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            bytes += text.len();
            let start = Instant::now();
            let listing = match parse(text, &file, chip) {
                Ok(l) => l,
                Err(e) => {
                    println!("{e}");
                    continue;
                }
            };
            seconds += start.elapsed().as_secs_f64();
            bundles += listing.bundles.len();
            instrs += listing.instrs.len();
            for u in &listing.unknown {
                *unknown.entry(u.name.clone()).or_default() += u.count;
            }
            for n in &listing.unknown_notes {
                *unknown.entry(format!("note {}", n.1)).or_default() += 1;
            }
            let table =
                std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|e| e.path()).find(|p| {
                    let stem = |s: &str| {
                        s.rsplit_once("-final_").map(|x| x.0.rsplit_once('-').map_or("", |y| y.0).to_owned())
                    };
                    p.to_string_lossy().ends_with("final_hlo-static-per-bundle-utilization.txt")
                        && stem(&p.to_string_lossy()) == stem(&file)
                });
            let Some(table) = table else { continue };
            let table_text = std::fs::read_to_string(&table).unwrap_or_default();
            match utilization::parse(&table_text, &table.to_string_lossy()) {
                Err(e) => println!("{e}"),
                Ok(u) => {
                    if u.rows.len() != listing.bundles.len() {
                        println!("{file}: {} rows, {} bundles", u.rows.len(), listing.bundles.len());
                    }
                    for (b, row) in listing.bundles.iter().zip(&u.rows) {
                        let mut mine = [0u16; 11];
                        for i in listing.of(b) {
                            let Some(f) = listing.entry(i) else { continue };
                            let column = match f.slot {
                                Slot::Matmul => 0,
                                Slot::Matpush => 1,
                                Slot::Xlu => 2,
                                Slot::Valu => 3,
                                Slot::Vpop => 4,
                                Slot::Eup => 5,
                                Slot::Vload => 6,
                                Slot::Vstore => 8,
                                Slot::Salu => 10,
                                _ => continue,
                            };
                            mine[column] += 1;
                        }
                        for c in [0, 1, 2, 3, 4, 5, 6, 8, 10] {
                            let extra = if c == 6 || c == 8 { row[c + 1] } else { 0 };
                            if mine[c] != row[c] + extra && mine[c] != row[c] {
                                let names: Vec<&str> =
                                    listing.of(b).iter().map(|i| listing.name(i)).collect();
                                let key = format!(
                                    "{} {} mine {} theirs {}+{}",
                                    chip.name(),
                                    utilization::COLUMNS[c],
                                    mine[c],
                                    row[c],
                                    extra
                                );
                                wrong.entry(key).or_insert((0, names.join(" "))).0 += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    for (name, count) in unknown {
        println!("unknown {count} {name}");
    }
    for (key, (count, names)) in wrong {
        println!("{count} {key}: {}", names.chars().take(200).collect::<String>());
    }
    println!(
        "{bytes} bytes, {bundles} bundles, {instrs} instructions, {:.0} MB/s",
        bytes as f64 / seconds / 1e6
    );
}
