//! A cell's research so far: the conversation, what it took, and which pages were seen.
//!
//! It is made from its records alone, so that a cell that runs again stands where it was.

use std::collections::{BTreeSet, HashMap};

use rowmill_model::column::Research;
use rowmill_model::{Amount, Paid, Spent};
use rowmill_providers::llm::{Entry, HostedPage, ToolCall, ToolResult, ToolWire};

use super::addresses::{self, Addresses};
use super::prices::Prices;
use super::record::{CallRecord, Done, Record, Seen, TurnRecord};
use super::time_limit::TimeLimit;
use super::web_search::SearchAccess;

#[derive(Debug, Clone, Default)]
pub(super) struct Transcript {
    pub(super) entries: Vec<Entry>,
    pub(super) wire: Option<ToolWire>,
    /// Calls of the last turn that are still to be carried out.
    pending: Vec<ToolCall>,
    results: Vec<ToolResult>,
    /// The last turn, if it had no calls.
    pub(super) last: Option<LastTurn>,
    pub(super) addresses: Addresses,
    /// Pages that tools have shown, by the name of their address.
    seen: HashMap<String, Seen>,
    pub(super) used: Used,
    /// Of the last answer, as told, else as guessed. The next one will hardly be shorter.
    last_input_tokens: u64,
    /// Whom it owes what: the part that is not yet on the run's account.
    pub(super) uncharged: Vec<Paid>,
    /// What has no price.
    pub(super) unpriced: BTreeSet<String>,
    /// The model's, by id.
    provider: &'static str,
    pub(super) model: Option<String>,
    /// All records but those about accounts and failures, for the cell's details.
    pub(super) history: Vec<Record>,
}

/// What a research took so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Used {
    pub(super) steps: u32,
    pub(super) calls: u32,
    pub(super) searches: u32,
    pub(super) millis: u64,
    /// As told, else as guessed.
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) spent: Spent,
}

/// A turn that is an answer, or should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastTurn {
    pub(super) text: String,
    pub(super) truncated: bool,
    pub(super) is_final: bool,
}

/// A token of most texts has some four bytes.
const TOKEN_BYTES: usize = 4;
/// What instructions and tools take beside the conversation.
const OVERHEAD_TOKENS: u64 = 600;
/// What an answer of the model has, roughly.
const TURN_OUTPUT_TOKENS: u64 = 300;
/// Tokens that are kept for the question of the last turn and its words.
const LAST_TURN_TOKENS: u64 = 2_000;

impl Transcript {
    /// The beginning: what is asked. Its addresses may be opened.
    pub(super) fn new(system: &str, prompt: &str, provider: &'static str) -> Self {
        let mut addresses = Addresses::default();
        addresses.add_text(system);
        addresses.add_text(prompt);
        Self { entries: vec![Entry::User(prompt.to_owned())], addresses, provider, ..Self::default() }
    }

    /// The next call to carry out.
    pub(super) fn pending(&self) -> Option<ToolCall> {
        self.pending.first().cloned()
    }

    pub(super) fn page(&self, url: &str) -> Option<&Seen> {
        self.seen.get(&addresses::name(url)?)
    }

    pub(super) fn apply(&mut self, record: Record) {
        match &record {
            Record::Turn(turn) => self.apply_turn(turn),
            Record::Called(call) => self.apply_call(call),
            Record::Charged => {
                self.uncharged.clear();
                return;
            }
            Record::Failed { millis, .. } | Record::Waited { millis, .. } => {
                self.take_time(*millis, &[]);
                return;
            }
        }
        self.history.push(record);
    }

    fn apply_turn(&mut self, turn: &TurnRecord) {
        self.used.steps += 1;
        self.count_tokens(turn);
        self.charge(Paid::new(self.provider, 1, turn.spent));
        self.take_time(turn.millis, &turn.unpriced);
        self.wire = Some(turn.wire);
        self.model.clone_from(&turn.model);
        for search in &turn.hosted {
            self.used.searches += 1;
            self.used.calls += 1;
            for HostedPage { url, title, text } in &search.pages {
                self.addresses.add(url);
                let seen = Seen { url: url.clone(), title: title.clone(), text: String::new() };
                self.see(url, &seen, text);
            }
        }
        if let Some(told) = &turn.told {
            self.entries.push(Entry::User(told.clone()));
        }
        // Calls that were cut off, or came where none are taken, are not carried out. Nobody sends them back then.
        let is_run = !turn.calls.is_empty() && !turn.truncated && !turn.is_final;
        if is_run {
            self.entries.push(Entry::Model(turn.turn.clone()));
            self.pending.clone_from(&turn.calls);
            self.last = None;
            return;
        }
        let says_something = turn.calls.is_empty() && (turn.is_paused || !turn.text.trim().is_empty());
        if says_something {
            self.entries.push(Entry::Model(turn.turn.clone()));
        }
        if turn.is_paused && !turn.is_final {
            self.last = None;
            return;
        }
        self.last =
            Some(LastTurn { text: turn.text.clone(), truncated: turn.truncated, is_final: turn.is_final });
    }

    fn apply_call(&mut self, call: &CallRecord) {
        for paid in &call.paid {
            self.charge(paid.clone());
        }
        self.take_time(call.millis, &call.unpriced);
        match &call.done {
            Done::Searched { hits, .. } => {
                self.used.calls += 1;
                self.used.searches += 1;
                for hit in hits {
                    self.addresses.add(&hit.url);
                    self.see(&hit.url, hit, &hit.text);
                }
            }
            Done::Read { url, page, links, .. } => {
                self.used.calls += 1;
                for address in std::iter::once(&page.url).chain(links) {
                    self.addresses.add(address);
                }
                for address in [url, &page.url] {
                    self.see(address, page, &call.result.text);
                }
            }
            // A model that asks for what it may not have gets to its limit, too.
            Done::Refused { .. } => self.used.calls += 1,
        }
        if !self.pending.is_empty() {
            self.pending.remove(0);
        }
        self.results.push(call.result.clone());
        if self.pending.is_empty() {
            self.entries.push(Entry::Results(std::mem::take(&mut self.results)));
        }
    }

