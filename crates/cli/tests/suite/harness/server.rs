//! The real binary as a process: started on a free port, with a data folder of its own, and never left
//! behind.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::Mutex;
use tempfile::TempDir;

use super::api::Api;
use super::database::{self, Database};
use super::disk_faults::{self, DiskFault};
use super::disk_log;
use super::document::Document;
use super::eventually;
use super::http::{self, Request};

const START_TIME_MAX: Duration = Duration::from_secs(30);
const STOP_TIME_MAX: Duration = Duration::from_secs(40);

/// No limit that counts requests, so that tests may call as often as they like.
pub(crate) const UNLIMITED: &[(&str, &str)] = &[
    ("ROWMILL_RATE_LIMIT_KEY", "0"),
    ("ROWMILL_RATE_LIMIT_ANONYMOUS", "0"),
    ("ROWMILL_RATE_LIMIT_WEBHOOK", "0"),
    ("ROWMILL_RATE_LIMIT_AUTH_FAILURES", "0"),
];

/// What its metrics are asked for with.
pub(crate) const METRICS_TOKEN: &str = "metrics-token-of-the-suite";

/// A running service. Dropping it ends its process.
pub(crate) struct Server {
    process: Arc<Mutex<Child>>,
    pub(crate) address: String,
    /// What it has printed so far, line by line.
    printed: Arc<Mutex<Vec<String>>>,
    document: Arc<Document>,
    key: String,
    folder: Arc<DataDir>,
    settings: Vec<(String, String)>,
    role: &'static str,
}

/// Where a service lives: its working folder, with its data in `data`, and the database it uses.
pub(crate) struct DataDir {
    directory: TempDir,
    /// None if it is the embedded one.
    database_url: Option<String>,
    /// Whether the database goes with the folder.
    is_own: bool,
    disk: Disk,
}

/// What is done to the disk that the data is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disk {
    Plain,
    /// What is written is logged.
    Logged,
    /// It can be made to fail.
    Faulty,
}

impl DataDir {
    pub(crate) fn new() -> Arc<Self> {
        Self::on(Database::current())
    }

    pub(crate) fn on(database: Database) -> Arc<Self> {
        let directory = TempDir::with_prefix("rowmill-suite-").unwrap();
        Arc::new(Self { directory, database_url: database.create(), is_own: true, disk: Disk::Plain })
    }

    /// A folder whose service uses a database that somebody else sees to.
    pub(crate) fn at(database_url: String) -> Arc<Self> {
        let directory = TempDir::with_prefix("rowmill-suite-").unwrap();
        Arc::new(Self { directory, database_url: Some(database_url), is_own: false, disk: Disk::Plain })
    }

    /// A folder with the embedded database, where everything that any process writes is logged.
    pub(crate) fn logged() -> Arc<Self> {
        let directory = TempDir::with_prefix("rowmill-suite-").unwrap();
        Arc::new(Self { directory, database_url: None, is_own: true, disk: Disk::Logged })
    }

    /// A folder with the embedded database, on a disk that can be made to fail.
    pub(crate) fn faulty() -> Arc<Self> {
        let directory = TempDir::with_prefix("rowmill-suite-").unwrap();
        Arc::new(Self { directory, database_url: None, is_own: true, disk: Disk::Faulty })
    }

    /// From now on this is the matter with the disk.
    pub(crate) fn set_fault(&self, fault: Option<DiskFault>) {
        assert_eq!(self.disk, Disk::Faulty);
        // In one step: it is read at every call.
        let next = self.directory.path().join("fault.next");
        std::fs::write(&next, fault.map_or("", DiskFault::word)).unwrap();
        std::fs::rename(next, self.disk_fault()).unwrap();
    }

    fn disk_fault(&self) -> PathBuf {
        self.directory.path().join("fault")
    }

    /// The log of what was written, beside the data.
    pub(crate) fn disk_log(&self) -> PathBuf {
        self.directory.path().join("disk-log")
    }

    /// Another folder on the same database.
    pub(crate) fn beside(&self) -> Arc<Self> {
        Self::at(self.database_url.clone().expect("nodes share a database"))
    }

    /// Its database, as `rowmill move` is told of it.
    pub(crate) fn address(&self) -> String {
        self.database_url.clone().unwrap_or_else(|| format!("sqlite:{}", self.data().display()))
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        if let Some(address) = self.database_url.as_ref().filter(|_| self.is_own) {
            database::remove(address);
        }
    }
}

/// The server that most scenarios share, one a database.
pub(crate) fn shared() -> &'static Server {
    static SQLITE: LazyLock<Server> = LazyLock::new(|| Server::start(&[]));
    static POSTGRES: LazyLock<Server> = LazyLock::new(|| Server::start(&[]));
    match Database::current() {
        Database::Sqlite => &SQLITE,
        Database::Postgres => &POSTGRES,
    }
}

/// Every process that was started, and the folder it works in.
static STARTED: Mutex<Vec<(Arc<Mutex<Child>>, PathBuf)>> = Mutex::new(Vec::new());

