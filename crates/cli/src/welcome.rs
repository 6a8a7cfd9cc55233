//! What a start says: where the service is and, the very first time, how to get in.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use rowmill_app::NewKey;

/// Where the first key is, if nobody sees what is printed.
const FILE: &str = "first-key.txt";

/// Who and where the service is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Welcome<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) base_url: &'a str,
    /// Where the data is, for people.
    pub(crate) place: &'a str,
    pub(crate) data_dir: &'a Path,
    /// On the very first start: the key, and the token of the link that signs in.
    pub(crate) first: Option<(&'a NewKey, &'a str)>,
}

impl Welcome<'_> {
    /// Says it on standard output. The first key is shown in a terminal only: elsewhere the output is a log, which is kept
    /// and read by others.
    pub(crate) fn print(self) -> io::Result<()> {
        let out = io::stdout();
        let is_seen = out.is_terminal();
        self.write(&mut out.lock(), is_seen)
    }

    fn write(self, out: &mut impl Write, is_seen: bool) -> io::Result<()> {
        let Self { address, base_url, place, data_dir, first } = self;
        writeln!(out, "Rowmill is listening on http://{address} (data in {place})")?;
        if let Some((new_key, token)) = first {
            let key = new_key.secret.reveal();
            let link = format!("{base_url}/signin/{token}");
            if is_seen {
                write_first(out, key, &link, base_url)?;
            } else {
                write_where(out, keep(data_dir, key, &link))?;
            }
            writeln!(out, "Docs:     {base_url}/docs\n")?;
        }
        out.flush()
    }
}

fn write_first(out: &mut impl Write, key: &str, link: &str, base_url: &str) -> io::Result<()> {
    writeln!(
        out,
        "\nFirst start. Open this link to sign in (it works once, within one hour):\n\n  {link}\n"
    )?;
    writeln!(out, "API key of the team \"default\". Save it: it is shown only once.\n\n  {key}\n")?;
    writeln!(out, "Try it:   curl -H \"Authorization: Bearer {key}\" {base_url}/v4/projects")
}

fn write_where(out: &mut impl Write, kept: io::Result<PathBuf>) -> io::Result<()> {
    match kept {
        Ok(path) => writeln!(
            out,
            "\nFirst start. The API key of the team \"default\", and a link that signs in once within one hour, are in \
             {}\nwhich only its owner can read. Save the key and delete the file.\n",
            path.display()
        ),
        Err(error) => writeln!(
            out,
            "\nFirst start. The first API key could not be written to a file ({error}). Create one with \
             `rowmill key create --team default`.\n"
        ),
    }
}

/// Writes key and link into a file for its owner alone. One that is there is of a database that is gone.
fn keep(data_dir: &Path, key: &str, link: &str) -> io::Result<PathBuf> {
    let path = data_dir.join(FILE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path)?;
    writeln!(file, "{key}\n{link}")?;
    file.sync_all()?;
    fs::canonicalize(&path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const KEY: &str = "rm_canary";
    const LINK: &str = "http://x/signin/canary";

    #[test]
    fn a_terminal_is_shown_the_key() {
        let mut out = Vec::new();
        write_first(&mut out, KEY, LINK, "http://x").unwrap();
        let told = String::from_utf8(out).unwrap();
        assert!(told.contains(KEY) && told.contains(LINK), "{told}");
    }

    #[test]
    fn elsewhere_it_is_in_a_file_for_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), "of another database").unwrap();
        let path = keep(dir.path(), KEY, LINK).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{KEY}\n{LINK}\n"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let mut out = Vec::new();
        write_where(&mut out, Ok(path.clone())).unwrap();
        write_where(&mut out, keep(&dir.path().join("missing"), KEY, LINK)).unwrap();
        let told = String::from_utf8(out).unwrap();
        assert!(told.contains(path.to_str().unwrap()) && told.contains("rowmill key create"), "{told}");
        assert!(!told.contains("canary"), "{told}");
    }
}
