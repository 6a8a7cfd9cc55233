//! Whether the target holds what the source holds: both are read whole, counted and summed up.

use std::hash::Hash as _;

use rowmill_model::ProjectId;
use rowmill_model::plan::{Plan, Tally};
use rowmill_store::StoreError;
use rowmill_store::carry::{CarriedProject, Carry, Items, Section};
use xxhash_rust::xxh3::Xxh3;

use crate::blocks;
use crate::error::{MoveError, Result, of};
use crate::pages::{count, existing, page_limit};
use crate::report::{Cells, Moved, OnProgress, Options, Phase, Progress};

pub(crate) async fn verify(
    source: &dyn Carry,
    target: &dyn Carry,
    options: Options,
    projects: &[ProjectId],
    on_progress: OnProgress<'_>,
    rows_total: u64,
) -> Result<Moved> {
    let mut moved = Moved { projects: count(projects.len()), ..Moved::default() };
    let rows = std::sync::atomic::AtomicU64::new(0);
    let say = |more: u64| {
        let rows = rows.fetch_add(more, std::sync::atomic::Ordering::Relaxed) + more;
        on_progress(Progress { phase: Phase::Verifying, rows, rows_total });
    };
    say(0);
    let both = Both { source, target, options, say: &say };
    for section in Section::SHARED {
        let sum = both.compare(section, None).await?;
        match section {
            Section::Teams => moved.teams = sum.items,
            Section::Keys => moved.keys = sum.items,
            Section::Sealed => moved.sealed = sum.items,
            Section::Webhooks => moved.webhooks = sum.items,
            Section::Spending => moved.spending = sum.items,
            _ => moved.receipts = sum.items,
        }
    }
    if target.projects().await.map_err(of(target))? != projects {
        return Err(MoveError::Differs("the list of projects".to_owned()));
    }
    for id in projects {
        both.compare_project(*id, &mut moved).await?;
    }
    Ok(moved)
}

struct Both<'a> {
    source: &'a dyn Carry,
    target: &'a dyn Carry,
    options: Options,
    say: &'a (dyn Fn(u64) + Send + Sync),
}

impl Both<'_> {
    async fn compare_project(&self, id: ProjectId, moved: &mut Moved) -> Result<()> {
        let differs = |what: &str| MoveError::Differs(format!("{what} of {id}"));
        let (was, is) = (existing(self.source, id).await?, existing(self.target, id).await?);
        if !is_same(&was, &is) {
            return Err(differs("the columns, views and counters"));
        }
        let plan = blocks::plan(&is).map_err(of(self.target))?;
        let mut ready = 0;
        let mut tally = Tally::default();
        for on in Section::of(id) {
            let sum = self.compare(on, Some(&plan)).await?;
            match on {
                Section::Rows(_) if sum.items != is.row_count => return Err(differs("the count of rows")),
                Section::Rows(_) => {
                    moved.rows += sum.items;
                    moved.bytes += sum.bytes;
                }
                Section::Guests(_) => moved.guests += sum.items,
                Section::Retries(_) => moved.retries += sum.items,
                _ => (ready, tally) = (sum.ready, sum.tally),
            }
        }
        let cells = Cells::of(&plan, &tally, is.row_count);
        if cells != Cells::of(&plan, &is.tally.map(|(tally, _)| tally).unwrap_or_default(), is.row_count) {
            return Err(differs("the count of cells"));
        }
        moved.cells.join(cells);
        let (was, is_made) = tokio::join!(self.source.derived(id), self.target.derived(id));
        let (was, is_made) = (was.map_err(of(self.source))?, is_made.map_err(of(self.target))?);
        if !is_made.counts(is.row_count) || is_made.lookups != was.lookups || is_made.ready != ready {
            return Err(differs("the values of `matchOn` columns"));
        }
        Ok(())
    }

    /// The sum of a section, which must be the same in both.
    async fn compare(&self, on: Section, plan: Option<&Plan>) -> Result<Sum> {
        let quiet = |_| {};
        let (was, is) = tokio::join!(
            sum(self.source, on, plan, self.options, &quiet),
            sum(self.target, on, plan, self.options, self.say)
        );
        let (was, is) = (was.map_err(of(self.source))?, is.map_err(of(self.target))?);
        if (was.items, was.hash) == (is.items, is.hash) {
            return Ok(is);
        }
        let whose = on.project().map(|id| format!(" of {id}")).unwrap_or_default();
        let (word, there, here) = (on.word(), was.items, is.items);
        Err(MoveError::Differs(if there == here {
            format!("the checksum of {here} {word}{whose}")
        } else {
            format!("{here} {word}{whose} instead of {there}")
        }))
    }
}

/// Whether a project is what it was. Its counts are compared with what they count.
fn is_same(was: &CarriedProject, is: &CarriedProject) -> bool {
    let counted_at = |project: &CarriedProject| project.tally.as_ref().map(|(_, at)| *at);
    let but_counts = |project: &CarriedProject| CarriedProject { tally: None, ..project.clone() };
    counted_at(was) == counted_at(is) && but_counts(was) == but_counts(is)
}

/// What a section comes to.
struct Sum {
    items: u64,
    bytes: u64,
    hash: u128,
    /// Of cell states: where they are ready, and their counts.
    ready: u64,
    tally: Tally,
}

async fn sum(
    store: &dyn Carry,
    section: Section,
    plan: Option<&Plan>,
    options: Options,
    say: &(dyn Fn(u64) + Send + Sync),
) -> Result<Sum, StoreError> {
    let mut sum = Sum { items: 0, bytes: 0, hash: 0, ready: 0, tally: Tally::default() };
    let mut hash = Xxh3::new();
    let mut after = None;
    loop {
        let mut page = store.read(section, after, page_limit(section, options)).await?;
        if let (Items::Blocks(page), Some(plan)) = (&mut page, plan) {
            blocks::make_ready(plan, page);
            blocks::count(plan, page, &mut sum.tally);
            sum.ready += page.iter().map(|block| count(block.ready.len())).sum::<u64>();
        }
        take(&page, &mut hash);
        sum.items += count(page.len());
        if let Items::Rows(rows) = &page {
            let size = |row: &rowmill_store::carry::CarriedRow| {
                count(row.values.len() + row.details.as_ref().map_or(0, |details| details.len()))
            };
            sum.bytes += rows.iter().map(size).sum::<u64>();
            say(count(rows.len()));
        }
        after = page.last();
        if after.is_none() {
            break;
        }
    }
    sum.hash = hash.digest128();
    Ok(sum)
}

/// Each by itself: pages may end anywhere.
fn take(page: &Items, hash: &mut Xxh3) {
    match page {
        Items::Teams(items) => items.iter().for_each(|item| item.hash(hash)),
        Items::Keys(items) => items.iter().for_each(|item| item.hash(hash)),
        Items::Sealed(items) => items.iter().for_each(|item| item.hash(hash)),
        Items::Webhooks(items) => items.iter().for_each(|item| item.hash(hash)),
        Items::Spending(items) => items.iter().for_each(|item| item.hash(hash)),
        Items::Receipts(items) => items.iter().for_each(|item| item.hash(hash)),
        Items::Rows(items) => items.iter().for_each(|item| item.hash(hash)),
        Items::Blocks(items) => {
            for item in items {
                (item.number, item.block.encode()).hash(hash);
            }
        }
        Items::Guests(items) => items.iter().for_each(|item| item.hash(hash)),
        Items::Retries(items) => items.iter().for_each(|item| item.hash(hash)),
    }
}
