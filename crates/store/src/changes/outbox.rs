//! The outbox: what webhooks are told of a transaction, written together with it.
//!
//! What happens to rows is noted as it happens, and put into words when the rows are written. The rows of one change are
//! gathered, up to [`ROWS_MAX`] and about [`BYTES_MAX`] a delivery.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use rowmill_model::path::allowance::{self, ROW_VISITS_MAX};
use rowmill_model::plan::{EndedRun, RunTally, StartedBy};
use rowmill_model::record::Slot;
use rowmill_model::{Amount, CellError, EventType, Project, RowId, RunId};
use serde_json::{Value, json};

use super::raw_row::PartRow;
use super::told_row::{BYTES_MAX, Item, RowEvents, ToldRow, ended};
use crate::error::Result;
use crate::webhooks::{NewDelivery, Subscription};

/// How many rows one delivery tells of.
const ROWS_MAX: usize = 100;
/// How much the paths of reference columns look at for all rows of a transaction. Rows beyond that are only named.
const VISITS_MAX: usize = 4 * ROW_VISITS_MAX;

/// Who is to be told of a transaction that begins.
#[derive(Debug, Clone)]
pub struct Subscribed {
    pub subscriptions: Vec<Subscription>,
    /// In Unix milliseconds.
    pub now_ms: i64,
}

/// What webhooks are told of one transaction.
#[derive(Debug)]
pub(super) struct Outbox {
    project: Arc<Project>,
    seq: u64,
    now_ms: i64,
    subscribers: Vec<Subscriber>,
    /// What happened to rows that are loaded, by position.
    rows: BTreeMap<u64, RowEvents>,
    deliveries: Vec<NewDelivery>,
    visits_left: usize,
    /// Whether there were any.
    pub(super) is_told: bool,
}

#[derive(Debug)]
struct Subscriber {
    subscription: Subscription,
    /// The columns it is about; `None` if it is about all of them.
    slots: Option<Vec<Slot>>,
    /// Rows that were gathered, as JSON with commas between, and how many.
    gathered: BTreeMap<EventType, (String, usize)>,
}

impl Outbox {
    /// `None` if nobody is to be told of this project.
    pub(super) fn of(project: &Arc<Project>, seq: u64, subscribed: Option<Subscribed>) -> Option<Box<Self>> {
        let Subscribed { subscriptions, now_ms } = subscribed?;
        let is_about = |subscription: &Subscription| {
            subscription.project_ids.as_ref().is_none_or(|ids| ids.contains(&project.id))
        };
        let told = |subscription: Subscription| Subscriber {
            slots: subscription.slots(project),
            subscription,
            gathered: BTreeMap::new(),
        };
        let subscribers: Vec<Subscriber> = subscriptions.into_iter().filter(is_about).map(told).collect();
        if subscribers.is_empty() {
            return None;
        }
        let project = Arc::clone(project);
        Some(Box::new(Self {
            project,
            seq,
            now_ms,
            subscribers,
            rows: BTreeMap::new(),
            deliveries: Vec::new(),
            visits_left: VISITS_MAX,
            is_told: false,
        }))
    }

    /// Whether anybody is told of a row with all its values when these cells are written.
    pub(super) fn tells_whole_if_written(&self, slots: &[Slot]) -> bool {
        self.subscribers.iter().any(|subscriber| {
            subscriber.wants(EventType::RowUpdated) && slots.iter().any(|slot| subscriber.is_about(*slot))
        })
    }

    /// The same when it is made, or comes back.
    pub(super) fn tells_whole_if_created(&self) -> bool {
        self.subscribers.iter().any(|subscriber| subscriber.wants(EventType::RowCreated))
    }

    // What happens.

    pub(super) fn created(&mut self, position: u64) {
        self.rows.entry(position).or_default().is_created = true;
    }

    pub(super) fn written(&mut self, position: u64, slots: impl IntoIterator<Item = Slot>) {
        let mut slots = slots.into_iter().peekable();
        if slots.peek().is_some() {
            self.rows.entry(position).or_default().written.extend(slots);
        }
    }

    pub(super) fn ended(&mut self, position: u64, slot: Slot, error: Option<CellError>) {
        self.rows.entry(position).or_default().ended.push((slot, error));
    }

    pub(super) fn deleted(&mut self, position: u64, id: RowId) {
        // Whoever never heard of the row need not hear that it is gone.
        if self.rows.remove(&position).is_some_and(|events| events.is_created) {
            return;
        }
        for subscriber in &mut self.subscribers {
            if subscriber.wants(EventType::RowDeleted) {
                let item = Item::new(id).finish();
                self.deliveries.extend(subscriber.gather(
                    EventType::RowDeleted,
                    &item,
                    (&*self.project, self.seq, self.now_ms),
                ));
            }
        }
    }

    /// A row came back from the trash.
    pub(super) fn restored(&mut self, row: &PartRow) -> Result<()> {
        let events = RowEvents { is_created: true, ..RowEvents::default() };
        self.tell(row, &events)
    }

    // Putting it into words.

    /// Tells what happened to a row, which is as it will be stored.
    pub(super) fn close_row(&mut self, row: &PartRow) -> Result<()> {
        match self.rows.remove(&row.position) {
            Some(events) => self.tell(row, &events),
            None => Ok(()),
        }
    }

