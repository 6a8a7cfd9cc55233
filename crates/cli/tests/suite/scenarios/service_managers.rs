//! What systemd and a container's health check are told.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use crate::harness::runner::scenarios;
use crate::harness::server::{DataDir, Server};
use crate::harness::{Scenario, rowmill};

pub(crate) const OWN: &[Scenario] = &scenarios!("service_managers", Own:
    systemd_hears_of_the_start_the_stop_and_that_the_server_is_alive,
    health_is_asked_from_the_command_line,
);

fn systemd_hears_of_the_start_the_stop_and_that_the_server_is_alive() {
    let folder = DataDir::new();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let heard = || {
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).expect("a word from the server");
        String::from_utf8_lossy(&buffer[..length]).trim().to_owned()
    };
    let settings = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "200000")];
    let server = Server::start_in(folder, &settings);
    assert_eq!(heard(), "READY=1");
    assert_eq!([heard(), heard(), heard()], ["WATCHDOG=1"; 3]);
    server.terminate();
    let last = std::iter::repeat_with(heard).find(|word| word != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1"));
    assert!(server.wait_for_end().success());
}

fn health_is_asked_from_the_command_line() {
    let server = Server::start_in(DataDir::new(), &[]);
    let address = server.address.clone();
    for path in ["--timeout=5", "--ready"] {
        let asked = server.command(&["health", "--listen", &address, path]);
        assert!(asked.status.success(), "{asked:?}");
        assert!(asked.stdout.is_empty() && asked.stderr.is_empty(), "{asked:?}");
    }
    server.terminate();
    server.wait_for_end();
    let asked = rowmill(server.folder(), &["health", "--listen", &address]);
    assert_eq!(asked.status.code(), Some(1));
    let told = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(told.contains(&format!("http://{address}/healthz does not answer")), "{told}");
}
