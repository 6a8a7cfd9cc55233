//! `cargo xtask tidy`: the rules a compiler does not know, each one function over the files.
//!
//! A rule that cannot fail is worth nothing: every one has a test in which it does.

mod arrows;
mod circles;
mod documents;
mod graph;
mod manifests;
mod markers;
mod modules;
mod offence;
mod registries;
mod rust_circles;
mod shard_key;
mod source;
mod sql;
mod text;
mod tree;

use crate::process::AnyResult;
use offence::{Offence, Rule};
use tree::Tree;

const RULES: &[Rule] = &[
    arrows::between_crates,
    arrows::to_the_outside,
    circles::between_web_files,
    circles::between_web_folders,
    rust_circles::between_files,
    sql::only_in_stores,
    shard_key::is_named,
    shard_key::columns_are_named,
    modules::no_dead_files,
    text::no_empty_files,
    text::final_newline,
    text::no_tabs_or_trailing_blanks,
    text::doc_comment_first,
    text::short_files,
    markers::nothing_unfinished,
    markers::no_ignored_tests,
    registries::no_addresses,
    manifests::workspace_lints,
    manifests::workspace_dependencies,
    documents::present,
    documents::architecture_names_every_crate,
    documents::named_files_exist,
];

/// Judges the repository: one line for each offence.
pub(crate) fn run() -> AnyResult {
    let tree = Tree::load()?;
    let mut offences: Vec<Offence> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    offences.sort();
    for offence in &offences {
        println!("{offence}");
    }
    match offences.len() {
        0 => {
            println!("{} files keep {} rules", tree.files.len(), RULES.len());
            Ok(())
        }
        count => Err(format!("{count} offences against tidiness").into()),
    }
}
