//! Lists the ops of dump folders with their arithmetic: `steps FOLDER…`.

use std::collections::BTreeMap;

use tilewright_diag::Result;
use tilewright_explain::Program;

fn main() -> Result<()> {
    for folder in std::env::args().skip(1) {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let texts = entries.filter_map(|e| {
            let name = e.file_name().into_string().ok()?;
            Some((name, std::fs::read_to_string(e.path()).ok()?))
        });
        let files: BTreeMap<String, String> = texts.collect();
        let program = match Program::of(&files, &folder) {
            Ok(program) => program,
            Err(d) => {
                println!("{d}");
                continue;
            }
        };
        let steps = program.steps();
        println!("{folder}: {} listings, {} steps", program.listings.len(), steps.len());
        for step in steps {
            let work = program.module.work(step.computation, step.instruction);
            let count = step.count.map_or("?".to_string(), |n| n.to_string());
            println!(
                "  {count} × {} ({}): {:.3e} FLOP",
                step.instruction.name,
                step.instruction.opcode,
                work.flops()
            );
        }
    }
    Ok(())
}
