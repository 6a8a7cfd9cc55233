//! Addresses to listen on, as people write them.

use std::net::SocketAddr;

/// Reads an address and a port. `localhost` is this machine.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    let address = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    address.parse().map_err(|error| {
        format!(
            "write an IP address and a port: 127.0.0.1:8080 for this machine only, 0.0.0.0:8080 for all addresses of the \
             machine, or [::1]:8080 ({error})"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_a_port() {
        for (text, read) in
            [("127.0.0.1:1", "127.0.0.1:1"), (" [::]:80", "[::]:80"), ("localhost:8080", "127.0.0.1:8080")]
        {
            assert_eq!(listen_address(text).unwrap(), read.parse().unwrap());
        }
        for wrong in ["8080", ":8080", "127.0.0.1", "example.com:80", "localhost:x", "http://127.0.0.1:8080"]
        {
            let words = listen_address(wrong).unwrap_err();
            assert!(words.contains("0.0.0.0:8080") && words.ends_with(')'), "{wrong}: {words}");
        }
    }
}
