//! `rowmill completions` and `rowmill man`, made from the definition of the command line, and `rowmill licenses`.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use crate::commands::unless_closed;

const NAME: &str = "rowmill";
/// Made by `cargo xtask notices` from the lock files.
const THIRD_PARTY_NOTICES: &str = include_str!("../third-party-notices.txt");

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this folder, instead of printing the one of rowmill.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

pub(crate) fn completions(args: &CompletionsArgs, mut command: clap::Command) -> Result<(), Box<dyn Error>> {
    // Into memory first: it does not bear a reader that goes away.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, NAME, &mut script);
    print(&script)
}

pub(crate) fn pages(args: &ManArgs, command: clap::Command) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = &args.folder {
        let told = |error| format!("cannot write the pages to {}: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(told)?;
        clap_mangen::generate_to(command, folder).map_err(told)?;
        return Ok(());
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    print(&page)
}

pub(crate) fn licenses() -> Result<(), Box<dyn Error>> {
    print(THIRD_PARTY_NOTICES.as_bytes())
}

fn print(text: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    Ok(unless_closed(out.write_all(text).and_then(|()| out.flush()))?)
}
