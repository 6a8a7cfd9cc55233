//! The statements that read pages. Each finds a project, some of its rows and the blocks of these rows, all at one
//! moment, so that a page needs no transaction.
//!
//! Every statement returns five columns. A record without a position is the project's head: row count, next position
//! and change sequence. A record without an id is a block: its number and its marks. All others are rows: position,
//! id, values, details and what is stored apart of them (`rowmill.wide_of`).

use std::sync::LazyLock;

use crate::wide_values::{wide_bytes_sql, wide_sql};

/// Which rows of a project a statement reads.
struct PageSql<'a> {
    /// Common table expressions after that of the project, each with a comma before it.
    ctes: &'a str,
    /// Where the rows come from, named `r`.
    rows: &'static str,
    /// Which blocks, named `b`, are read.
    blocks: &'static str,
    /// The order in which the bytes of rows are added up.
    order: &'static str,
    /// The parameter that limits the bytes.
    bytes_max: &'static str,
    /// The parameter that says which wide values are read.
    slots: &'static str,
}

/// The blocks of the rows that the common table expression `r` finds.
const BLOCKS_OF_R: &str = "b.block = ANY(ARRAY(SELECT DISTINCT r.position >> 8 FROM r))";

/// Rows from a position on. The end of the range tells the planner that few rows are wanted, without statistics.
pub(crate) static FROM_POSITION: LazyLock<String> = LazyLock::new(|| {
    PageSql {
        ctes: ", r AS MATERIALIZED (SELECT project, position, id, vals, details, wide, wide_bytes FROM rowmill.rows \
               WHERE project = (SELECT project FROM c) AND position >= $2 AND position < $2 + $4 \
               ORDER BY position LIMIT $3)",
        rows: "r",
        blocks: BLOCKS_OF_R,
        order: "r.position",
        bytes_max: "$5",
        slots: "$6",
    }
    .by_id()
});

/// Rows from the n-th on where no row was ever deleted, so that the n-th row is at the n-th position; otherwise none.
pub(crate) static FROM_OFFSET_DENSE: LazyLock<String> = LazyLock::new(|| {
    PageSql {
        ctes: "",
        rows: "rowmill.rows r WHERE (SELECT row_count = next_position FROM c) \
               AND r.project = (SELECT project FROM c) AND r.position >= $2 AND r.position < $2 + $3",
        blocks: "b.block BETWEEN $2 >> 8 AND ($2 + $3) >> 8",
        order: "r.position",
        bytes_max: "$4",
        slots: "$5",
    }
    .by_id()
});

/// Rows from the n-th on. The run of positions that the n-th row is in is found from coarse to fine: first among runs
/// of 2^20 positions, then of 2^14 in that one, then of 2^8.
pub(crate) static FROM_OFFSET: LazyLock<String> = LazyLock::new(|| {
    let runs = [live_run(2), live_run(1), live_run(0)].concat();
    let rows = ", r AS MATERIALIZED (SELECT project, position, id, vals, details, wide, wide_bytes FROM rowmill.rows \
                WHERE project = (SELECT project FROM c) AND position >= (SELECT segment << 8 FROM l0) \
                AND position < (SELECT (segment << 8) + $4 FROM l0) \
                ORDER BY position OFFSET (SELECT rest FROM l0) LIMIT $3)";
    PageSql {
        ctes: &(runs + rows),
        rows: "r",
        blocks: BLOCKS_OF_R,
        order: "r.position",
        bytes_max: "$5",
        slots: "$6",
    }
    .by_id()
});

/// A common table expression that finds the run of positions with the n-th row, by adding up how many rows are live
/// in the runs before it. Below the top level it searches in the run that the level above has found. `rest` is how
/// many rows come before the n-th in the run.
fn live_run(level: u32) -> String {
    let above = level + 1;
    let (nth, within) = match level {
        2 => ("$2".to_owned(), String::new()),
        _ => (
            format!("(SELECT rest FROM l{above})"),
            format!(
                " AND segment BETWEEN (SELECT segment << 6 FROM l{above}) \
                 AND (SELECT (segment << 6) + 63 FROM l{above})"
            ),
        ),
    };
    format!(
        ", l{level} AS MATERIALIZED (SELECT segment, {nth} - before AS rest FROM (SELECT segment, count, \
         (sum(count) OVER (ORDER BY segment) - count)::int8 AS before FROM rowmill.live \
         WHERE project = (SELECT project FROM c) AND level = {level}{within}) runs \
         WHERE before <= {nth} AND {nth} < before + count ORDER BY segment LIMIT 1)"
    )
}

