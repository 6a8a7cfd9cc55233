//! Teams and keys.

use rowmill_model::address_range::AddressRange;
use rowmill_model::{ProjectId, Restrictions, Scopes};
use uuid::Uuid;

use super::make::{key, team};
use crate::error::StoreError;
use crate::store::Store;
use crate::types::{ApiKey, LastUse};

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
    let last_use = LastUse { at_ms: 77, from: Some("192.0.2.7".parse().unwrap()) };
    store.touch_key(kept.id, last_use).await.unwrap();
    assert_eq!(store.key(kept.id).await.unwrap().unwrap().last_used, Some(last_use));
    assert!(store.revoke_key(revoked.id).await.unwrap());
    assert!(!store.revoke_key(revoked.id).await.unwrap());
    assert_eq!(store.key(revoked.id).await.unwrap(), None);
    assert_eq!(store.keys().await.unwrap().len(), 1);
}

pub(super) async fn a_key_keeps_its_restrictions(store: &dyn Store) {
    let acme = team(1, "acme");
    store.create_team(acme.clone()).await.unwrap();
    let restrictions = Restrictions {
        scopes: Scopes::READ.and(Scopes::WRITE),
        projects: Some(vec![ProjectId::from_uuid(Uuid::from_u128(5))]),
        allow_from: vec![AddressRange::parse("10.0.0.0/8").unwrap(), AddressRange::parse("::1").unwrap()],
    };
    let restricted = ApiKey { expires_at_ms: Some(i64::MAX), restrictions, ..key(1, &acme) };
    store.create_key(restricted.clone()).await.unwrap();
    store.create_key(key(2, &acme)).await.unwrap();
    assert_eq!(store.key(restricted.id).await.unwrap(), Some(restricted.clone()));
    assert_eq!(store.keys().await.unwrap(), [restricted, key(2, &acme)]);
}

pub(super) async fn a_rotated_key_expires_and_the_new_one_is_there(store: &dyn Store) {
    let acme = team(1, "acme");
    store.create_team(acme.clone()).await.unwrap();
    store.create_key(key(1, &acme)).await.unwrap();
    let expiry =
        async |number: u128| store.key(key(number, &acme).id).await.unwrap().map(|key| key.expires_at_ms);
    let rotate = async |old: u128, at_ms: i64, new: u128| {
        store.rotate_key(key(old, &acme).id, at_ms, key(new, &acme)).await.unwrap()
    };
    assert!(rotate(1, 100, 2).await);
    assert_eq!((expiry(1).await, expiry(2).await), (Some(Some(100)), Some(None)));
    assert!(rotate(1, 500, 3).await);
    assert_eq!(expiry(1).await, Some(Some(100)), "it never lives longer than it would have");
    assert!(!rotate(9, 100, 4).await);
    assert_eq!(expiry(4).await, None);
}
