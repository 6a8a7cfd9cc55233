//! Answers that are used again, and how many of them are kept.

use rowmill_model::TeamId;
use uuid::Uuid;

use crate::kept_answers::{ANSWERS_AT_ONCE, AnswerLimits, KeptAnswer};
use crate::store::Store;

fn team(number: u128) -> TeamId {
    TeamId(Uuid::from_u128(number))
}

fn answer(of: u128, number: u32, at_ms: i64, text: &str) -> KeptAnswer {
    let mut name = [0; 32];
    name[..16].copy_from_slice(&of.to_be_bytes());
    name[16..20].copy_from_slice(&number.to_be_bytes());
    KeptAnswer { team: team(of), name, at_ms, expires_at_ms: at_ms + 1_000, answer: text.to_owned() }
}

async fn keep(store: &dyn Store, kept: &KeptAnswer) {
    store.keep_answer(kept.clone()).await.unwrap();
}

async fn found(store: &dyn Store, kept: &KeptAnswer, now_ms: i64) -> Option<String> {
    store.kept_answer(kept.name, now_ms).await.unwrap()
}

pub(super) async fn an_answer_is_kept_for_its_time(store: &dyn Store) {
    let first = answer(1, 1, 0, "one");
    assert_eq!(found(store, &first, 0).await, None);
    keep(store, &first).await;
    assert_eq!(found(store, &first, 999).await.as_deref(), Some("one"));
    assert_eq!(found(store, &first, 1_000).await, None, "its time is over");
    let second = answer(1, 1, 500, "two");
    keep(store, &second).await;
    assert_eq!(found(store, &first, 1_400).await.as_deref(), Some("two"), "a later one takes its place");
    keep(store, &answer(2, 7, 5_000, "other")).await;
    while store.sweep_answers(2_000).await.unwrap() {}
    assert_eq!(found(store, &first, 0).await, None, "it was removed");
    assert!(found(store, &answer(2, 7, 0, ""), 0).await.is_some());
    assert!(!store.sweep_answers(2_000).await.unwrap());
}

pub(super) async fn the_oldest_answers_go_first(store: &dyn Store) {
    let limits = AnswerLimits { count: 3, bytes: 10_000 };
    // Kept in another order than they are old.
    for number in [4, 1, 3, 2, 5] {
        keep(store, &answer(1, number, i64::from(number), "x")).await;
    }
    keep(store, &answer(2, 9, 0, "of another team")).await;
    while store.trim_answers(team(1), limits).await.unwrap() {}
    let mut left = Vec::new();
    for number in 1..=5 {
        if found(store, &answer(1, number, 0, ""), 0).await.is_some() {
            left.push(number);
        }
    }
    assert_eq!(left, [3, 4, 5]);
    assert!(!store.trim_answers(team(1), limits).await.unwrap(), "there is room for them");
    assert!(found(store, &answer(2, 9, 0, ""), 0).await.is_some(), "another team has room of its own");
    keep(store, &answer(1, 6, 6, &"x".repeat(9_500))).await;
    while store.trim_answers(team(1), limits).await.unwrap() {}
    assert_eq!(found(store, &answer(1, 4, 0, ""), 0).await, None, "bytes count, too");
    assert!(found(store, &answer(1, 6, 0, ""), 0).await.is_some());
    // More than are removed in one go.
    let many = ANSWERS_AT_ONCE + 50;
    for number in 0..many {
        keep(store, &answer(3, number, i64::from(number), "x")).await;
    }
    let limits = AnswerLimits { count: 1, bytes: 10_000 };
    let mut rounds = 0;
    while store.trim_answers(team(3), limits).await.unwrap() {
        rounds += 1;
    }
    assert_eq!(rounds, 2);
    assert!(found(store, &answer(3, many - 1, 0, ""), 0).await.is_some(), "the newest stays");
}
