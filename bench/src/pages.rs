//! Page reads, beside a bare handler that returns the same bytes.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use serde_json::json;

use crate::any_result::AnyResult;
use crate::bare::Bare;
use crate::client::request;
use crate::effort::Effort;
use crate::load::{self, Load, Until};
use crate::random::Random;
use crate::report::{Goal, Pairs, Report};
use crate::rowmill::{Project, Rowmill};
use crate::sample::WRITTEN;

const CONNECTIONS: usize = 16;
const PAGE_ROWS: usize = 100;
const GOAL: Goal = Goal::AtLeast(0.4);
const DEPTH_GOAL: Goal = Goal::AtMost(1.3);
/// A search for nothing finds everything, and is never answered with what was answered before.
const ANEW: &str = "&search=";
/// How many pages are asked for at random before they repeat.
const ANY_PAGES: usize = 20_000;
const KEY_GOAL: Goal = Goal::AtLeast(0.9);
/// Between two writes of a row that is not shown.
const WRITE_INTERVAL: Duration = Duration::from_millis(5);
/// Row ids in one call that deletes.
const DELETE_ROWS: usize = 50_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    AsInserted,
    /// After many deletes.
    WithHoles,
}

/// Both sides of one page, over all rounds.
#[derive(Debug, Default)]
struct Page {
    pairs: Pairs,
    processor: Pairs,
    latencies: Vec<Duration>,
    bare_latencies: Vec<Duration>,
    /// The median of each round.
    p50: Vec<f64>,
}

pub(crate) fn measure(
    rowmill: &Rowmill,
    project: &Project,
    rows: usize,
    reads: Reads,
    scratch: &Path,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let pages = rows.div_ceil(PAGE_ROWS);
    let path = |page: usize| format!("{}?page={page}&pageSize={PAGE_ROWS}", project.rows_path());
    let get = |page: usize, more: &str| rowmill.request("GET", &format!("{}{more}", path(page)), "");
    let mut random = Random::new(1);
    let any = (0..ANY_PAGES).map(|_| get(random.below(pages) + 1, ANEW)).collect();
    let asked = [vec![get(1, "")], vec![get(pages, "")], vec![get(1, ANEW)], vec![get(pages, ANEW)], any];
    // The bare handler answers any page with page 1, since they are all alike.
    let answers = [1, pages, 1, pages, 1].map(|page| rowmill.ask("GET", &path(page), ""));
    let bare = Bare::start(scratch, &answers.into_iter().collect::<AnyResult<Vec<_>>>()?)?;
    let mut sides: [Page; 5] = Default::default();
    for _ in 0..effort.rounds {
        for (index, (page, own)) in sides.iter_mut().zip(&asked).enumerate() {
            let raw = [request("GET", &format!("/{index}"), &rowmill.key, "")];
            let limit = reading(bare.address, &raw, effort, || bare.processor_time())?;
            let load = reading(rowmill.address, own, effort, || rowmill.processor_time())?;
            page.add(load, limit);
        }
    }
    let after = if reads == Reads::WithHoles { ", 30 % deleted" } else { "" };
    let [mut first, mut last, mut first_anew, mut last_anew, mut any] = sides;
    first.report(&format!("page 1{after}"), Some(GOAL), report);
    last.report(&format!("last page{after}"), Some(GOAL), report);
    first_anew.report(&format!("page 1, made anew{after}"), None, report);
    last_anew.report(&format!("last page, made anew{after}"), None, report);
    any.report(&format!("any page, made anew{after}"), None, report);
    let depth = Pairs::of(last.p50, first.p50);
    report.pair(&format!("last page's p50 beside page 1's{after}"), "ms", &depth, Some(DEPTH_GOAL));
    let depth = Pairs::of(last_anew.p50, first_anew.p50);
    report.pair(&format!("the same, made anew{after}"), "ms", &depth, Some(DEPTH_GOAL));
    Ok(())
}

