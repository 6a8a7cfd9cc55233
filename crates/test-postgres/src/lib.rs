//! A throwaway PostgreSQL for one test program, ended with it in any case.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that has no database fails by panicking, and says why"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Where the programs are looked for, after `ROWMILL_TEST_POSTGRES`.
const FOLDERS: &[&str] = &[
    "/usr/lib/postgresql/17/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/15/bin",
    "/usr/local/bin",
    "/usr/bin",
];
/// Whom the server runs as when the tests run as root, which it refuses to.
const NOBODY: u32 = 65_534;

/// The server of this test program; none if it is switched off.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(Server::start).as_ref()
}

#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    port: u16,
    databases: AtomicU32,
    /// The shell that watches the server goes by its input, which stays open for as long as this lives.
    _watch: Child,
}

impl Server {
    /// A server of one's own that keeps what it committed, with the settings it comes with, in a folder
    /// below this one; none where no PostgreSQL is found or it is switched off. It ends when it is dropped.
    pub fn durable(parent: &Path) -> Option<Self> {
        let named = std::env::var_os("ROWMILL_TEST_POSTGRES");
        let programs = programs(named.as_ref().map(PathBuf::from))?;
        Some(Self::launch(&programs, parent, &[]))
    }

    fn start() -> Option<Self> {
        let named = std::env::var_os("ROWMILL_TEST_POSTGRES");
        if named.as_ref().is_some_and(|named| named == "off") {
            eprintln!("PostgreSQL is switched off: nothing is tested here");
            return None;
        }
        let programs = programs(named.map(PathBuf::from)).expect(
            "no PostgreSQL found: install one, name the folder of its programs in ROWMILL_TEST_POSTGRES, \
             or set that to `off`",
        );
        // Tests outlive no crash of the machine.
        Some(Self::launch(&programs, &std::env::temp_dir(), &["-c", "fsync=off"]))
    }

    fn launch(programs: &Path, parent: &Path, settings: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("rowmill-pg-").tempdir_in(parent).unwrap().keep();
        if rustix::process::getuid().is_root() {
            // Its own, so that the server's user can also remove it.
            std::os::unix::fs::chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let data = folder.join("data");
        let made = as_nobody(&programs.join("initdb"))
            .args(["--auth=trust", "--username=rowmill", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        // A shell stands between: it outlives this program by a moment, ends the server and cleans up.
        let child = as_nobody(Path::new("/bin/sh"))
            .args(["-c", WATCH, "watch"])
            .arg(programs.join("postgres"))
            .arg(&folder)
            .args(settings)
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"])
            .args(["-c", &format!("port={port}"), "-c", "unix_socket_directories="])
            .arg("-D")
            .arg(&data)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        wait_for(port, &folder);
        Self { folder, port, databases: AtomicU32::new(0), _watch: child }
    }

    /// The address of a new and empty database.
    pub async fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run("postgres", &format!("CREATE DATABASE {name}")).await;
        self.address(&name)
    }

    /// Clears a database away, whoever may still use it.
    pub async fn remove(&self, address: &str) {
        if let Some((_, name)) = address.rsplit_once('/') {
            self.run("postgres", &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        }
    }

    fn address(&self, database: &str) -> String {
        format!("postgres://rowmill@127.0.0.1:{}/{database}", self.port)
    }

    async fn run(&self, database: &str, sql: &str) {
        let client = client(&self.address(database)).await;
        client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error} ({})", self.folder.display()));
    }
}

/// A connection beside the store's.
pub async fn client(address: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Runs the server until its own input ends, which it does when the test program ends, however it does.
const WATCH: &str = r#"
program=$1; folder=$2; shift 2
"$program" "$@" </dev/null & server=$!
cat >/dev/null
kill -QUIT "$server"
wait "$server"
rm -rf "$folder"
"#;

fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new(program);
    if rustix::process::getuid().is_root() {
        std::os::unix::process::CommandExt::uid(&mut command, NOBODY);
        std::os::unix::process::CommandExt::gid(&mut command, NOBODY);
    }
    command.current_dir("/tmp").env_remove("PGDATA");
    command
}

fn programs(named: Option<PathBuf>) -> Option<PathBuf> {
    if named.as_deref().is_some_and(|named| named == Path::new("off")) {
        return None;
    }
    let mut folders = named.into_iter().chain(FOLDERS.iter().map(PathBuf::from));
    folders.find(|folder| folder.join("initdb").exists())
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn wait_for(port: u16, folder: &Path) {
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let address = format!("postgres://rowmill@127.0.0.1:{port}/postgres");
    while runtime.block_on(tokio_postgres::connect(&address, tokio_postgres::NoTls)).is_err() {
        let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(started.elapsed() < Duration::from_secs(30), "PostgreSQL does not start: {}", log());
        std::thread::sleep(Duration::from_millis(50));
    }
}
