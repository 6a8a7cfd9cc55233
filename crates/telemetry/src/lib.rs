//! Traces: which request work belongs to, the spans it is made of, and how they are written for a collector (OTLP).
//!
//! **Off by default.** Until [`install`] is called, [`Span::begin`] reads one variable and answers `None`, and nothing has a
//! [`TraceContext`].
//!
//! **Why not the `opentelemetry` crates?** Their exporter wants its own thread with a blocking client (its batch processor
//! supports no async one), brings ten crates and a bridge from `tracing`, and has a queue that is bounded in spans and not in
//! bytes. What we need of it is small: the ids, a bounded queue, and seven messages of a schema that is frozen. `prost`, the
//! usual Protocol Buffers library, writes those; it and what it needs are three crates. The tests read what we write with the
//! types that `opentelemetry-proto` generates from the official schema. JSON would need no crate at all, but is twice as
//! large, and not every collector takes it.

mod context;
mod finished_span;
mod otlp;
mod queue;
mod span;

pub use context::{TRACEPARENT, TraceContext};
pub use finished_span::{Kind, Value};
pub use otlp::{Resource, rejected_spans};
pub use queue::{Batch, QUEUE_BYTES_MAX, QUEUE_SPANS_MAX, SpanQueue, count_dropped, install, is_on};
pub use span::Span;