/// Ends and clears away what is still there: the shared server, and those of a scenario that hangs.
pub(crate) fn stop_all() {
    for (process, folder) in STARTED.lock().drain(..) {
        end(&process);
        let _ = std::fs::remove_dir_all(folder);
    }
}

impl Server {
    /// A service without rate limits, and with these variables besides.
    pub(crate) fn start(variables: &[(&str, &str)]) -> Self {
        let settings: Vec<_> = UNLIMITED.iter().chain(variables).copied().collect();
        Self::start_in(DataDir::new(), &settings)
    }

    /// A service with just these variables, in a folder that may have been used before.
    pub(crate) fn start_in(folder: Arc<DataDir>, settings: &[(&str, &str)]) -> Self {
        let settings = owned(settings);
        let started = spawn(&folder, serve(&folder, &settings, SERVE));
        Self::of(started, folder, settings)
    }

    /// A service started by a command that says it all.
    pub(crate) fn start_command(folder: Arc<DataDir>, command: Command) -> Self {
        let started = spawn(&folder, command);
        Self::of(started, folder, Vec::new())
    }

    fn of(
        (process, address, printed): Started,
        folder: Arc<DataDir>,
        settings: Vec<(String, String)>,
    ) -> Self {
        let document = document_at(&address);
        let key = create_key(&folder, "default");
        Self { process, address, printed, document, key, folder, settings, role: SERVE }
    }

    /// Another process on the same database, with these variables besides: `serve`, or `worker`.
    pub(crate) fn beside(&self, role: &'static str, variables: &[(&str, &str)]) -> Self {
        let settings = [self.settings.clone(), owned(variables)].concat();
        let folder = Arc::clone(&self.folder);
        let (process, address, printed) = spawn(&folder, serve(&folder, &settings, role));
        let (document, key) = (Arc::clone(&self.document), self.key.clone());
        Self { process, address, printed, document, key, folder, settings, role }
    }

    /// The API as a holder of a key of the team `default` sees it.
    pub(crate) fn api(&self) -> Api {
        self.api_with(&self.key)
    }

    pub(crate) fn api_with(&self, key: &str) -> Api {
        Api::new(&self.address, Some(key.to_owned()), Arc::clone(&self.document))
    }

    pub(crate) fn api_without_key(&self) -> Api {
        Api::new(&self.address, None, Arc::clone(&self.document))
    }

    /// What `/metrics` tells whoever has the token.
    pub(crate) fn metrics(&self) -> String {
        let answer = self.api_without_key().send(metrics_request());
        assert_eq!(answer.status(), 200, "{}", answer.text);
        answer.text
    }

    pub(crate) fn folder(&self) -> &Arc<DataDir> {
        &self.folder
    }

    /// The id of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.lock().id()
    }

    pub(crate) fn printed(&self) -> String {
        self.printed.lock().join("\n")
    }

    /// Runs a command on this server's data, beside it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Output {
        rowmill(&self.folder, arguments)
    }

    /// A new team with a key of its own.
    pub(crate) fn team(&self, slug: &str) -> Api {
        let made = self.command(&["team", "create", "--slug", slug]);
        assert!(made.status.success(), "{made:?}");
        self.api_with(&create_key(&self.folder, slug)).of_team(slug)
    }

    /// Kills it as a crash would, without a word, and starts it again on what it left.
    pub(crate) fn crash_and_restart(&mut self) {
        self.kill();
        self.restart();
    }

    pub(crate) fn kill(&self) {
        end(&self.process);
    }

    /// Starts it again as [`Server::restart`] does, unless it refuses. Then what it said is told.
    pub(crate) fn try_restart(&mut self) -> Result<(), String> {
        std::fs::write(self.folder.path().join("log"), "").unwrap();
        match start(&self.folder, serve(&self.folder, &self.settings, self.role)) {
            Some((process, address, printed)) => {
                (self.process, self.address, self.printed) = (process, address, printed);
                Ok(())
            }
            None => Err(log_of(&self.folder)),
        }
    }

    pub(crate) fn log(&self) -> String {
        log_of(&self.folder)
    }

    /// Starts it again, with the settings it had, after it ended.
    pub(crate) fn restart(&mut self) {
        let (process, address, printed) = spawn(&self.folder, serve(&self.folder, &self.settings, self.role));
        (self.process, self.address, self.printed) = (process, address, printed);
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.lock().id()
    }

    /// Asks it to stop, as an operator would.
    pub(crate) fn terminate(&self) {
        let id = self.process_id();
        let sent = Command::new("kill").args(["-TERM", &id.to_string()]).status().unwrap();
        assert!(sent.success());
    }

    pub(crate) fn wait_for_end(&self) -> ExitStatus {
        eventually("the process ends", STOP_TIME_MAX, || self.process.lock().try_wait().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&self.process);
        if std::thread::panicking() {
            eprintln!("--- the log of the server at {}:\n{}", self.address, log_of(&self.folder));
        }
    }
}

