//! The suite every backend passes.
//!
//! A backend's tests open a fresh store for each of [`CASES`] and run it, then run
//! [`against_a_plain_map`], in which random operations on the store and on a plain map must agree, and
//! [`counts_stay_true`], in which processing goes on at random.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "this is test code: it fails by panicking"
)]

mod batches;
mod guests;
mod imports;
mod judging;
mod kept_answers;
mod ledger;
mod make;
mod matching;
mod memory;
mod observe;
mod plain_map;
mod processing;
mod projects;
mod received;
mod recount;
mod rows;
mod runs;
mod sealed;
mod seen;
mod sessions;
mod stale;
mod teams;
mod trash;
mod value_bytes;
mod warm_up;
mod webhooks;
mod wide;
mod wide_looks;

use std::pin::Pin;

pub use memory::{FaultInjection, MemoryStore};
pub use plain_map::{StoreOp, against_a_plain_map, steps};
pub use recount::{Event, counts_stay_true, events};

use crate::store::Store;

type Case = for<'a> fn(&'a dyn Store) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Names the cases of the modules, each a promise of the [`Store`] trait.
macro_rules! cases {
    ($($module:ident::$case:ident),* $(,)?) => {
        &[$((stringify!($case), |store| Box::pin($module::$case(store)))),*]
    };
}

