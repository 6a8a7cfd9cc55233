//! Browsers that are signed in.

use uuid::Uuid;

use super::make::{key, team};
use crate::sessions::{SESSIONS_MAX, Session};
use crate::store::Store;
use crate::types::ApiKey;

fn session(number: u128, key: &ApiKey, created_at_ms: i64) -> Session {
    Session {
        id: Uuid::from_u128(number),
        team: key.team,
        key: key.id,
        browser: "Browser \u{fc}".to_owned(),
        created_at_ms,
        seen_at_ms: created_at_ms,
        expires_at_ms: created_at_ms + 10_000,
    }
}

pub(super) async fn sessions_are_kept_listed_and_ended(store: &dyn Store) {
    let (acme, beta) = (team(1, "acme"), team(2, "beta"));
    store.create_team(acme.clone()).await.unwrap();
    store.create_team(beta.clone()).await.unwrap();
    let keys = [key(1, &acme), key(2, &acme), key(3, &beta)];
    for key in &keys {
        store.create_key(key.clone()).await.unwrap();
    }
    let [first, second, other] = [session(1, &keys[0], 1), session(2, &keys[1], 2), session(3, &keys[2], 3)];
    for session in [&first, &second, &other] {
        store.create_session(session.clone()).await.unwrap();
    }
    assert_eq!(store.session(first.id).await.unwrap().as_ref(), Some(&first));
    assert_eq!(store.session(Uuid::from_u128(9)).await.unwrap(), None);
    assert_eq!(store.sessions(acme.id, 5).await.unwrap(), [second.clone(), first.clone()]);
    store.touch_session(first.id, 77).await.unwrap();
    assert_eq!(store.session(first.id).await.unwrap().unwrap().seen_at_ms, 77);
    // Only the team's own.
    assert_eq!(store.delete_sessions(acme.id, vec![other.id, second.id]).await.unwrap(), 1);
    assert_eq!(store.sessions(acme.id, 5).await.unwrap().len(), 1);
    assert_eq!(store.sessions(beta.id, 5).await.unwrap().len(), 1);
    // With its time, and with its key.
    assert_eq!(store.sessions(acme.id, 10_001).await.unwrap(), []);
    store.revoke_key(keys[0].id).await.unwrap();
    assert_eq!(store.sessions(acme.id, 5).await.unwrap(), []);
    assert_eq!(store.session(first.id).await.unwrap(), None);
    store.create_session(session(4, &keys[1], 20_000)).await.unwrap();
    assert_eq!(store.session(other.id).await.unwrap(), None, "what has expired is forgotten");
    store.delete_all_sessions().await.unwrap();
    assert_eq!(store.sessions(acme.id, 20_001).await.unwrap(), []);
}

pub(super) async fn the_oldest_session_gives_way(store: &dyn Store) {
    let acme = team(1, "acme");
    store.create_team(acme.clone()).await.unwrap();
    let key = key(1, &acme);
    store.create_key(key.clone()).await.unwrap();
    for number in 0..i64::from(SESSIONS_MAX) + 2 {
        store.create_session(session(1 + u128::from(number.unsigned_abs()), &key, number)).await.unwrap();
    }
    let sessions = store.sessions(acme.id, 0).await.unwrap();
    assert_eq!(sessions.len(), SESSIONS_MAX as usize);
    assert_eq!(sessions.last().unwrap().created_at_ms, 2);
}
