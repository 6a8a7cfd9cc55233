//! What goes over the wire, against local servers that answer as scripted: every documented answer of
//! every provider, and what hostile servers do.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod api;
mod attachments;
mod directory;
mod email;
mod hostile;
mod llm;
mod llm_dialects;
mod llm_tools;
mod search;
mod server;
mod ssrf_guard;
mod support;
mod verify;
