//! The data folder: whether it can be used, by its owner alone, and has room.

use std::fs::File;
use std::path::Path;

use rowmill_store_sqlite::DATABASE_FILE;

use super::permissions::{RUN_AS, is_denied, unreadable};
use super::report::Finding;
use crate::config::Serve;
use crate::secret_key;
use crate::storage_space::Space;

const FOLDER: &str = "folder";
const DISK: &str = "disk";
/// Below this a start may fail.
const ROOM_BYTES_MIN: u64 = 100 << 20;

pub(super) fn check(serve: &Serve) -> Vec<Finding> {
    let data_dir = &serve.store.data_dir;
    let mut findings = of_folder(data_dir, "data folder");
    findings.extend(of_secret_key(serve));
    findings.extend(space(data_dir));
    if serve.backups.backup_every.0.is_some()
        && let Some(folder) = &serve.backups.backup_dir
    {
        findings.extend(of_folder(folder, "backup folder"));
        findings.extend(space(folder));
    }
    findings
}

fn of_folder(folder: &Path, name: &str) -> Vec<Finding> {
    let place = folder.display();
    match std::fs::metadata(folder) {
        Ok(data) if !data.is_dir() => {
            let message = format!("The {name} {place} is not a folder.");
            return vec![Finding::problem(FOLDER, message, "Choose another one, or move that file away.")];
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return not_there(folder, name),
        Err(error) => {
            let message = format!("The {name} {place} cannot be looked up: {error}.");
            let action = if is_denied(&error) {
                RUN_AS
            } else {
                "Let the user that runs Rowmill into the folders above it."
            };
            return vec![Finding::problem(FOLDER, message, action)];
        }
    }
    if let Err(error) = try_write(folder) {
        let message = format!("The {name} {place} cannot be written to: {error}.");
        let action = if is_denied(&error) {
            RUN_AS
        } else {
            "Give it to the user that runs Rowmill (chown), and see that the disk is not read-only."
        };
        return vec![Finding::problem(FOLDER, message, action)];
    }
    if is_open(folder) {
        let message = format!("Other users can look into the {name} {place}.");
        return vec![Finding::warning(FOLDER, message, format!("Run chmod 700 {place}."))];
    }
    vec![Finding::ok(
        FOLDER,
        format!("The {name} {place} can be written to, and only its owner can read it."),
    )]
}

/// A first start makes the folder, if it can.
fn not_there(folder: &Path, name: &str) -> Vec<Finding> {
    let place = folder.display();
    let here = |above: &'_ Path| above.as_os_str().is_empty();
    let mut above = folder.ancestors().skip(1).map(|above| if here(above) { Path::new(".") } else { above });
    let above = above.find(|above| above.exists());
    match above.map(|above| (above, try_write(above))) {
        Some((_, Ok(()))) => {
            vec![Finding::ok(
                FOLDER,
                format!("The {name} {place} is not there yet; the first start makes it."),
            )]
        }
        Some((above, Err(error))) => vec![Finding::problem(
            FOLDER,
            format!("The {name} {place} is not there and cannot be made in {}: {error}.", above.display()),
            "Make it, and give it to the user that runs Rowmill.",
        )],
        None => vec![Finding::problem(FOLDER, format!("The {name} {place} is not there."), "Make it.")],
    }
}

/// Writes a file of our own and removes it.
fn try_write(folder: &Path) -> std::io::Result<()> {
    let file = folder.join(format!(".rowmill-doctor-{}", std::process::id()));
    let made = File::options().write(true).create_new(true).open(&file);
    let removed = std::fs::remove_file(&file);
    made.and(removed)
}

fn is_open(path: &Path) -> bool {
    #[cfg(unix)]
    if let Ok(data) = std::fs::metadata(path) {
        return std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o077 != 0;
    }
    let _ = path;
    false
}

fn of_secret_key(serve: &Serve) -> Option<Finding> {
    let data_dir = &serve.store.data_dir;
    let is_set = serve.secret_key.as_ref().is_some_and(|key| !key.0.expose().trim().is_empty());
    let file = data_dir.join(secret_key::FILE);
    if let Some(refused) = unreadable(FOLDER, &file).filter(|_| !is_set) {
        return Some(refused);
    }
    if file.exists() {
        return is_open(&file).then(|| {
            let message = format!("Other users can read {}.", file.display());
            Finding::problem(FOLDER, message, format!("Run chmod 600 {}.", file.display()))
        });
    }
    let has_database = serve.store.url().is_none() && data_dir.join(DATABASE_FILE).exists();
    (has_database && !is_set).then(|| {
        Finding::problem(
            FOLDER,
            format!(
                "{} is missing, so credentials and secrets in the database cannot be read.",
                file.display()
            ),
            "Put it back from a backup, or set ROWMILL_SECRET_KEY.",
        )
    })
}

fn space(folder: &Path) -> Option<Finding> {
    // Of what is not there yet, the disk is that of the folder above.
    let folder = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    let space = Space::of(folder)?;
    let (free, total) = (space.free >> 20, space.total >> 20);
    let told = format!("{free} MiB of {total} MiB are free on the disk of {}", folder.display());
    Some(if space.free < ROOM_BYTES_MIN {
        Finding::problem(DISK, told, "Free some space or enlarge the disk: writes fail when it is full.")
    } else if space.is_low() {
        Finding::warning(DISK, told, "Free some space or enlarge the disk soon.")
    } else {
        Finding::ok(DISK, told)
    })
}
