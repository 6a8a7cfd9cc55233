//! Addresses to listen on: as people write them, and listening there.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// Connections that wait until they are accepted: all that come while the server is busy for a moment. The system has a limit of
/// its own (`net.core.somaxconn`).
const BACKLOG: u32 = 4096;

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

pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    listening(address).map_err(|error| {
        let is_used = error.kind() == std::io::ErrorKind::AddrInUse;
        let advice = if is_used { ". Stop the program that uses it, or choose another address" } else { "" };
        format!("cannot listen on {address}: {error}{advice}")
    })
}

fn listening(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restart need not wait for connections of the server before it.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_burst_of_connections_waits_to_be_accepted() {
        let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        // Nobody accepts them. One too many would hear nothing.
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_secs(5)).unwrap();
        let connections: Vec<TcpStream> = (0..400).map(connect).collect();
        assert_eq!(connections.len(), 400);
        assert!(bind(address).unwrap_err().contains("Stop the program that uses it"));
    }

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
