//! The vendor's count of slots a bundle, `*-final_hlo-static-per-bundle-utilization.txt`.

use tilewright_diag::{Diagnostic, Result, Span};

/// Columns of the table, in order.
pub const COLUMNS: [&str; 11] = [
    "MATMUL",
    "MATPUSH",
    "XLU",
    "VALU",
    "VPOP",
    "EUP",
    "VLOAD",
    "VLOAD:FILL",
    "VSTORE",
    "VSTORE:SPILL",
    "SALU",
];

/// The table: capacities, then one row a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Utilization {
    /// Slots of a bundle, a column each.
    pub capacity: [u16; 11],
    /// Slots that each bundle fills.
    pub rows: Vec<[u16; 11]>,
}

/// Reads the table.
pub fn parse(text: &str, file: &str) -> Result<Utilization> {
    let fault = |line: usize, what: &str| {
        Diagnostic::request("tpu/bad-utilization", what)
            .at(Span::new(file, line as u32 + 1, 0))
            .rule("a table has a line of columns, a line of capacities and a row of 11 counts a bundle")
    };
    let mut out = Utilization::default();
    let mut lines = text.lines().enumerate();
    let header =
        lines.find(|(_, l)| l.starts_with("MATMUL,")).ok_or_else(|| fault(0, "no line of columns"))?;
    if !header.1.split(',').map(str::trim).eq(COLUMNS) {
        return Err(fault(header.0, "the columns are not the known ones"));
    }
    let row = |n: usize, line: &str| -> Result<[u16; 11]> {
        let counts: Option<Vec<u16>> = line.split_whitespace().map(|w| w.parse().ok()).collect();
        counts.and_then(|c| c.try_into().ok()).ok_or_else(|| fault(n, "not a row of 11 counts"))
    };
    let (n, line) = lines.next().ok_or_else(|| fault(header.0, "no line of capacities"))?;
    out.capacity = row(n, line)?;
    for (n, line) in lines.filter(|(_, l)| !l.trim().is_empty() && !l.starts_with("==")) {
        out.rows.push(row(n, line)?);
    }
    Ok(out)
}
