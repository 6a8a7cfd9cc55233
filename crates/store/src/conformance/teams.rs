//! Teams and keys.

use super::make::{key, team};
use crate::error::StoreError;
use crate::store::Store;

pub(super) async fn a_slug_is_taken_once(store: &dyn Store) {
    let (acme, beta) = (team(1, "acme"), team(2, "beta"));
    store.create_team(acme.clone()).await.unwrap();
    store.create_team(beta.clone()).await.unwrap();
    let twin = store.create_team(team(3, "acme")).await;
    assert!(matches!(twin, Err(StoreError::SlugTaken)), "{twin:?}");
    assert_eq!(store.teams().await.unwrap(), [acme.clone(), beta.clone()]);
    assert_eq!(store.team_by_slug(&beta.slug).await.unwrap(), Some(beta.clone()));
    assert_eq!(store.team(acme.id).await.unwrap(), Some(acme));
    assert_eq!(store.team(team(9, "none").id).await.unwrap(), None);
    assert!(store.rename_team(beta.id, "Beta & Sons".to_owned()).await.unwrap());
    assert_eq!(store.team(beta.id).await.unwrap().unwrap().name, "Beta & Sons");
    assert!(!store.rename_team(team(9, "none").id, "Nobody".to_owned()).await.unwrap());
    store.ping().await.unwrap();
}

pub(super) async fn only_an_empty_store_is_bootstrapped(store: &dyn Store) {
    let (first, second) = (team(1, "first"), team(2, "second"));
    assert!(store.bootstrap(first.clone(), key(1, &first)).await.unwrap());
    assert!(!store.bootstrap(second.clone(), key(2, &second)).await.unwrap());
    assert_eq!(store.teams().await.unwrap(), std::slice::from_ref(&first));
    assert_eq!(store.keys().await.unwrap(), [key(1, &first)]);
}

pub(super) async fn a_revoked_key_is_gone(store: &dyn Store) {
    let acme = team(1, "acme");
    store.create_team(acme.clone()).await.unwrap();
    let (kept, revoked) = (key(1, &acme), key(2, &acme));
    store.create_key(kept.clone()).await.unwrap();
    store.create_key(revoked.clone()).await.unwrap();
    store.touch_key(kept.id, 77).await.unwrap();
    assert_eq!(store.key(kept.id).await.unwrap().unwrap().last_used_at_ms, Some(77));
    assert!(store.revoke_key(revoked.id).await.unwrap());
    assert!(!store.revoke_key(revoked.id).await.unwrap());
    assert_eq!(store.key(revoked.id).await.unwrap(), None);
    assert_eq!(store.keys().await.unwrap().len(), 1);
}
