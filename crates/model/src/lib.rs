//! The nouns of Rowmill and their laws.
//!
//! Everything here is pure: no I/O, no async, no clock, no chance. A function that needs the time
//! takes it as an argument. What a stored or sent *document* looks like (a column's configuration, a
//! view's filters, a cell's state) is defined here once, with serde; how an HTTP answer is laid out is
//! not known here.

pub mod address_range;
mod ai_config;
pub mod answer_schema;
pub mod bounded_json;
pub mod cell;
pub mod cell_image;
pub mod cell_status;
pub mod column;
pub mod connection_failure;
pub mod copying;
pub mod corrections;
pub mod documents;
pub mod estimate;
pub mod fan_out;
pub mod filter;
pub mod format;
pub mod guest;
pub mod hook;
pub mod ids;
pub mod integration;
pub mod json_hazards;
pub mod limits;
pub mod lookup;
pub mod nearest;
pub mod offence;
pub mod paid;
pub mod path;
pub mod plan;
pub mod prices;
pub mod pricing;
pub mod project;
pub mod provider;
pub mod record;
pub mod reference;
pub mod research;
pub mod restoring;
pub mod restrictions;
pub mod row;
pub mod scope;
pub mod scoring;
pub mod secret;
pub mod sort;
pub mod spacing;
pub mod spending;
pub mod spent;
pub mod summary;
pub mod table;
pub mod template;
pub mod trash;
pub mod unfinished_copy;
pub mod value;
pub mod view;
pub mod web_scraper;
pub mod webhook;

pub use answer_schema::AnswerSchema;
pub use cell::{CellState, CellStates};
pub use cell_status::{CellError, CellStatus, ErrorCode};
pub use column::{Column, ColumnType, DataShape};
pub use format::{Format, FormatType};
pub use hook::{Hook, UnknownKeys};
pub use ids::{ColumnId, HookId, ImportId, KeyId, ProjectId, RowId, RunId, Slug, TeamId, ViewId, WebhookId};
pub use limits::Limits;
pub use lookup::LookupTask;
pub use offence::Offence;
pub use paid::Paid;
pub use project::{Project, ProjectSettings};
pub use provider::{Provider, ProviderKind};
pub use record::Record;
pub use restrictions::Restrictions;
pub use scope::{Scope, Scopes};
pub use secret::Secret;
pub use spacing::Spacing;
pub use spending::{Cap, SpendingSettings};
pub use spent::{Amount, Spent, Usage};
pub use table::Table;
pub use trash::{Deletion, Trash};
pub use unfinished_copy::Copying;
pub use value::Value;
pub use view::View;
pub use webhook::{EventType, Webhook};
