//! Why a connection to another server failed, in plain words: the one place that knows what libraries call it.

/// What happened and what to do, with the library's own words at the end.
///
/// ```
/// let words = rowmill_model::connection_failure::explain("Connection refused (os error 111)");
/// assert!(words.starts_with("nothing listens there.") && words.ends_with("(Connection refused (os error 111))"));
/// ```
pub fn explain(cause: &str) -> String {
    let cause = cause.trim().trim_end_matches('.');
    match plain(cause) {
        Some(words) => format!("{words}. ({cause})"),
        None => cause.to_owned(),
    }
}

/// What libraries say, in lower case, and what it means. The first that fits counts.
const MEANINGS: &[(&[&str], &str)] = &[
    (
        &["temporary failure in name resolution", "try again"],
        "its name could not be looked up, because DNS does not answer. Check the network and the DNS settings of this machine",
    ),
    (
        &[
            "failed to lookup address",
            "name or service not known",
            "no address associated",
            "nodename nor servname",
            "dns error",
        ],
        "there is no address for this name. Check the spelling, and that DNS on this machine knows the name",
    ),
    (&["connection refused"], "nothing listens there. Check host and port, and that the server runs"),
    (
        &["network is unreachable", "no route to host", "host is unreachable"],
        "there is no way to it through the network. Check the network and the firewall of this machine",
    ),
    (
        &[
            "unknownissuer",
            "unknown issuer",
            "unable to get local issuer",
            "self-signed",
            "self signed",
            "causedasendentity",
        ],
        "its certificate comes from an authority that this machine does not trust. Have the server send its whole chain of \
         certificates, or add the authority to the trusted certificates of this machine",
    ),
    (
        &["certificate expired", "certificate has expired", "certificate: expired"],
        "its certificate has expired. Renew it, or correct the clock of this machine",
    ),
    (
        &["not valid yet", "notvalidyet"],
        "its certificate is not valid yet. Check the clocks of both machines",
    ),
    (
        &["not valid for name", "notvalidforname", "hostname mismatch"],
        "its certificate is for another name. Use the name that the certificate has, or get a certificate for this one",
    ),
    (
        &["invalidcontenttype", "wrong version number", "corrupt message"],
        "it does not speak TLS on this port. Use http:// in place of https://, or the port for HTTPS",
    ),
    (
        &["invalid peer certificate", "certificate verify failed"],
        "its certificate cannot be used. Check the certificate of the server",
    ),
    (
        &["handshakefailure", "handshake failure", "protocolversion", "peer is incompatible"],
        "TLS could not be agreed on. The server must offer TLS 1.2 or 1.3",
    ),
    (
        &[
            "connection reset",
            "broken pipe",
            "close_notify",
            "eof",
            "connection closed",
            "incomplete message",
        ],
        "the other side closed the connection. Try again; if it goes on, look into the log of that server",
    ),
];

fn plain(cause: &str) -> Option<&'static str> {
    let cause = cause.to_lowercase();
    let fits = |words: &[&str]| words.iter().any(|word| cause.contains(word));
    MEANINGS.iter().find(|(words, _)| fits(words)).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libraries_say_is_told_in_plain_words() {
        for (cause, told) in [
            (
                "failed to lookup address information: Name or service not known",
                "there is no address for this name",
            ),
            (
                "failed to lookup address information: Temporary failure in name resolution",
                "DNS does not answer",
            ),
            ("Connection refused (os error 111)", "nothing listens there"),
            ("Network is unreachable (os error 101)", "no way to it"),
            ("invalid peer certificate: UnknownIssuer", "does not trust"),
            ("certificate verify failed: unable to get local issuer certificate", "does not trust"),
            ("invalid peer certificate: certificate expired: verification time 17 (UNIX)", "has expired"),
            ("invalid peer certificate: certificate not valid for name \"a.test\"", "for another name"),
            ("invalid peer certificate: BadEncoding", "cannot be used"),
            ("received corrupt message of type InvalidContentType", "does not speak TLS"),
            ("received fatal alert: HandshakeFailure", "TLS could not be agreed on"),
            ("Connection reset by peer (os error 104)", "closed the connection"),
        ] {
            let words = explain(cause);
            assert!(words.contains(told) && words.ends_with(&format!("({cause})")), "{cause}: {words}");
        }
        assert_eq!(explain("something new."), "something new");
    }
}