    fn see(&mut self, url: &str, seen: &Seen, text: &str) {
        let Some(name) = addresses::name(url) else { return };
        let known = self.seen.entry(name).or_insert_with(|| Seen {
            url: seen.url.clone(),
            title: seen.title.clone(),
            text: String::new(),
        });
        known.text.push('\n');
        known.text.push_str(text);
    }

    /// A server that does not count its tokens does not escape the limits.
    fn count_tokens(&mut self, turn: &TurnRecord) {
        let told = turn.spent.usage;
        let guessed = u64::try_from(turn.turn.to_string().len() / TOKEN_BYTES).unwrap_or(u64::MAX);
        let input = if told.input_tokens > 0 { told.input_tokens } else { self.tokens() };
        let output = if told.output_tokens > 0 { told.output_tokens } else { guessed };
        self.last_input_tokens = input;
        self.used.input_tokens = self.used.input_tokens.saturating_add(input);
        self.used.output_tokens = self.used.output_tokens.saturating_add(output);
    }

    fn charge(&mut self, paid: Paid) {
        self.used.spent += paid.spent;
        paid.add_to(&mut self.uncharged);
    }

    fn take_time(&mut self, millis: u64, unpriced: &[String]) {
        self.used.millis = self.used.millis.saturating_add(millis);
        self.unpriced.extend(unpriced.iter().cloned());
    }

    /// What is not yet on the run's account, together.
    pub(super) fn owed(&self) -> Spent {
        Paid::sum(&self.uncharged)
    }

    /// The tokens that the conversation has, roughly.
    pub(super) fn tokens(&self) -> u64 {
        let bytes: usize = self.entries.iter().map(bytes).sum::<usize>()
            + self.results.iter().map(|result| result.text.len()).sum::<usize>();
        u64::try_from(bytes / TOKEN_BYTES).unwrap_or(u64::MAX).saturating_add(OVERHEAD_TOKENS)
    }

    /// The limit that leaves room for one more turn only, which must be the last.
    pub(super) fn is_near(&self, limits: &Research, prices: &Prices) -> Option<&'static str> {
        let Used { steps, calls, searches, input_tokens, output_tokens, .. } = self.used;
        let is_nearly = |used: u64, limit: u64| used.saturating_mul(5) >= limit.saturating_mul(4);
        // This turn, and the last one behind it.
        let next = self.tokens().saturating_mul(2).saturating_add(LAST_TURN_TOKENS);
        let max_input = u64::from(limits.max_input_tokens);
        let cost = self.cost();
        let sent = self.next_tokens().saturating_mul(2).saturating_add(LAST_TURN_TOKENS);
        let turns = prices.next_turn(sent, 2 * TURN_OUTPUT_TOKENS);
        let is_costly = |max_cost: f64| cost >= max_cost * 0.8 || cost + turns > max_cost;
        [
            (steps.saturating_add(1) >= limits.max_steps, "steps"),
            (calls >= limits.max_calls, "calls"),
            (limits.hosted_search && searches >= limits.max_searches, "searches"),
            (
                is_nearly(input_tokens, max_input) || input_tokens.saturating_add(next) > max_input,
                "input tokens",
            ),
            (is_nearly(output_tokens, limits.max_output_tokens.into()), "output tokens"),
            (self.time(limits).is_near(), "seconds"),
            (limits.max_cost.is_some_and(is_costly), "cost"),
        ]
        .into_iter()
        .find_map(|(is_near, name)| is_near.then_some(name))
    }

    pub(super) fn time(&self, limits: &Research) -> TimeLimit {
        TimeLimit::new(limits, self.used.millis)
    }

    /// Whether another search leaves too little for the last turn.
    pub(super) fn is_over_cost(&self, limits: &Research, prices: &Prices, engines: &[SearchAccess]) -> bool {
        let sent = self.next_tokens().saturating_add(LAST_TURN_TOKENS);
        let last = prices.next_turn(sent, TURN_OUTPUT_TOKENS);
        let cost = self.cost() + prices.next_search(engines) + last;
        limits.max_cost.is_some_and(|max_cost| cost > max_cost)
    }

    /// What the next turn sends.
    fn next_tokens(&self) -> u64 {
        self.tokens().max(self.last_input_tokens)
    }

    /// US dollars so far, as far as they are known.
    fn cost(&self) -> f64 {
        self.used.spent.dollars().map_or(0.0, Amount::number)
    }

    /// The bytes that a tool may bring, so that the last turn still fits. None if hardly any.
    pub(super) fn result_bytes_max(&self, limits: &Research) -> Option<usize> {
        const BYTES_MIN: usize = 1_000;
        let kept = self.used.input_tokens.saturating_add(self.tokens()).saturating_add(LAST_TURN_TOKENS);
        let left = u64::from(limits.max_input_tokens).checked_sub(kept)?;
        let bytes = usize::try_from(left).unwrap_or(usize::MAX).saturating_mul(TOKEN_BYTES - 1);
        (bytes >= BYTES_MIN).then_some(bytes)
    }
}

fn bytes(entry: &Entry) -> usize {
    match entry {
        Entry::User(text) => text.len(),
        Entry::Model(turn) => turn.to_string().len(),
        Entry::Results(results) => results.iter().map(|result| result.text.len()).sum(),
    }
}
