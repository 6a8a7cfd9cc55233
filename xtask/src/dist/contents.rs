//! The files that every form of a release has, laid out once. The binary writes its own completions and manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use super::elf::Program;
use crate::process::{AnyResult, output, program, root, run};
use crate::supply_chain;

/// A folder with `rowmill`, `completions/`, `man/` and the papers.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) folder: PathBuf,
    pub(super) program: Program,
    pub(super) version: String,
    /// The time that all files get, in seconds since 1970.
    pub(super) seconds: String,
}

/// As each shell's own folder wants the file to be named.
pub(super) const COMPLETIONS: &[(&str, &str)] =
    &[("bash", "rowmill.bash"), ("zsh", "_rowmill"), ("fish", "rowmill.fish")];

impl Contents {
    pub(super) fn make(
        folder: &Path,
        binary: &Path,
        program: Program,
        version: String,
        seconds: String,
    ) -> AnyResult<Self> {
        let contents = Self { folder: folder.to_owned(), program, version, seconds };
        fs::create_dir_all(folder.join("completions"))?;
        contents.binary(binary)?;
        for (shell, name) in COMPLETIONS {
            let script = output(contents.rowmill().args(["completions", shell]))?;
            fs::write(folder.join("completions").join(name), script)?;
        }
        run(contents.rowmill().args(["man", "--folder"]).arg(folder.join("man")))?;
        let notices = fs::read_to_string(supply_chain::notices_path())?;
        if output(contents.rowmill().arg("licenses"))? != notices {
            return Err(format!(
                "{}: `rowmill licenses` prints other notices than the repository has",
                binary.display()
            )
            .into());
        }
        fs::write(folder.join("third-party-notices.txt"), notices)?;
        fs::write(contents.sbom(), supply_chain::bill_of_materials(&contents.version)?)?;
        for (from, to) in [
            ("LICENSE", "LICENSE"),
            ("CHANGELOG.md", "CHANGELOG.md"),
            ("packaging/rowmill.service", "rowmill.service"),
            ("docs/install.md", "INSTALL.md"),
        ] {
            fs::copy(root().join(from), folder.join(to)).map_err(|error| format!("{from}: {error}"))?;
        }
        Ok(contents)
    }

    pub(super) fn sbom(&self) -> PathBuf {
        self.folder.join("sbom.cdx.json")
    }

    /// Without symbols, and without what a debugger reads.
    fn binary(&self, binary: &Path) -> AnyResult {
        let own = self.folder.join("rowmill");
        run(program("strip").arg("--strip-unneeded").arg("-o").arg(&own).arg(binary))?;
        run(program("chmod").arg("0755").arg(own))
    }

    /// In a folder of its own, where no settings file is found.
    fn rowmill(&self) -> std::process::Command {
        let mut command = program(self.folder.join("rowmill"));
        command.current_dir(&self.folder);
        command
    }
}
