//! Finding the browser that an operator names.

use std::path::{Path, PathBuf};

/// The program of this name in `PATH`, or at this path.
pub(crate) fn find(name: &str) -> Result<PathBuf, String> {
    let is_path = name.contains(std::path::MAIN_SEPARATOR);
    let folders = std::env::var_os("PATH").filter(|_| !is_path).unwrap_or_default();
    let candidates = std::env::split_paths(&folders).map(|folder| folder.join(name));
    let mut candidates = candidates.chain(is_path.then(|| PathBuf::from(name)));
    candidates.find(|path| is_program(path)).ok_or_else(|| {
        let place = if is_path { "there" } else { "in PATH" };
        format!(
            "no program {name:?} is {place}; install Chromium, or give its path, such as /usr/bin/chromium"
        )
    })
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_name_and_by_path() {
        assert!(find("sh").unwrap().ends_with("sh"));
        assert_eq!(find("/bin/sh"), Ok(PathBuf::from("/bin/sh")));
        for wrong in ["no-such-browser", "/no/such/browser", "/etc", "/etc/passwd", ""] {
            assert!(find(wrong).unwrap_err().contains("Chromium"), "{wrong}");
        }
    }
}
