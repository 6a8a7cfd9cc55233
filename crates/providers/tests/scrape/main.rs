//! The scraper, over the wire and with real children.
//!
//! The children are this very program, started with a word that says how they behave. That is why it has
//! a runner of its own: the usual one writes to standard output before anything else can.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and its runner says so"
)]

mod kinds;
mod leftovers;
mod memory;
mod pages;
mod politeness;
mod rendering;
mod robots;
#[expect(dead_code, reason = "shared with the other wire tests, which use all of it")]
#[path = "../wire/server.rs"]
mod server;
mod stub_children;
#[expect(dead_code, reason = "shared with the other wire tests, which use all of it")]
#[path = "../wire/support.rs"]
mod support;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::process::ExitCode;

type Test = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()>>>);

macro_rules! tests {
    ($($module:ident: $($name:ident),*;)*) => {
        &[$($((concat!(stringify!($module), "::", stringify!($name)), || Box::pin($module::$name()))),*),*]
    };
}

const TESTS: &[Test] = tests! {
    kinds: shells_are_told, feeds_are_lists, layers_are_undone, names_keep_their_letters, documents_are_read,
        hostile_documents_do_no_harm;
    leftovers: a_killed_server_leaves_no_profile;
    memory: pages_that_come_slowly_are_few;
    pages: a_page_is_read, formats_are_as_asked, a_long_page_is_cut, selectors_choose_what_is_read, text_is_kept_as_it_is, every_charset_is_read,
        redirects_are_followed, a_redirect_into_the_house_is_blocked, statuses_have_their_words,
        what_cannot_be_read_is_told, hostile_pages_do_no_harm, cells_without_an_address_are_told;
    politeness: rules_are_kept_for_a_day, the_operator_gives_the_name, what_has_not_changed_is_not_sent_again,
        a_team_has_its_own_pages;
    rendering: scripts_make_the_page, components_are_read, nothing_private_is_reached, a_page_has_limits, a_page_cannot_go_around_its_limits, a_dropped_page_ends_its_browser,
        a_page_is_pictured, a_missing_browser_is_told;
    robots: rules_are_obeyed, rules_are_fetched_once, a_broken_site_is_left_alone_for_now,
        the_last_page_is_asked_for_too, long_rules_are_cut;
    stub_children: a_child_serves_many_pages_and_is_replaced, a_child_that_breaks_costs_one_page,
        a_child_that_hangs_is_killed, a_page_has_processor_time, a_team_does_not_wait_for_anothers_pages, a_dropped_page_kills_its_child, a_missing_program_may_come_back;
};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let first = args.next();
    if let Some(mode) = first.as_deref().and_then(|word| word.strip_prefix("child=")) {
        return stub_children::behave(mode, args.next());
    }
    if let Some(mode) = first.as_deref().and_then(|word| word.strip_prefix("server=")) {
        return leftovers::behave(mode, args.next().unwrap_or_default().as_ref());
    }
    if first.as_deref() == Some("--list") {
        return ExitCode::SUCCESS;
    }
    let filter = first.filter(|word| !word.starts_with('-')).unwrap_or_default();
    let mut failed = 0;
    for (name, test) in TESTS.iter().filter(|(name, _)| name.contains(&filter)) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let is_ok = std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(test()))).is_ok();
        println!("test {name} ... {}", if is_ok { "ok" } else { "FAILED" });
        failed += usize::from(!is_ok);
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
