//! Checking everything that is stored (`rowmill check`): every row is decoded, every counter counted again, and every
//! index compared with what it indexes.
//!
//! Rows and blocks are read in pages, in the order of their positions, so what is held does not grow with the data. A
//! project is read in one snapshot of its own, and the database may be used meanwhile.

mod live_counts;
mod project;
mod report;
mod rows;
mod stream;
mod tally;

use std::collections::BTreeSet;

use rowmill_model::{SpendingSettings, TeamId, Webhook};
use serde::de::IgnoredAny;

pub use self::report::{OnRows, Problem, ProblemKind, Report};
use self::stream::PAGE_LIMIT;
use crate::carry::{Items, Section};
use crate::error::Result;
use crate::inspect::Inspect;

/// Checks everything. Errors are those that say nothing of what is stored, such as a database that is away.
pub async fn check(store: &dyn Inspect, on_rows: OnRows<'_>) -> Result<Report> {
    let mut report = Report::new(store.place());
    store.begin().await?;
    let found = report.readable(None, "the database", store.integrity().await)?;
    for words in found.unwrap_or_default() {
        report.add(ProblemKind::Damaged, None, words);
    }
    store.begin().await?;
    let strays = report.readable(None, "what belongs to which project", store.strays().await)?;
    for words in strays.unwrap_or_default() {
        report.add(ProblemKind::Stray, None, words);
    }
    let teams = check_shared(store, &mut report).await?;
    store.begin().await?;
    let projects = report.readable(None, "the list of projects", store.projects().await)?;
    for id in projects.unwrap_or_default() {
        // What cannot be read may have ended the snapshot.
        store.begin().await?;
        let checked = project::check(store, id, teams.as_ref(), &mut report, on_rows).await;
        report.readable(Some(id), "the rest of the project", checked)?;
    }
    Ok(report)
}

/// Checks what belongs to no project; says which teams there are, if that can be read.
async fn check_shared(store: &dyn Inspect, report: &mut Report) -> Result<Option<BTreeSet<TeamId>>> {
    let mut teams = Some(BTreeSet::new());
    for section in Section::SHARED {
        store.begin().await?;
        let mut after = None;
        loop {
            let read = store.read(section, after, PAGE_LIMIT).await;
            let Some(page) = report.readable(None, section.word(), read)? else {
                if section == Section::Teams {
                    teams = None;
                }
                break;
            };
            after = page.last();
            if after.is_none() {
                break;
            }
            check_page(page, &mut teams, report);
        }
    }
    Ok(teams)
}

fn check_page(page: Items, teams: &mut Option<BTreeSet<TeamId>>, report: &mut Report) {
    match page {
        Items::Teams(page) => {
            report.teams += page.len() as u64;
            if let Some(teams) = teams {
                teams.extend(page.into_iter().map(|team| team.id));
            }
        }
        Items::Keys(page) => {
            report.keys += page.len() as u64;
            for key in page {
                if teams.as_ref().is_some_and(|teams| !teams.contains(&key.team)) {
                    let words = format!("the API key {} belongs to a team that does not exist", key.id);
                    report.add(ProblemKind::Stray, None, words);
                }
            }
        }
        Items::Receipts(page) => {
            for receipt in page {
                if serde_json::from_str::<IgnoredAny>(&receipt.outcome).is_err() {
                    let words = "a saved response is not JSON".to_owned();
                    report.add(ProblemKind::Undecodable, None, words);
                }
            }
        }
        Items::Webhooks(page) => {
            for webhooks in page {
                if serde_json::from_str::<Vec<Webhook>>(&webhooks.document).is_err() {
                    let words = format!("the webhooks of team {} cannot be read", webhooks.team);
                    report.add(ProblemKind::Undecodable, None, words);
                }
            }
        }
        Items::Spending(page) => {
            for spending in page {
                if serde_json::from_str::<SpendingSettings>(&spending.document).is_err() {
                    let words = format!("the prices and caps of team {} cannot be read", spending.team);
                    report.add(ProblemKind::Undecodable, None, words);
                }
            }
        }
        Items::Sealed(_) | Items::Rows(_) | Items::Blocks(_) | Items::Guests(_) | Items::Retries(_) => {}
    }
}
