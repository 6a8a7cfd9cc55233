//! What teams keep sealed.

use super::make::team;
use crate::error::StoreError;
use crate::store::Store;
use crate::types::SealedKind::{Provider, Secret};
use crate::types::{Sealed, SealedKind};

const MANY: u32 = 100;

fn sealed(kind: SealedKind, name: &str, bytes: &[u8]) -> Sealed {
    Sealed { kind, name: name.to_owned(), bytes: bytes.to_owned(), updated_at_ms: 7 }
}

pub(super) async fn what_is_sealed_comes_back_to_its_team(store: &dyn Store) {
    let (acme, beta) = (team(1, "acme").id, team(2, "beta").id);
    let things =
        [sealed(Provider, "hunter", &[0, 255, 7]), sealed(Secret, "A", &[]), sealed(Secret, "hunter", b"x")];
    for thing in things.iter().rev() {
        store.put_sealed(acme, thing.clone(), MANY).await.unwrap();
    }
    store.put_sealed(beta, sealed(Secret, "A", b"beta's"), MANY).await.unwrap();
    assert_eq!(store.sealed(acme).await.unwrap(), things);
    assert_eq!(store.sealed(beta).await.unwrap(), [sealed(Secret, "A", b"beta's")]);
    assert_eq!(store.sealed(team(3, "none").id).await.unwrap(), []);
}

pub(super) async fn a_name_is_written_over(store: &dyn Store) {
    let acme = team(1, "acme").id;
    for thing in [sealed(Secret, "A", b"old"), sealed(Secret, "a", b"another")] {
        store.put_sealed(acme, thing, MANY).await.unwrap();
    }
    let newer = Sealed { updated_at_ms: 8, ..sealed(Secret, "A", b"new") };
    store.put_sealed(acme, newer.clone(), MANY).await.unwrap();
    assert_eq!(store.sealed(acme).await.unwrap(), [newer, sealed(Secret, "a", b"another")]);
}

pub(super) async fn no_more_are_kept_than_may_be(store: &dyn Store) {
    let (acme, beta) = (team(1, "acme").id, team(2, "beta").id);
    store.put_sealed(acme, sealed(Provider, "hunter", b"1"), 2).await.unwrap();
    store.put_sealed(acme, sealed(Secret, "A", b"1"), 2).await.unwrap();
    store.put_sealed(acme, sealed(Secret, "B", b"1"), 2).await.unwrap();
    let third = store.put_sealed(acme, sealed(Secret, "C", b"1"), 2).await;
    assert!(matches!(third, Err(StoreError::Full)), "{third:?}");
    // What is there may be changed, and others have room of their own.
    store.put_sealed(acme, sealed(Secret, "B", b"2"), 2).await.unwrap();
    store.put_sealed(beta, sealed(Secret, "C", b"1"), 2).await.unwrap();
    let names: Vec<String> = store.sealed(acme).await.unwrap().into_iter().map(|kept| kept.name).collect();
    assert_eq!(names, ["hunter", "A", "B"]);
}

pub(super) async fn what_is_deleted_is_gone(store: &dyn Store) {
    let (acme, beta) = (team(1, "acme").id, team(2, "beta").id);
    store.put_sealed(acme, sealed(Secret, "A", b"1"), MANY).await.unwrap();
    for (team, kind, name) in [(beta, Secret, "A"), (acme, Provider, "A"), (acme, Secret, "a")] {
        assert!(!store.delete_sealed(team, kind, name.to_owned()).await.unwrap());
    }
    assert!(store.delete_sealed(acme, Secret, "A".to_owned()).await.unwrap());
    assert!(!store.delete_sealed(acme, Secret, "A".to_owned()).await.unwrap());
    assert_eq!(store.sealed(acme).await.unwrap(), []);
}
