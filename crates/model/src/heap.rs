//! What a project and its views take in memory, counted: whoever keeps them within a limit charges what they take.
//!
//! Each kind names all its fields, so that the compiler asks for a new one.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::column::{
    AiConfig, AiFallback, ApiConfig, Column, Crawl, Dependency, FanOut, FindCompany, FindPeople,
    ReferenceConfig, Research, ScrapeSelectors, StatusRange, TaskConfig, VerifyEmail, WaterfallEmail,
    WaterfallProvider, WebScraper,
};
use crate::filter::{Filter, FilterNode, Filters};
use crate::format::Format;
use crate::hook::{Hook, HookHeader, OldAddress};
use crate::ids::ColumnId;
use crate::project::Project;
use crate::raw_json::RawJson;
use crate::sort::{SortKey, Sorting};
use crate::table::Table;
use crate::trash::{Altered, Trash, TrashedColumn, TrashedView};
use crate::view::View;

/// What an allocation takes besides what was asked for.
const ALLOCATION_BYTES: usize = 16;
/// What an entry of a map of JSON takes besides its name and value: its hash, and its place in the index.
const MEMBER_BYTES: usize = 24;

impl Project {
    /// What it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.heap()
    }
}

/// What views take, themselves included.
pub fn views_bytes(views: &[View]) -> usize {
    size_of_val(views) + views.iter().map(Heap::heap).sum::<usize>()
}

/// Something that takes memory besides itself.
trait Heap {
    /// The bytes it takes besides itself.
    fn heap(&self) -> usize;
}

fn allocated(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes + ALLOCATION_BYTES }
}

impl Heap for String {
    fn heap(&self) -> usize {
        allocated(self.capacity())
    }
}

impl Heap for ColumnId {
    fn heap(&self) -> usize {
        allocated(self.as_str().len())
    }
}

impl Heap for RawJson {
    fn heap(&self) -> usize {
        allocated(self.bytes())
    }
}

impl<T: Heap> Heap for Option<T> {
    fn heap(&self) -> usize {
        self.as_ref().map_or(0, Heap::heap)
    }
}

impl<T: Heap> Heap for Vec<T> {
    fn heap(&self) -> usize {
        allocated(self.capacity() * size_of::<T>()) + self.iter().map(Heap::heap).sum::<usize>()
    }
}

/// The nodes of a tree are half empty at worst.
impl<K: Heap, V: Heap> Heap for BTreeMap<K, V> {
    fn heap(&self) -> usize {
        let entries = self.len() * 2 * (size_of::<K>() + size_of::<V>());
        allocated(entries) + self.iter().map(|(key, value)| key.heap() + value.heap()).sum::<usize>()
    }
}

impl Heap for Map<String, Value> {
    fn heap(&self) -> usize {
        // It grows by doubling, and does not tell how far it has.
        let entry = size_of::<String>() + size_of::<Value>() + MEMBER_BYTES;
        let entries = allocated(self.len().next_power_of_two() * entry);
        entries + self.iter().map(|(name, value)| name.heap() + value.heap()).sum::<usize>()
    }
}

impl Heap for Value {
    fn heap(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => 0,
            Self::String(text) => text.heap(),
            Self::Array(values) => values.heap(),
            Self::Object(fields) => fields.heap(),
        }
    }
}

impl Heap for StatusRange {
    fn heap(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Range(text) => text.heap(),
        }
    }
}

impl Heap for FilterNode {
    fn heap(&self) -> usize {
        match self {
            Self::Group { conjunction: _, filters } => filters.heap(),
            Self::Filter(filter) => filter.heap(),
        }
    }
}

/// Nothing beside themselves.
macro_rules! flat {
    ($($kind:ty),+ $(,)?) => {
        $(impl Heap for $kind {
            fn heap(&self) -> usize {
                0
            }
        })+
    };
}

flat!(bool, crate::column::ScrapeFormat);

/// What the fields before the bar take; those behind it take nothing besides themselves.
macro_rules! fields {
    ($($kind:ident { $($field:ident),* | $($flat:ident),* })+) => {
        $(impl Heap for $kind {
            fn heap(&self) -> usize {
                let Self { $($field,)* $($flat: _,)* } = self;
                0 $(+ $field.heap())*
            }
        })+
    };
}

fields! {
    Project {
        title, folder_id, metadata, table, trash, hooks
        | id, team, autoplay, settings, copying, created_at_ms, updated_at_ms
    }
    Table { columns | next_slot }
    Column {
        id, header, format, dependencies, ai_config, task_config, api_config, reference_config, run_condition
        | slot, kind, data_shape, retry, rate_limit, cache_ttl_seconds
    }
    Dependency { column_id | required }
    AiConfig {
        prompt, system, model, output_schema, fallback, attachments, research
        | provider, temperature, max_tokens, processing
    }
    AiFallback { model | provider }
    Research {
        search_providers, country
        | hosted_search, max_steps, max_calls, max_searches, max_input_tokens, max_output_tokens, max_seconds,
          max_cost, include_sources
    }
    TaskConfig {
        task_type, waterfall_email, web_scraper, verify_email, find_company, find_people, fan_out |
    }
    WaterfallEmail { waterfall_type, providers, input_mapping | }
    VerifyEmail { providers, input_mapping | }
    FindCompany { providers, input_mapping | }
    FindPeople { providers, input_mapping | limit }
    WaterfallProvider { id, task_type | enabled, order }
    WebScraper {
        url, formats, selectors, crawl
        | only_main_content, respect_robots, timeout_seconds, max_chars, render
    }
    ScrapeSelectors { include, exclude | }
    Crawl { include, exclude | max_depth, max_pages, sitemap, timeout_seconds }
    FanOut { list, target_project_id, mapping, match_on | limit }
    ApiConfig {
        url, headers, query, body, response_path, success_statuses, empty_on | method, timeout_seconds
    }
    ReferenceConfig { column_id, path | }
    Filter { column_id, value, path, time_zone | operator, case_sensitive }
    Hook {
        name, secret_hash, secret_end, old_address, match_on, headers
        | id, created_at_ms, is_disabled, unknown_keys, ignores_case
    }
    OldAddress { secret_hash | until_ms }
    HookHeader { name, column | }
    Trash { columns, views | }
    TrashedColumn { column, columns, views | order, deletion }
    TrashedView { view | order, deletion }
    View { name, emoji, filters, sorting, column_visibility | id, created_at_ms }
    SortKey { column_id | direction }
}

impl Filters {
    /// What they take besides themselves.
    pub(crate) fn bytes(&self) -> usize {
        self.heap()
    }
}

impl Heap for Filters {
    fn heap(&self) -> usize {
        self.0.heap()
    }
}

impl Heap for Sorting {
    fn heap(&self) -> usize {
        self.0.heap()
    }
}

impl<T: Heap> Heap for Altered<T> {
    fn heap(&self) -> usize {
        let Self { before, after } = self;
        before.heap() + after.heap()
    }
}

impl Heap for Format {
    fn heap(&self) -> usize {
        allocated(self.bytes())
    }
}
