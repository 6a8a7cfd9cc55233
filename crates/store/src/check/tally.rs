//! Comparing the stored counts of a project's rows and cells with what counting gives.

use rowmill_model::ProjectId;
use rowmill_model::plan::{ColumnTally, Plan, RowTally, Tally};

use super::report::{ProblemKind, Report};

pub(super) fn compare(
    stored: &Tally,
    counted: &Tally,
    plan: &Plan,
    (id, row_count): (ProjectId, u64),
    report: &mut Report,
) {
    let mut problem = |words: String| report.add(ProblemKind::WrongCount, Some(id), words);
    let (was, is) = (stored.rows(plan, row_count), counted.rows(plan, row_count));
    let found = differing(&row_counts(was), &row_counts(is));
    if !found.is_empty() {
        problem(format!("rows by state: {}", found.join(", ")));
    }
    let mut newer = vec![(stored.later(), counted.later(), "cells that wait for another try".to_owned())];
    for slot in plan.slots() {
        let (was, is) = (stored.column(slot, row_count), counted.column(slot, row_count));
        let found = differing(&cell_counts(was), &cell_counts(is));
        if !found.is_empty() {
            problem(format!("cells in column slot {slot}: {}", found.join(", ")));
        }
        newer.push((was.stale, is.stale, format!("stale cells in column slot {slot}")));
    }
    // Version 0.1.0 did not keep these: what it left is not counted until the columns change.
    for (was, is, what) in newer {
        let words = format!("{was} {what} are counted, but there are {is}");
        if was > is {
            report.add(ProblemKind::WrongCount, Some(id), words);
        } else if was < is {
            report.note(format!("project {id}: {words}; version 0.1.0 did not count them"));
        }
    }
}

type Counts<const N: usize> = [(&'static str, u64); N];

fn row_counts(counts: RowTally) -> Counts<6> {
    let RowTally { total, idle, queued, generating, complete, error } = counts;
    [
        ("total", total),
        ("idle", idle),
        ("queued", queued),
        ("generating", generating),
        ("complete", complete),
        ("error", error),
    ]
}

fn cell_counts(counts: ColumnTally) -> Counts<6> {
    let ColumnTally { idle, queued, generating, completed, error, skipped, stale: _ } = counts;
    [
        ("idle", idle),
        ("queued", queued),
        ("generating", generating),
        ("completed", completed),
        ("error", error),
        ("skipped", skipped),
    ]
}

/// The counts that are not the same.
fn differing<const N: usize>(was: &Counts<N>, is: &Counts<N>) -> Vec<String> {
    let pairs = was.iter().zip(is).filter(|((_, was), (_, is))| was != is);
    pairs.map(|((name, was), (_, is))| format!("{name} is {was}, but counting gives {is}")).collect()
}
