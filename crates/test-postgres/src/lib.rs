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
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

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
const TIME_MAX: Duration = Duration::from_secs(30);
/// Tests outlive no crash of the machine.
const FORGETFUL: &[&str] = &["-c", "fsync=off"];

/// The server of this test program; none if it is switched off.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(own).as_ref()
}

/// A server of one's own, to be done badly by; none if it is switched off.
pub fn own() -> Option<Server> {
    let server = Server::make(&programs()?, &std::env::temp_dir(), FORGETFUL);
    server.start();
    Some(server)
}

/// A server of one's own that keeps what it committed, with the settings it comes with, in a folder below this one;
/// none where no PostgreSQL is found or it is switched off.
pub fn durable(parent: &Path) -> Option<Server> {
    let server = Server::make(&find_programs()?, parent, &[]);
    server.start();
    Some(server)
}

/// A primary and a standby of one's own. What the primary says is committed, the standby has.
pub fn pair() -> Option<(Server, Server)> {
    let programs = programs()?;
    let folder = std::env::temp_dir();
    let primary =
        Server::make(&programs, &folder, &[FORGETFUL, &["-c", "synchronous_standby_names=*"]].concat());
    let from = format!("primary_conninfo=host=127.0.0.1 port={} user=rowmill", primary.port);
    let standby = Server::new(&programs, &folder, &[FORGETFUL, &["-c", &from]].concat());
    let copied = as_nobody(Path::new("/bin/cp")).arg("-r").args([primary.data(), standby.data()]).status();
    assert!(copied.unwrap().success());
    assert!(
        as_nobody(Path::new("/usr/bin/touch"))
            .arg(standby.data().join("standby.signal"))
            .status()
            .unwrap()
            .success()
    );
    primary.start();
    standby.start();
    Some((primary, standby))
}

/// A server, ended when it is dropped.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    options: Vec<String>,
    databases: AtomicU32,
    /// Shells that watch over it for as long as their input is open.
    watches: Mutex<Vec<Child>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Or it would not hear that it is to end.
        if self.pid().is_some() {
            self.thaw();
        }
    }
}