/// A request for metrics by whoever has the token.
pub(crate) fn metrics_request() -> Request {
    Request::get("/metrics").header("Authorization", &format!("Bearer {METRICS_TOKEN}"))
}

/// Runs the binary in a folder, on the data in it. Only what the caller says is set.
pub(crate) fn rowmill(folder: &DataDir, arguments: &[&str]) -> Output {
    command(folder).args(arguments).output().unwrap()
}

/// What a service says that refuses to start.
pub(crate) fn refusal(folder: &DataDir, settings: &[(&str, &str)]) -> String {
    let mut command = command(folder);
    command.envs(settings.iter().copied()).args(["serve", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let ended = eventually_ended(&mut child);
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(!ended.success(), "it started: {told}");
    told
}

/// Its end, or its end by force if it does not come by itself.
fn eventually_ended(child: &mut Child) -> ExitStatus {
    let start = std::time::Instant::now();
    loop {
        if let Some(ended) = child.try_wait().unwrap() {
            return ended;
        }
        if start.elapsed() > START_TIME_MAX {
            let _ = (child.kill(), child.wait());
            panic!("it was to refuse to start, and runs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn command(folder: &DataDir) -> Command {
    let released = std::env::var_os("ROWMILL_TEST_BINARY");
    let mut command = Command::new(released.unwrap_or_else(|| env!("CARGO_BIN_EXE_rowmill").into()));
    for (name, _) in std::env::vars_os() {
        let is_setting = |prefix: &str| name.to_string_lossy().starts_with(prefix);
        if is_setting("ROWMILL_") || is_setting("OTEL_") {
            command.env_remove(name);
        }
    }
    command.current_dir(folder.path()).env("ROWMILL_DATA_DIR", folder.data()).stdin(Stdio::null());
    if let Some(address) = &folder.database_url {
        command.env("ROWMILL_DATABASE_URL", address);
    }
    match folder.disk {
        Disk::Plain => {}
        Disk::Logged => {
            command.env("LD_PRELOAD", disk_log::library());
            command.env("DISK_LOG", folder.disk_log()).env("DISK_FOLDER", folder.data());
        }
        Disk::Faulty => {
            command.env("LD_PRELOAD", disk_faults::library());
            command.env("DISK_FAULT", folder.disk_fault()).env("DISK_FOLDER", folder.data());
        }
    }
    command
}

fn create_key(folder: &DataDir, team: &str) -> String {
    let made = rowmill(folder, &["key", "create", "--team", team]);
    assert!(made.status.success(), "{made:?}");
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

type Started = (Arc<Mutex<Child>>, String, Arc<Mutex<Vec<String>>>);

const SERVE: &str = "serve";

fn owned(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn serve(folder: &DataDir, settings: &[(String, String)], role: &str) -> Command {
    let mut command = command(folder);
    command
        .env("ROWMILL_LOG", "warn")
        .env("ROWMILL_LISTEN", "127.0.0.1:0")
        .env("ROWMILL_METRICS_TOKEN", METRICS_TOKEN)
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .arg(role);
    command
}

fn spawn(folder: &DataDir, command: Command) -> Started {
    start(folder, command).unwrap_or_else(|| panic!("the server ended; its log:\n{}", log_of(folder)))
}

/// None if it ends by itself.
fn start(folder: &DataDir, mut command: Command) -> Option<Started> {
    let log = std::fs::File::options().create(true).append(true).open(folder.path().join("log")).unwrap();
    let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let process = Arc::new(Mutex::new(child));
    let entry = (Arc::clone(&process), folder.path().to_owned());
    STARTED.lock().push(entry);
    let printed: Arc<Mutex<Vec<String>>> = Arc::default();
    let collected = Arc::clone(&printed);
    std::thread::spawn(move || {
        lines.map_while(Result::ok).for_each(|line| collected.lock().push(line));
    });
    let address = eventually("the server says where it listens", START_TIME_MAX, || {
        if process.lock().try_wait().unwrap().is_some() {
            return Some(None);
        }
        let address = printed.lock().iter().find_map(|line| {
            let (_, rest) = line.split_once("listening on http://")?;
            rest.split(' ').next().map(str::to_owned)
        });
        address.map(Some)
    })?;
    eventually("the server is ready", START_TIME_MAX, || {
        http::exchange(&address, &Request::get("/readyz")).ok().filter(|response| response.status == 200)
    });
    Some((process, address, printed))
}

fn document_at(address: &str) -> Arc<Document> {
    let response = http::exchange(address, &Request::get("/openapi.json")).unwrap();
    Document::of(&String::from_utf8(response.body).unwrap())
}

fn log_of(folder: &DataDir) -> String {
    std::fs::read_to_string(folder.path().join("log")).unwrap_or_default()
}

fn end(process: &Mutex<Child>) {
    let mut process = process.lock();
    let _ = process.kill();
    let _ = process.wait();
}