/// Pages at random, beside the same rows read by key and sent by a bare handler; and a page that is asked for again, while
/// another row is written and alone.
pub(crate) fn measure_by_key(
    rowmill: &Rowmill,
    project: &Project,
    row_ids: &[String],
    scratch: &Path,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let pages = row_ids.len().div_ceil(PAGE_ROWS);
    let path = |page: usize| format!("{}?page={page}&pageSize={PAGE_ROWS}", project.rows_path());
    let mut random = Random::new(2);
    let numbers: Vec<usize> = (0..ANY_PAGES).map(|_| random.below(pages) + 1).collect();
    let any: Vec<_> = numbers.iter().map(|page| rowmill.request("GET", &path(*page), "")).collect();
    let keys: Vec<_> =
        numbers.iter().map(|page| request("GET", &format!("/{page}"), &rowmill.key, "")).collect();
    let again = [rowmill.request("GET", &path(1), "")];
    let by_key = Bare::start_by_key(scratch, row_ids.len())?;
    let (mut beside_keys, mut beside_writer) = (Page::default(), Page::default());
    let processor_time = || rowmill.processor_time();
    for _ in 0..effort.rounds {
        let limit = reading(by_key.address, &keys, effort, || by_key.processor_time())?;
        beside_keys.add(reading(rowmill.address, &any, effort, processor_time)?, limit);
        let alone = reading(rowmill.address, &again, effort, processor_time)?;
        let written = std::thread::scope(|scope| {
            let (stop, stopped) = mpsc::channel();
            let writer = scope.spawn(move || write_last_row(rowmill, project, row_ids, &stopped));
            let written = reading(rowmill.address, &again, effort, processor_time);
            drop(stop);
            writer.join().map_err(|_| "the writer panicked")??;
            written
        })?;
        beside_writer.add(written, alone);
    }
    beside_keys.report("any page beside the bare handler by key", Some(KEY_GOAL), report);
    beside_writer.report("page 1 while another row is written, beside alone", None, report);
    Ok(())
}

/// Writes a cell of the last row over and over, until it is told to stop.
fn write_last_row(
    rowmill: &Rowmill,
    project: &Project,
    row_ids: &[String],
    stopped: &mpsc::Receiver<()>,
) -> AnyResult {
    let path = format!("{}/{}", project.rows_path(), row_ids.last().ok_or("there is no row")?);
    for number in 0_u64.. {
        let body = json!({ "cells": { WRITTEN: format!("note {number}") } });
        rowmill.ask("PATCH", &path, &body.to_string())?;
        if stopped.recv_timeout(WRITE_INTERVAL) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    Ok(())
}

/// One round of one side, and the processor time that the server took for each answer, in microseconds.
fn reading(
    address: SocketAddr,
    requests: &[Vec<u8>],
    effort: &Effort,
    processor_time: impl Fn() -> AnyResult<Duration>,
) -> AnyResult<(Load, f64)> {
    let before = processor_time()?;
    let load = load::run(address, CONNECTIONS, requests, Until::Over(effort.round_time), &|_, _| {})?;
    let taken = processor_time()?.saturating_sub(before);
    let answers = load.answers_per_second() * load.elapsed.as_secs_f64();
    Ok((load, taken.as_secs_f64() * 1_000_000.0 / answers))
}

/// Deletes 30 % of the rows, wherever they are.
pub(crate) fn delete_some(rowmill: &Rowmill, project: &Project, row_ids: &mut Vec<String>) -> AnyResult {
    let mut random = Random::new(30);
    let (gone, kept): (Vec<_>, Vec<_>) =
        std::mem::take(row_ids).into_iter().partition(|_| random.below(100) < 30);
    *row_ids = kept;
    for ids in gone.chunks(DELETE_ROWS) {
        rowmill.ask("DELETE", &project.rows_path(), &json!({ "rowIds": ids }).to_string())?;
    }
    Ok(())
}

impl Page {
    fn add(&mut self, (load, processor): (Load, f64), (limit, limit_processor): (Load, f64)) {
        self.processor.push(processor, limit_processor);
        self.pairs.push(load.answers_per_second(), limit.answers_per_second());
        self.p50.push(at(&load.latencies, 0.5) * 1_000.0);
        self.latencies.extend(load.latencies);
        self.bare_latencies.extend(limit.latencies);
    }

    fn report(&mut self, what: &str, goal: Option<Goal>, report: &mut Report) {
        let what = format!("{what}, {CONNECTIONS} connections");
        report.pair(&what, "requests/s", &self.pairs, goal);
        report.beside_sqlite(&what, "requests/s", &self.pairs, Goal::AtLeast(0.5));
        let [own, bare] = [&mut self.latencies, &mut self.bare_latencies].map(|latencies| {
            latencies.sort_unstable();
            [0.5, 0.99].map(|share| format!("{:.2}", at(latencies, share) * 1_000.0)).join(" / ")
        });
        report.line(&format!("{what}: p50 / p99"), &format!("{own} ms"), &format!("{bare} ms"));
        report.pair(&format!("{what}: server's processor time"), "µs", &self.processor, None);
    }
}

/// Seconds that this share of the sorted latencies does not exceed.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index into far fewer than 2^52 answers"
)]
fn at(sorted: &[Duration], share: f64) -> f64 {
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index).or(sorted.last()).map_or(0.0, Duration::as_secs_f64)
}
