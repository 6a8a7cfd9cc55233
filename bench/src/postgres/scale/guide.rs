//! The figures as a section of a guide.

use std::fmt::Write as _;
use std::path::Path;

use super::service::NODES;
use crate::any_result::AnyResult;
use crate::report::thousands;

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
         shared\none machine with {} CPU cores.\n{about}.\n\n\
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
            "| {} | {} | {start:.0}, {middle:.0}, {end:.0} ms | {} | {} | {} MB | {} |",
            thousands(*rows),
            whole(*inserted_per_second),
            time(*view_first_ms),
            time(*view_again_ms),
            mebibytes(*database_bytes),
            memory(memory_bytes),
        );
    }
    let Run { cells, trigger_ms, per_second, memory_bytes } = run;
    let _ = writeln!(
        text,
        "\nA run of {} cells, each a call to a server that answers at once: {} cells per second; the answer to `trigger` came \
         after\n{}. Afterwards the nodes had {}.",
        thousands(*cells),
        whole(*per_second),
        time(*trigger_ms),
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
    let each: Vec<String> = bytes.iter().copied().map(mebibytes).collect();
    format!("{} MB", each.join(", "))
}

fn mebibytes(bytes: u64) -> String {
    thousands(usize::try_from(bytes / MIB).unwrap_or(usize::MAX))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is neither huge nor negative"
)]
fn whole(figure: f64) -> String {
    thousands(figure.round() as usize)
}

/// In the unit that reads best.
fn time(milliseconds: f64) -> String {
    if milliseconds < 1_000.0 {
        format!("{milliseconds:.0} ms")
    } else {
        format!("{:.1} s", milliseconds / 1_000.0)
    }
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
    fn times_have_the_unit_that_reads_best() {
        assert_eq!([0.4, 999.4, 1_387.0].map(time), ["0 ms", "999 ms", "1.4 s"]);
    }
}
