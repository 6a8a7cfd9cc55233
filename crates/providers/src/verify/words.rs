//! What each verifier's words mean, in one table.

use super::verification::Verdict::{self, Invalid, Risky, Unknown, Valid};
use super::verifier::Verifier;

/// A word that no verifier was known to say.
const UNTOLD: (Verdict, &str) = (Unknown, "not_told");

const WORDS: [(Verifier, &str, Verdict, &str); 32] = [
    (Verifier::Hunter, "valid", Valid, "deliverable"),
    (Verifier::Hunter, "invalid", Invalid, "undeliverable"),
    (Verifier::Hunter, "accept_all", Risky, "catch_all"),
    // Hunter says so instead of telling whether there is such a mailbox.
    (Verifier::Hunter, "webmail", Unknown, "webmail"),
    (Verifier::Hunter, "disposable", Risky, "disposable"),
    (Verifier::Hunter, "unknown", Unknown, "not_told"),
    (Verifier::Findymail, "true", Valid, "deliverable"),
    (Verifier::Findymail, "false", Risky, "not_verified"),
    (Verifier::Leadmagic, "valid", Valid, "deliverable"),
    (Verifier::Leadmagic, "valid_catch_all", Risky, "catch_all"),
    (Verifier::Leadmagic, "catch_all", Risky, "catch_all"),
    (Verifier::Leadmagic, "invalid", Invalid, "undeliverable"),
    (Verifier::Leadmagic, "unknown", Unknown, "not_told"),
    (Verifier::Zerobounce, "valid", Valid, "deliverable"),
    (Verifier::Zerobounce, "invalid", Invalid, "undeliverable"),
    (Verifier::Zerobounce, "catch-all", Risky, "catch_all"),
    (Verifier::Zerobounce, "spamtrap", Risky, "spam_trap"),
    (Verifier::Zerobounce, "abuse", Risky, "complainer"),
    (Verifier::Zerobounce, "do_not_mail", Risky, "do_not_mail"),
    (Verifier::Zerobounce, "unknown", Unknown, "not_told"),
    (Verifier::Neverbounce, "valid", Valid, "deliverable"),
    (Verifier::Neverbounce, "invalid", Invalid, "undeliverable"),
    (Verifier::Neverbounce, "disposable", Risky, "disposable"),
    (Verifier::Neverbounce, "catchall", Risky, "catch_all"),
    (Verifier::Neverbounce, "unknown", Unknown, "not_told"),
    (Verifier::Millionverifier, "ok", Valid, "deliverable"),
    (Verifier::Millionverifier, "invalid", Invalid, "undeliverable"),
    (Verifier::Millionverifier, "catch_all", Risky, "catch_all"),
    (Verifier::Millionverifier, "disposable", Risky, "disposable"),
    (Verifier::Millionverifier, "unknown", Unknown, "not_told"),
    (Verifier::Millionverifier, "error", Unknown, "not_told"),
    (Verifier::Millionverifier, "", Unknown, "not_told"),
];

/// What a verifier's word means, and why in a word of ours.
pub(super) fn meaning(verifier: Verifier, word: &str) -> (Verdict, &'static str) {
    let found =
        WORDS.iter().find(|(who, said, ..)| *who == verifier && said.eq_ignore_ascii_case(word.trim()));
    found.map_or(UNTOLD, |(.., verdict, reason)| (*verdict, *reason))
}
