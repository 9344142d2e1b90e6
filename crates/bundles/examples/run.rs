//! Executes the scalar side of every listing of folders of dumps and prints bundle counts and speed.
#![allow(clippy::print_stdout, missing_docs, reason = "an example")]
use std::path::PathBuf;
use std::time::Instant;
use tilewright_bundles::exec::{Inputs, execute};
use tilewright_bundles::observe::Nothing;
use tilewright_bundles::parse;
use tilewright_bundles::program::{Placement, Program, Shadow};
use tilewright_hw::Chip;

fn main() {
    for folder in std::env::args().skip(1).map(PathBuf::from) {
        let name = folder.file_name().and_then(|n| n.to_str()).unwrap_or("").to_owned();
        let Ok(chip) = Chip::parse(name.rsplit('.').next().unwrap_or("")) else { continue };
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let file = path.to_string_lossy().into_owned();
            if !file.ends_with("final_bundles.txt")
                || file.contains("schedule-analysis")
                || file.contains("TLP")
                || file.contains("-<late")
            {
                continue;
            }
            let Ok(listing) = parse(std::fs::read_to_string(&path).unwrap_or_default(), &file, chip) else {
                continue;
            };
            for shadow in [Shadow::Fixed(4), Shadow::Marks] {
                if chip != Chip::Tpu7x && shadow == Shadow::Marks {
                    continue;
                }
                let program = match Program::new(&listing, shadow, &Placement::default()) {
                    Ok(p) => p,
                    Err(e) => {
                        println!("{e}");
                        continue;
                    }
                };
                let start = Instant::now();
                match execute(&listing, &program, &Inputs::unknown(100_000_000), &mut Nothing) {
                    Ok(o) => {
                        let s = start.elapsed().as_secs_f64();
                        println!(
                            "{name} {} {shadow:?}: {} bundles {:.1} M/s, read {} written {} assumed {} br {} halts {}/{}",
                            listing.hlo.as_deref().unwrap_or("").split(' ').next().unwrap_or(""),
                            o.bundles,
                            o.bundles as f64 / s / 1e6,
                            o.hbm_read,
                            o.hbm_written,
                            o.assumptions.len(),
                            o.assumed_branches,
                            o.failed_checks,
                            o.certain_failed_checks
                        );
                    }
                    Err(e) => println!("{name} {e}"),
                }
            }
        }
    }
}