impl Server {
    /// A server with data of its own, not started yet.
    fn make(programs: &Path, parent: &Path, options: &[&str]) -> Self {
        let server = Self::new(programs, parent, options);
        let made = as_nobody(&programs.join("initdb"))
            .args(["--auth=trust", "--username=rowmill", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(server.data())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server
    }

    fn new(programs: &Path, parent: &Path, options: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("rowmill-pg-").tempdir_in(parent).unwrap().keep();
        if rustix::process::getuid().is_root() {
            // Its own, so that the server's user can also remove it.
            std::os::unix::fs::chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        Self {
            programs: programs.to_owned(),
            folder,
            port: free_port(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            databases: AtomicU32::new(0),
            watches: Mutex::default(),
        }
    }

    /// Starts it again after it was killed.
    pub fn start(&self) {
        let log = std::fs::File::options().create(true).append(true).open(self.folder.join("log")).unwrap();
        // A shell stands between: it outlives this program by a moment, ends the server and cleans up.
        let watch = as_nobody(Path::new("/bin/sh"))
            .args(["-c", WATCH, "watch"])
            .arg(self.programs.join("postgres"))
            .arg(&self.folder)
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"])
            .args(["-c", &format!("port={}", self.port), "-c", "unix_socket_directories="])
            .args(&self.options)
            .arg("-D")
            .arg(self.data())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.watches.lock().unwrap().push(watch);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let address = self.address("postgres");
        self.wait_until("start", || {
            runtime.block_on(tokio_postgres::connect(&address, tokio_postgres::NoTls)).is_ok()
        });
    }

    /// The address of a new and empty database.
    pub async fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run("postgres", &format!("CREATE DATABASE {name}")).await;
        self.address(&name)
    }

    /// What is in a database, as statements that [`load`] puts into another.
    pub fn dump(&self, address: &str) -> String {
        let dumped = as_nobody(&self.programs.join("pg_dump"))
            .args(["--inserts", "--rows-per-insert=500", "--no-owner", "--dbname", address])
            .output()
            .unwrap();
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
        let dumped = String::from_utf8(dumped.stdout).unwrap();
        // What begins with a backslash is for psql alone.
        dumped.lines().filter(|line| !line.starts_with('\\')).collect::<Vec<_>>().join("\n")
    }

    /// Clears a database away, whoever may still use it.
    pub async fn remove(&self, address: &str) {
        if let Some((_, name)) = address.rsplit_once('/') {
            self.run("postgres", &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        }
    }

    /// Kills it and all its processes at once, as a machine that loses power would.
    pub fn kill(&self) {
        self.signal_all(Signal::KILL);
        // Or the number, which somebody else may get, would be taken for the server's.
        std::fs::remove_file(self.pid_file()).unwrap();
    }

    /// Has it take connections and say nothing, as a machine that hangs.
    pub fn freeze(&self) {
        self.signal_all(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal_all(Signal::CONT);
    }

    fn signal_all(&self, signal: Signal) {
        let pid = self.pid().expect("it runs");
        let children = format!("/proc/{pid}/task/{pid}/children", pid = pid.as_raw_nonzero());
        let children = std::fs::read_to_string(children).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?));
        for process in [pid].into_iter().chain(children) {
            // One that has ended meanwhile is no worse.
            let _ = kill_process(process, signal);
        }
    }

    /// Ends it as an operator would, cutting off who is connected, and starts it again.
    pub fn restart(&self) {
        let pid = self.pid().expect("it runs");
        kill_process(pid, Signal::INT).unwrap();
        self.wait_until("stop", || self.pid().is_none());
        self.start();
    }

    /// Makes a standby the primary.
    pub fn promote(&self) {
        let promoted =
            as_nobody(&self.programs.join("pg_ctl")).args(["promote", "-D"]).arg(self.data()).output();
        let promoted = promoted.unwrap();
        assert!(promoted.status.success(), "{}", String::from_utf8_lossy(&promoted.stderr));
    }

    /// Where it listens, as an address names it.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn address(&self, database: &str) -> String {
        format!("postgres://rowmill@{}/{database}", self.host())
    }

    async fn run(&self, database: &str, sql: &str) {
        let client = client(&self.address(database)).await;
        client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error} ({})", self.folder.display()));
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn pid_file(&self) -> PathBuf {
        self.data().join("postmaster.pid")
    }

    fn pid(&self) -> Option<Pid> {
        let text = std::fs::read_to_string(self.pid_file()).ok()?;
        Pid::from_raw(text.lines().next()?.parse().ok()?)
    }

    fn wait_until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let started = Instant::now();
        while !is_so() {
            let log = || std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(started.elapsed() < TIME_MAX, "PostgreSQL does not {what}: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A connection beside the store's.
pub async fn client(address: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Fills an empty database with what was dumped from another.
pub async fn load(address: &str, dumped: &str) {
    client(address).await.batch_execute(dumped).await.unwrap();
}

/// Runs the server until its own input ends, which it does when the server is dropped or the test program ends,
/// however it does.
const WATCH: &str = r#"
program=$1; folder=$2; shift 2
"$program" "$@" </dev/null &
cat >/dev/null
server=$(head -n 1 "$folder/data/postmaster.pid" 2>/dev/null)
if [ -n "$server" ]; then
    kill -QUIT "$server" 2>/dev/null
    while kill -0 "$server" 2>/dev/null; do sleep 0.05; done
fi
rm -rf "$folder"
"#;

/// The folder of the server's programs; none if it is switched off.
fn programs() -> Option<PathBuf> {
    if std::env::var_os("ROWMILL_TEST_POSTGRES").is_some_and(|named| named == "off") {
        eprintln!("PostgreSQL is switched off: nothing is tested here");
        return None;
    }
    Some(find_programs().expect(
        "no PostgreSQL found: install one, name the folder of its programs in ROWMILL_TEST_POSTGRES, \
         or set that to `off`",
    ))
}

fn find_programs() -> Option<PathBuf> {
    let named = std::env::var_os("ROWMILL_TEST_POSTGRES").map(PathBuf::from);
    if named.as_deref().is_some_and(|named| named == Path::new("off")) {
        return None;
    }
    let mut folders = named.into_iter().chain(FOLDERS.iter().map(PathBuf::from));
    folders.find(|folder| folder.join("initdb").exists())
}

fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new(program);
    if rustix::process::getuid().is_root() {
        std::os::unix::process::CommandExt::uid(&mut command, NOBODY);
        std::os::unix::process::CommandExt::gid(&mut command, NOBODY);
    }
    command.current_dir("/tmp").env_remove("PGDATA");
    command
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