    fn tell(&mut self, row: &PartRow, events: &RowEvents) -> Result<()> {
        let Self { project, seq, now_ms, subscribers, deliveries, visits_left, .. } = self;
        let cells = row.values.cells()?;
        let mut told = ToldRow { project, id: row.id, cells: &cells, events, created: None, updated: None };
        let tell = || {
            for subscriber in subscribers {
                for (event, item) in subscriber.items(&mut told) {
                    deliveries.extend(subscriber.gather(event, &item, (&**project, *seq, *now_ms)));
                }
            }
        };
        let ((), visits) = allowance::within(*visits_left, tell);
        *visits_left -= visits;
        Ok(())
    }

    pub(super) fn run_started(&mut self, number: u64, at_ms: i64, by: Option<&StartedBy>) {
        let run = json!({ "id": RunId(number).to_string(), "status": "running", "startedAt": timestamp(at_ms), "startedBy": by });
        self.tell_run(EventType::RunStarted, run);
    }

    pub(super) fn run_ended(&mut self, run: &EndedRun) {
        let EndedRun { number, started_at_ms, ended_at_ms, started_by, is_stopped, tally } = run;
        let RunTally { done, empty, failed, skipped, stopped, spent, failures: _, skips: _ } = tally;
        let (event, status) = if *is_stopped {
            (EventType::RunStopped, "stopped")
        } else {
            (EventType::RunFinished, "finished")
        };
        let run = json!({
            "id": RunId(*number).to_string(), "status": status,
            "startedAt": timestamp(*started_at_ms), "endedAt": timestamp(*ended_at_ms), "startedBy": started_by,
            "cells": tally.ended(), "done": done, "empty": empty, "failed": failed, "skipped": skipped, "stopped": stopped,
            "cost": spent.cost.map(Amount::number), "listCost": spent.list_cost.map(Amount::number), "credits": spent.credits.map(Amount::number),
        });
        self.tell_run(event, run);
    }

    fn tell_run(&mut self, event: EventType, mut run: Value) {
        if let Value::Object(members) = &mut run {
            members.retain(|_, value| !value.is_null());
        }
        let at = (&*self.project, self.seq, self.now_ms);
        for subscriber in &self.subscribers {
            if subscriber.wants(event) {
                self.deliveries.push(subscriber.delivery(event, &format!("\"run\":{run}"), at));
            }
        }
    }

    /// What was gathered so far and fills a delivery.
    pub(super) fn take(&mut self) -> Vec<NewDelivery> {
        self.is_told |= !self.deliveries.is_empty();
        std::mem::take(&mut self.deliveries)
    }

    /// Closes deliveries that have room left. Runs are told of after that.
    pub(super) fn close(&mut self) {
        for subscriber in &mut self.subscribers {
            for (event, (items, count)) in std::mem::take(&mut subscriber.gathered) {
                if count > 0 {
                    let at = (&*self.project, self.seq, self.now_ms);
                    self.deliveries.push(subscriber.delivery(event, &format!("\"rows\":[{items}]"), at));
                }
            }
        }
    }
}

/// Where and when something happened.
type At<'a> = (&'a Project, u64, i64);

impl Subscriber {
    fn wants(&self, event: EventType) -> bool {
        self.subscription.events.contains(&event)
    }

    fn is_about(&self, slot: Slot) -> bool {
        self.slots.as_ref().is_none_or(|slots| slots.contains(&slot))
    }

    /// What it is told of one row.
    fn items(&self, row: &mut ToldRow<'_>) -> Vec<(EventType, String)> {
        let events = row.events;
        let mut items = Vec::new();
        let is_updated = !events.is_created && events.written.iter().any(|slot| self.is_about(*slot));
        if events.is_created && self.wants(EventType::RowCreated) {
            items.push((EventType::RowCreated, row.created()));
        }
        if is_updated && self.wants(EventType::RowUpdated) {
            items.push((EventType::RowUpdated, row.updated()));
        }
        for (event, failed) in [(EventType::CellCompleted, false), (EventType::CellFailed, true)] {
            let is_told = |(slot, error): &&(Slot, Option<CellError>)| {
                error.is_some() == failed && self.is_about(*slot)
            };
            let mut told = events.ended.iter().filter(is_told).peekable();
            if told.peek().is_some() && self.wants(event) {
                items.push((event, ended(row.project, row.id, row.cells, told)));
            }
        }
        items
    }

    /// Adds a row to a delivery. The delivery before it is returned, if it has no room left.
    fn gather(&mut self, event: EventType, item: &str, at: At<'_>) -> Option<NewDelivery> {
        let (items, count) = self.gathered.entry(event).or_default();
        let is_full = *count > 0 && (*count >= ROWS_MAX || items.len() + item.len() > BYTES_MAX);
        let full = is_full.then(|| {
            *count = 0;
            std::mem::take(items)
        });
        if *count > 0 {
            items.push(',');
        }
        items.push_str(item);
        *count += 1;
        full.map(|items| self.delivery(event, &format!("\"rows\":[{items}]"), at))
    }

    fn delivery(&self, event: EventType, what: &str, (project, seq, now_ms): At<'_>) -> NewDelivery {
        let word = event.word();
        let body = format!(
            r#"{{"type":"{word}","timestamp":"{}","data":{{"projectId":"{}","sequence":{seq},{what}}}}}"#,
            timestamp(now_ms),
            project.id
        );
        NewDelivery {
            webhook: self.subscription.webhook,
            event: word.to_owned(),
            project: Some(project.id),
            seq,
            created_at_ms: now_ms,
            body,
        }
    }
}

/// A moment, as ISO 8601 in UTC with milliseconds.
pub fn timestamp(unix_ms: i64) -> String {
    let moment = Timestamp::from_millisecond(unix_ms).unwrap_or_default();
    format!("{moment:.3}")
}
