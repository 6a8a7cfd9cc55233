//! Rowmill for agents: the Model Context Protocol (MCP), as tools, prompts and resources.
//!
//! Start at [`Mcp`]: it answers one HTTP request whose caller is known. [`server`] hands each message to a tool, a
//! prompt or a resource. A tool reads its arguments, calls use cases of `app`, and makes an answer that a model can
//! read: cells by header, long values cut, refusals that say what to do.

mod advice;
mod answer_size;
mod arguments;
mod call;
mod column_settings;
mod column_view;
mod context;
mod cost;
mod definitions;
mod endpoint;
mod hosts;
mod names;
mod output_schemas;
mod processing;
mod prompts;
mod refusal;
mod resources;
mod row_view;
mod selection;
mod server;
mod tables;
mod tool;
mod tools;
mod value_text;

pub use call::Call;
pub use endpoint::{Body, Mcp};
pub use hosts::{ForeignHost, Hosts};