/// The same by the project's number. The caller checks that no row was ever deleted.
pub(crate) static FROM_OFFSET_BY_NUM: LazyLock<String> = LazyLock::new(|| {
    PageSql {
        ctes: "",
        rows: "rowmill.rows r WHERE r.project = $1 AND r.position >= $2 AND r.position < $2 + $3",
        blocks: "b.block BETWEEN $2 >> 8 AND ($2 + $3) >> 8",
        order: "r.position",
        bytes_max: "$4",
        slots: "$5",
    }
    .by_num()
});

/// Rows between two positions, without the first few of them; by the project's number.
pub(crate) static BETWEEN_BY_NUM: LazyLock<String> = LazyLock::new(|| {
    PageSql {
        ctes: "",
        rows: "(SELECT project, position, id, vals, details, wide, wide_bytes FROM rowmill.rows WHERE project = $1 AND position >= $2 AND position < $3 \
               ORDER BY position OFFSET $4 LIMIT $5) r",
        blocks: "b.block BETWEEN $2 >> 8 AND ($3 - 1) >> 8",
        order: "r.position",
        bytes_max: "$6",
        slots: "$7",
    }
    .by_num()
});

pub(crate) static AT_POSITIONS: LazyLock<String> = LazyLock::new(|| {
    PageSql {
        ctes: ", r AS MATERIALIZED (SELECT r.project, r.position, r.id, r.vals, r.details, r.wide, r.wide_bytes, w.place \
               FROM unnest($2::int8[]) WITH ORDINALITY w (position, place) \
               JOIN rowmill.rows r ON r.project = (SELECT project FROM c) AND r.position = w.position)",
        rows: "r",
        blocks: BLOCKS_OF_R,
        order: "r.place",
        bytes_max: "$3",
        slots: "$4",
    }
    .by_id()
});

pub(crate) static WITH_ID: LazyLock<String> = LazyLock::new(|| {
    PageSql {
        ctes: ", r AS MATERIALIZED (SELECT project, position, id, vals, details, wide, wide_bytes FROM rowmill.rows \
               WHERE project = (SELECT project FROM c) AND id = $2)",
        rows: "r",
        blocks: BLOCKS_OF_R,
        order: "r.position",
        bytes_max: "$3",
        slots: "$4",
    }
    .by_id()
});

impl PageSql<'_> {
    /// A statement about the project with the id `$1`.
    fn by_id(&self) -> String {
        let Self { ctes, blocks, .. } = self;
        let rows = self.select_rows();
        format!(
            "WITH c AS MATERIALIZED (SELECT project, row_count, next_position, change_seq \
             FROM rowmill.counters WHERE id = $1) {ctes} \
             SELECT NULL::int8, NULL::uuid, int8send(c.row_count) || int8send(c.next_position) \
             || int8send(c.change_seq), NULL::bytea, NULL::bytea[] FROM c \
             UNION ALL {rows} \
             UNION ALL SELECT b.block, NULL, b.marks, NULL, NULL FROM rowmill.blocks b \
             WHERE b.project = (SELECT project FROM c) AND {blocks}"
        )
    }

    /// A statement about the project with the number `$1`, which is a fifth less work for the server.
    fn by_num(&self) -> String {
        let Self { blocks, .. } = self;
        let rows = self.select_rows();
        format!(
            "SELECT NULL::int8, NULL::uuid, int8send(c.row_count) || int8send(c.next_position) \
             || int8send(c.change_seq), NULL::bytea, NULL::bytea[] FROM rowmill.counters c WHERE c.project = $1 \
             UNION ALL {rows} \
             UNION ALL SELECT b.block, NULL, b.marks, NULL, NULL FROM rowmill.blocks b WHERE b.project = $1 AND {blocks}"
        )
    }

    /// The rows, without the values of those beyond the bytes that are allowed. The server knows the length of a
    /// value without reading it.
    fn select_rows(&self) -> String {
        let Self { rows, order, bytes_max, slots, .. } = self;
        let (wide, wide_bytes) = (wide_sql("s", slots), wide_bytes_sql("r", slots));
        format!(
            "SELECT s.position, s.id, CASE WHEN s.ahead < {bytes_max} THEN s.vals END, \
             CASE WHEN s.ahead < {bytes_max} THEN s.details END, \
             CASE WHEN s.wide IS NOT NULL AND s.ahead < {bytes_max} THEN {wide} END \
             FROM (SELECT r.project, r.position, r.id, r.vals, r.details, r.wide, \
             (sum(r.bytes) OVER (ORDER BY r.number) - r.bytes)::int8 AS ahead \
             FROM (SELECT r.project, r.position, r.id, r.vals, r.details, r.wide, {order} AS number, \
             octet_length(r.vals) + {wide_bytes} AS bytes FROM {rows}) r) s"
        )
    }
}
