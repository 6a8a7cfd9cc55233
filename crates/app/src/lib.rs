//! Use cases: authorise, check, remember.
//!
//! Each is a method of [`App`] and knows neither HTTP nor SQL. A version of the API is a translation of
//! requests into these methods; where versions behave differently, the difference is an argument.

mod app;
mod auth;
mod blocking;
mod caller;
mod columns;
mod comparison_judge;
mod comparison_run;
mod comparisons;
mod copies;
mod correcting;
mod credential_cache;
mod credential_checks;
mod credentials;
mod environment;
mod error;
mod estimate_sum;
mod estimates;
mod event_hub;
mod event_rows;
mod event_streams;
mod events;
mod exports;
mod fan_out;
mod fan_out_targets;
mod forecaster;
mod guards;
mod hook_body;
mod hooks;
mod idempotency;
mod ids;
mod import_jobs;
mod imports;
mod key_cache;
mod keys;
mod known_offences;
mod missing_columns;
mod multipart;
mod outbound_webhooks;
mod pattern_checks;
mod project_size;
mod projects;
mod providers;
mod quota_check;
mod quotas;
mod rate_waits;
mod received;
mod received_log;
mod receiving;
mod research_estimates;
mod rows;
mod run_history;
mod runs;
mod samples;
mod sealing;
mod secrets;
mod sequences;
mod sessions;
mod sign_in_link;
mod signing_secrets;
mod spending;
mod spending_sweep;
mod summaries;
mod teams;
mod tester;
mod thumbnailer;
mod thumbnails;
mod trash;
mod trials;
mod usage;
mod vault;
mod vault_check;
mod views;
mod webhook;
mod webhook_deliveries;
mod webhook_secrets;

pub use rowmill_query::{
    Budget as QueryMemory, Cursor, Find, FindDirection, FindFrom, FoundCell, Group, GroupBy, GroupTally,
    Groups, Page, Rest, SLICE_BYTES, Selection, Start, Summaries,
};
pub use rowmill_store::received::{
    ReceivedHead, ReceivedOutcome, ReceivedRecord, ReceivedSource, ReceivedStatus,
};
pub use rowmill_store::webhooks::{Attempt, DeliveryId, DeliveryRecord, DeliveryStatus};
pub use rowmill_store::{
    ApiKey, Change, ChangedRows, ImportJob, ImportProgress, ImportStatus, ImportStep, Inserted, LastUse,
    ProcessingStatus, ProjectSummary, RowAction, Session, SharedRates, Spans, Stopped, StoredProject,
    StoredRow, Team, TrashedProject, TrashedRow, WantedSlots, shared_rates,
};

pub use rowmill_store::batches::{Batch, BatchState};
pub use rowmill_store::spending::CapStanding;

pub use crate::app::App;
pub use crate::auth::Secret;
pub use crate::blocking::off_async;
pub use crate::caller::{Caller, Principal};
pub use crate::columns::{ColumnChanged, ColumnDeleted};
pub use crate::comparison_judge::JudgeModel;
pub use crate::comparison_run::{ComparedCell, ComparedOutcome};
pub use crate::comparisons::{
    CompareColumn, ComparedRow, ComparedVariant, Comparison, Expected, NewVariant, SampleRows,
};
pub use crate::copies::CopyRequest;
pub use crate::correcting::Correcting;
pub use crate::credentials::{BaseUrl, Credentials, ProviderAccess, Source, Unopened};
pub use crate::environment::{ConfiguredProvider, Environment};
pub use crate::error::{Error, Noun, Result};
pub use crate::event_rows::{ChangedRowsRead, RowsChanged, RowsKey};
pub use crate::events::{Event, Feed};
pub use crate::exports::Export;
pub use crate::fan_out::{FanOutRefusal, FanOutRows};
pub use crate::forecaster::{Forecast, ForecastLimit};
pub use crate::guards::{ProjectGuard, RowGuard};
pub use crate::hooks::{FoundHook, HookChanges, NewHook, SeenHook};
pub use crate::idempotency::{IDEMPOTENCY_HOURS, IdempotencyKey};
pub use crate::ids::log_id;
pub use crate::import_jobs::{IMPORT_DAYS, IMPORT_RENEWAL, ImportUpload};
pub use crate::imports::{
    Import, ImportColumn, ImportField, ImportOptions, ImportRow, ImportStepOf, ImportedBatch,
};
pub use crate::keys::{KeyRequest, KeyRotation};
pub use crate::known_offences::knowing;
pub use crate::outbound_webhooks::{NewWebhook, OVERLAP_HOURS_DEFAULT, WebhookChanges};
pub use crate::projects::{NewProject, ProjectChanges, ProjectList, ProjectPatched, ProjectsOf};
pub use crate::providers::{NewCredential, ProviderState};
pub use crate::quotas::Quotas;
pub use crate::rate_waits::RateWait;
pub use crate::received::ReceivedPage;
pub use crate::receiving::{HookDelivery, HookReceived};
pub use crate::rows::fields::{Fields, FieldsRead, Text};
pub use crate::rows::layout::too_many_fields;
pub use crate::rows::patches::{PatchRows, RowsPatched};
pub use crate::rows::{CellChange, InsertRows, ListRows, RowPatched, slots_shown};
pub use crate::run_history::{Run, RunsPage};
pub use crate::runs::{StopRows, TriggerMode, TriggerRows, TriggeredRows};
pub use crate::secrets::SecretState;
pub use crate::sessions::{SESSION_DAYS, session_name};
pub use crate::spending::{SpendLimit, Spending, SpendingChanges, UsageLine};
pub use crate::summaries::{RowsOf, TextFound};
pub use crate::teams::NewKey;
pub use crate::tester::{Trial, TrialCell, TrialOutcome};
pub use crate::thumbnailer::{Thumbnail, Thumbnailer};
pub use crate::trash::{ItemsRestored, KeyNames, ProjectTrashListed, RestoreItems, TrashListed};
pub use crate::trials::{ProviderTest, Tried, TryColumn};
pub use crate::usage::ProjectUsage;
pub use crate::vault::Vault;
pub use crate::views::{ViewChanges, ViewSaved, view_of};
pub use crate::webhook::{Delivered, Webhook};
pub use crate::webhook_deliveries::DeliveriesPage;
