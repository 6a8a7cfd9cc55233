//! The figures as a section of a guide.

use std::fmt::Write as _;
use std::path::Path;

use super::service::NODES;
use crate::any_result::AnyResult;

/// The section, whose text is replaced up to the next heading.
const HEADING: &str = "### A growing table on three nodes\n";
const MIB: u64 = 1024 * 1024;

/// Of a table of so many rows.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) rows: usize,
    pub(super) inserted_per_second: f64,
    /// At its start, in the middle and at its end.
    pub(super) page_ms: [f64; 3],
    pub(super) view_first_ms: f64,
    pub(super) view_again_ms: f64,
    pub(super) database_bytes: u64,
    /// Of each node.
    pub(super) memory_bytes: Vec<u64>,
}

#[derive(Debug)]
pub(super) struct Run {
    pub(super) cells: usize,
    pub(super) trigger_ms: f64,
    pub(super) per_second: f64,
    pub(super) memory_bytes: Vec<u64>,
}

pub(super) fn section(about: &str, all: &[Figures], run: &Run) -> String {
    let mut text = format!(
        "\n`cargo xtask bench --only scale --rows {}` writes this section: {NODES} nodes behind HAProxy, PgBouncer in session\n\
         mode between them and PostgreSQL, one table with ten text columns, four clients. All of them, the clients included, \
         shared\none machine with {} CPU cores. {about}.\n\n\
         | Rows | Inserted per second | Page at the start, middle, end | View, first time | View, then | Database | Memory of each node |\n\
         |---:|---:|---:|---:|---:|---:|---:|\n",
        all.last().map_or(0, |figures| figures.rows),
        std::thread::available_parallelism().map_or(1, usize::from),
    );
    for figures in all {
        let Figures {
            rows,
            inserted_per_second,
            page_ms: [start, middle, end],
            view_first_ms,
            view_again_ms,
            database_bytes,
            memory_bytes,
        } = figures;
        let _ = writeln!(
            text,
            "| {} | {} | {start:.0}, {middle:.0}, {end:.0} ms | {view_first_ms:.0} ms | {view_again_ms:.0} ms | {} MB | {} |",
            grouped(*rows),
            whole(*inserted_per_second),
            grouped_u64(database_bytes / MIB),
            memory(memory_bytes),
        );
    }
    let Run { cells, trigger_ms, per_second, memory_bytes } = run;
    let _ = writeln!(
        text,
        "\nA run of {} cells, each a call to a server that answers at once: {} cells per second; the answer to `trigger` came \
         after\n{trigger_ms:.0} ms. Afterwards the nodes had {}.",
        grouped(*cells),
        whole(*per_second),
        memory(memory_bytes),
    );
    text
}

/// Prints the section, and puts it into the guide if one is named.
pub(super) fn write(page: Option<&Path>, text: &str) -> AnyResult {
    eprintln!("{text}");
    let Some(page) = page else { return Ok(()) };
    let guide = std::fs::read_to_string(page)?;
    let replaced = replaced(&guide, text)
        .ok_or_else(|| format!("{} has no section `{}`", page.display(), HEADING.trim()))?;
    Ok(std::fs::write(page, replaced)?)
}

fn replaced(guide: &str, text: &str) -> Option<String> {
    let (before, rest) = guide.split_once(HEADING)?;
    let rest =
        rest.find("\n## ").into_iter().chain(rest.find("\n### ")).min().and_then(|end| rest.get(end..));
    Some(format!("{before}{HEADING}{text}{}", rest.unwrap_or_default()))
}

fn memory(bytes: &[u64]) -> String {
    let each: Vec<String> = bytes.iter().map(|bytes| grouped_u64(bytes / MIB)).collect();
    format!("{} MB", each.join(", "))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is neither huge nor negative"
)]
fn whole(figure: f64) -> String {
    grouped_u64(figure.round() as u64)
}

fn grouped(number: usize) -> String {
    grouped_u64(u64::try_from(number).unwrap_or(u64::MAX))
}

/// 1,234,567
fn grouped_u64(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_nothing_else() {
        let guide = format!("# A\n\n## B\n\n{HEADING}\nold\n\n## C\n\nend\n");
        assert_eq!(
            replaced(&guide, "\nnew\n").unwrap(),
            format!("# A\n\n## B\n\n{HEADING}\nnew\n\n## C\n\nend\n")
        );
        assert_eq!(replaced(&format!("{HEADING}old\n"), "\nnew\n").unwrap(), format!("{HEADING}\nnew\n"));
        assert_eq!(replaced("# A\n", "new"), None);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 12_345_678].map(grouped_u64), ["0", "999", "1,000", "12,345,678"]);
    }
}
