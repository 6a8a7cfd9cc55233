//! Who on the machine can read the data.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::harness::runner::scenarios;
use crate::harness::server::DataDir;
use crate::harness::{Scenario, Server};

pub(crate) const EMBEDDED: &[Scenario] = &scenarios!("permissions", Embedded:
    only_the_owner_reads_the_data,
    a_folder_with_other_files_keeps_its_mode,
);

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The files in the data folder with their modes.
fn check_files(data: &Path) {
    let names = ["rowmill.db", "rowmill.db-wal", "rowmill.db-shm", "secret.key"];
    for path in names.map(|name| data.join(name)) {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

fn only_the_owner_reads_the_data() {
    let folder = DataDir::new();
    let data = folder.data();
    fs::create_dir_all(&data).unwrap();
    chmod(&data, 0o755);
    let server = Server::start_in(folder.clone(), &[]);
    server.api().table(&["Name"]);
    assert_eq!(mode(&data), 0o700, "a folder that was there before");
    check_files(&data);
    server.kill();
    // As an older version left them.
    chmod(&data, 0o755);
    for entry in fs::read_dir(&data).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with("rowmill.db") {
            chmod(&entry.path(), 0o644);
        }
    }
    let server = Server::start_in(folder, &[]);
    server.api().get("/v4/projects").ok();
    assert_eq!(mode(&data), 0o700);
    check_files(&data);
}

fn a_folder_with_other_files_keeps_its_mode() {
    let folder = DataDir::new();
    let data = folder.data();
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("diary.txt"), "not ours").unwrap();
    chmod(&data, 0o755);
    let server = Server::start_in(folder, &[]);
    server.api().get("/v4/projects").ok();
    assert_eq!(mode(&data), 0o755);
    check_files(&data);
}
