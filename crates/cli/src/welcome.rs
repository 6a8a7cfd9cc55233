//! What a start says: where the service is and, the very first time, how to get in.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use rowmill_app::NewKey;
use serde_json::{Map, Value, json};

use crate::logging;

/// Who and where the service is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Welcome<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) address: SocketAddr,
    pub(crate) base_url: &'a str,
    /// Where the data is, for people.
    pub(crate) place: &'a str,
    /// Where the first key goes if it is not to be printed.
    pub(crate) key_file: Option<&'a Path>,
    /// On the very first start: the key, and the token of the link that signs in.
    pub(crate) first: Option<(&'a NewKey, &'a str)>,
}

impl Welcome<'_> {
    /// Says it on standard output.
    pub(crate) fn print(self) -> io::Result<()> {
        let Self { scheme, address, base_url, place, key_file, first } = self;
        let mut out = io::stdout().lock();
        let listening = format!("Rowmill is listening on {scheme}://{address} (data in {place})");
        if logging::is_json() {
            return write_json(&mut out, &listening, self);
        }
        writeln!(out, "{listening}")?;
        if let Some((new_key, token)) = first {
            let key = new_key.secret.reveal();
            let link = format!("{base_url}/signin/{token}");
            match key_file {
                Some(file) => write_where(&mut out, keep(file, key, &link))?,
                None => write_first(&mut out, key, &link, base_url)?,
            }
            writeln!(out, "Docs:     {base_url}/docs\n")?;
        }
        out.flush()
    }
}

/// The same as lines of the JSON log.
fn write_json(out: &mut impl Write, listening: &str, welcome: Welcome<'_>) -> io::Result<()> {
    let Welcome { scheme: _, address, base_url, place, key_file, first } = welcome;
    let about = json!({
        "address": address.to_string(), "url": base_url, "data": place, "version": env!("CARGO_PKG_VERSION"),
    });
    writeln!(out, "{}", logging::info(listening, fields(about)))?;
    if let Some((new_key, token)) = first {
        let key = new_key.secret.reveal();
        let link = format!("{base_url}/signin/{token}");
        let (message, told) = match key_file {
            None => (
                "First start. Save the API key of the team \"default\": it is shown only once. The link signs in once, \
                 within one hour"
                    .to_owned(),
                json!({ "team": "default", "api_key": key, "sign_in_link": link }),
            ),
            Some(file) => {
                let mut words = Vec::new();
                write_where(&mut words, keep(file, key, &link))?;
                let words = String::from_utf8_lossy(&words).split_whitespace().collect::<Vec<_>>().join(" ");
                (words, json!({ "team": "default" }))
            }
        };
        writeln!(out, "{}", logging::info(&message, fields(told)))?;
    }
    out.flush()
}

fn fields(told: Value) -> Map<String, Value> {
    match told {
        Value::Object(fields) => fields,
        _ => Map::new(),
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
            "\nFirst start. The first API key could not be written to --first-key-file ({error}). Create another with \
             `rowmill key create --team default`.\n"
        ),
    }
}

/// Refuses a first start whose key could not be kept: nobody would ever see it.
pub(crate) fn check_key_file(path: &Path, is_first_start: bool) -> Result<(), String> {
    let fault = match path.try_exists() {
        Ok(true) => "there is a file of this name already",
        Ok(false)
            if path.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) =>
        {
            "its folder does not exist"
        }
        Ok(false) => return Ok(()),
        Err(_) => "it cannot be looked up",
    };
    if !is_first_start {
        return Ok(());
    }
    Err(format!("--first-key-file {}: {fault}. Name a new file for the first API key", path.display()))
}

/// Writes key and link into a new file for its owner alone. A file that is there is somebody's, and stays.
fn keep(path: &Path, key: &str, link: &str) -> io::Result<PathBuf> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    writeln!(file, "{key}\n{link}")?;
    file.sync_all()?;
    fs::canonicalize(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "rm_canary";
    const LINK: &str = "http://x/signin/canary";

    #[test]
    fn a_first_start_needs_a_new_file() {
        let dir = tempfile::tempdir().unwrap();
        let [there, new] = ["there", "new"].map(|name| dir.path().join(name));
        fs::write(&there, "somebody's").unwrap();
        assert!(check_key_file(&there, true).unwrap_err().contains("there is a file of this name"));
        assert!(check_key_file(&dir.path().join("no/key"), true).unwrap_err().contains("folder"));
        assert_eq!((check_key_file(&new, true), check_key_file(&there, false)), (Ok(()), Ok(())));
    }

    #[test]
    fn a_file_that_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        fs::write(&path, "somebody's").unwrap();
        let mut out = Vec::new();
        write_where(&mut out, keep(&path, KEY, LINK)).unwrap();
        write_where(&mut out, keep(&dir.path().join("no folder/key"), KEY, LINK)).unwrap();
        let told = String::from_utf8(out).unwrap();
        assert_eq!(told.matches("rowmill key create").count(), 2, "{told}");
        assert!(!told.contains("canary"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's");
    }
}