/// Every promise, by name.
pub const CASES: &[(&str, Case)] = cases![
    teams::a_slug_is_taken_once,
    teams::only_an_empty_store_is_bootstrapped,
    teams::a_revoked_key_is_gone,
    teams::a_key_keeps_its_restrictions,
    teams::a_rotated_key_expires_and_the_new_one_is_there,
    sealed::what_is_sealed_comes_back_to_its_team,
    sealed::a_name_is_written_over,
    sealed::no_more_are_kept_than_may_be,
    sealed::what_is_deleted_is_gone,
    sessions::sessions_are_kept_listed_and_ended,
    sessions::the_oldest_session_gives_way,
    projects::a_project_comes_back_as_it_was_saved,
    projects::a_stale_save_changes_nothing,
    projects::the_list_is_newest_first_and_the_teams_own,
    projects::a_deleted_project_takes_its_rows_along,
    projects::a_request_is_carried_out_once,
    guests::a_guest_has_one_row_a_project,
    guests::an_older_event_changes_nothing,
    guests::a_stale_delivery_writes_nothing,
    guests::many_deliveries_make_one_row,
    rows::rows_keep_the_order_they_were_sent_in,
    rows::a_page_starts_anywhere,
    rows::a_stale_insert_writes_nothing,
    rows::columns_made_from_keys_are_saved_with_the_rows,
    rows::a_match_updates_and_an_unchanged_row_stays,
    rows::an_ambiguous_match_writes_nothing,
    rows::spellings_of_a_number_beyond_those_compared_are_refused,
    rows::the_match_follows_every_write,
    matching::a_column_is_indexed_while_others_write,
    rows::cells_are_written_all_or_none,
    rows::deleting_counts_only_the_projects_own_rows,
    rows::every_change_to_rows_moves_the_sequence_on,
    rows::a_scan_sees_every_row_and_stops_when_told,
    rows::rows_are_read_together_with_the_sequence,
    rows::rows_are_read_within_bytes_and_the_others_are_named,
    rows::a_snapshot_stays_what_it_was,
    rows::snapshots_are_few,
    rows::listeners_hear_where_rows_were_touched,
    rows::new_rows_are_held_to_their_number,
    wide::a_wide_value_is_what_was_written,
    wide::many_rows_have_wide_values,
    wide::a_wide_value_is_matched,
    wide::a_row_with_wide_values_comes_back_from_the_trash,
    wide::cells_of_a_wide_row_run,
    wide::only_wanted_bytes_count,
    wide::a_scan_shows_what_is_wanted,
    wide::a_snapshot_keeps_wide_values,
    wide::a_reader_sees_one_moment,
    wide_looks::a_wide_input_counts_when_another_is_written,
    wide_looks::a_wide_input_is_compared_with_what_a_result_was_made_from,
    wide_looks::a_worker_is_given_what_its_column_reads,
    wide_looks::a_condition_looks_at_a_wide_value,
    judging::what_a_claim_has_not_judged_is_looked_for_again,
    wide_looks::a_row_that_comes_back_is_compared_and_matched_by_wide_values,
    wide_looks::a_column_that_comes_back_is_compared_with_wide_values,
    wide_looks::a_guest_with_a_wide_payload_is_updated,
    value_bytes::bytes_are_counted_with_every_write,
    value_bytes::writes_are_held_to_their_bytes,
    rows::an_insert_is_carried_out_once,
    rows::many_writers_lose_nothing,
    seen::a_row_that_changed_is_not_written,
    seen::a_project_with_other_rows_is_not_saved,
    seen::a_project_that_changed_is_not_deleted,
    imports::a_file_is_kept_until_its_import_has_ended,
    imports::a_batch_of_an_import_is_written_once,
    imports::a_cancelled_import_writes_nothing_more,
    imports::teams_take_turns_with_their_imports,
    processing::a_run_goes_through_every_column,
    processing::what_waited_goes_on_with_the_result,
    processing::a_run_is_summed_up,
    processing::a_cell_without_its_input_is_skipped,
    processing::a_failed_cell_is_tried_again_at_its_time,
    processing::a_time_that_a_wrong_clock_wrote_is_not_waited_for,
    processing::what_is_stopped_is_as_it_was,
    processing::a_limit_counts_rows_with_something_to_do,
    processing::a_lost_workers_cells_run_again,
    processing::a_hand_beats_a_worker,
    processing::rows_play_by_themselves,
    processing::a_deleted_column_holds_nothing_up,
    processing::a_deleted_project_takes_the_work_along,
    observe::projects_with_work_are_told,
    runs::a_run_that_is_over_is_kept,
    runs::a_run_says_who_started_it_and_how_it_ended,
    runs::the_cells_of_a_run_know_its_trace,
    runs::runs_are_kept_newest_first_and_not_without_end,
    stale::a_column_that_asks_something_else_has_stale_results,
    stale::an_edit_that_is_undone_leaves_nothing_stale,
    stale::a_column_that_asks_the_same_again_has_no_stale_results,
    stale::cells_that_wait_say_since_when_and_what_for,
    trash::rows_come_back_to_their_place,
    trash::it_is_told_when_offsets_move,
    trash::the_match_leaves_out_what_is_in_the_trash,
    trash::what_ran_when_it_was_deleted_comes_back_idle,
    trash::a_result_of_something_else_comes_back_stale,
    trash::a_guest_has_one_row_whatever_is_restored,
    trash::the_trash_is_emptied_and_swept,
    trash::a_project_comes_back_whole,
    trash::a_column_comes_back_with_the_states_of_its_cells,
    webhooks::webhooks_are_saved_over_their_version,
    webhooks::a_delivery_is_held_by_a_lease,
    webhooks::deliveries_are_listed_and_sent_again,
    webhooks::old_deliveries_are_trimmed,
    received::what_came_in_is_kept_and_listed,
    received::the_oldest_make_room,
    received::old_ones_are_swept,
    warm_up::columns_that_were_asked_for_are_noted,
    warm_up::projects_with_views_are_told,
    kept_answers::an_answer_is_kept_for_its_time,
    kept_answers::the_oldest_answers_go_first,
    batches::a_batch_is_looked_after_by_one_node,
    batches::batches_of_some_teams_are_left_to_others,
];

/// Promises of the stores that put what happens to rows into the outbox and the ledger, which [`MemoryStore`] does not.
pub const OUTBOX_CASES: &[(&str, Case)] = cases![
    webhooks::what_happens_to_rows_is_put_into_the_outbox,
    wide_looks::a_webhook_is_told_of_wide_values,
    webhooks::runs_and_their_cells_are_put_into_the_outbox,
    ledger::what_was_paid_to_each_is_on_its_line,
    ledger::old_lines_are_swept,
];
