//! The outside world: what Rowmill asks of other people's servers, and what their answers mean.
//!
//! Everything goes through one [`Client`], which keeps what a table can aim at away from private
//! addresses and bounds every answer in bytes and time. A call ends in its result or in a [`Failure`]
//! that says what to do about it. Nothing here waits its turn, tries again or remembers a result: that
//! is the engine's. Dropping a future aborts its call.
//!
//! - [`llm`]: language models that speak OpenAI's or Anthropic's wire.
//! - [`http_api`]: one request a column describes.
//! - [`email`]: finders of a person's e-mail address.
//! - [`verify`]: verifiers of e-mail addresses.
//! - [`directory`]: what is known of a company, and who works there.
//! - [`scrape`]: the content of web pages.
//! - [`render`]: pages in a real browser.
//! - [`search`]: web search.
//! - [`attachment`]: images and PDF documents for a model.
//! - [`catalogue`]: which providers there are and what each needs.

pub mod access;
pub mod attachment;
mod bounded_value;
pub mod catalogue;
pub mod directory;
pub mod email;
pub mod failure;
pub mod gate;
pub mod http_api;
pub mod llm;
pub mod redactor;
pub mod render;
pub mod scrape;
pub mod search;
mod session;
pub mod ssrf_guard;
mod vendors;
pub mod verify;

pub use access::Access;
pub use failure::{Failure, FailureKind};
pub use gate::Gate;
pub use redactor::Secret;
pub use ssrf_guard::{AllowList, Client, NetworkPolicy, TraceHosts, UserAgent};
