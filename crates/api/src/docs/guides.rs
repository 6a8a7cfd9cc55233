//! The guides of the repository's `docs` folder, as the server publishes them.

pub(super) struct Guide {
    /// Its name in an address.
    pub(super) name: &'static str,
    /// One line for whoever chooses what to read.
    pub(super) about: &'static str,
    source: &'static str,
    pub(super) is_for_operators: bool,
}

macro_rules! guides {
    ($($reader:ident $name:literal: $about:literal;)*) => {
        pub(super) const GUIDES: &[Guide] = &[$(Guide {
            name: $name,
            about: $about,
            source: include_str!(concat!("../../../../docs/", $name, ".md")),
            is_for_operators: guides!(@ $reader),
        }),*];
    };
    (@ user) => { false };
    (@ operator) => { true };
}

guides! {
    user "first-table": "make a table, add rows, fill columns and export, in curl, Python and TypeScript";
    user "api-tour": "the calls that programs use most: rows, columns, runs, import and export, in curl";
    user "errors": "error codes of requests and of cells, and what to do";
    user "agents": "work with tables through the Model Context Protocol at `/mcp`";
    user "command-line": "`rowmill` as a client: sign in, list, import, export, run, follow";
    user "keys": "API keys with scopes, projects, an expiry and allowed addresses";
    user "column-types": "types of values: how they are read, shown, sorted and filtered";
    user "finding": "find text, sum up columns, group rows, folders, and copies of projects";
    user "imports": "CSV and JSON Lines, at once or in the background";
    user "ai-columns": "how language models are asked, structured output, fallbacks";
    user "research": "columns that search the web, read pages and answer with their sources";
    user "provider-credentials": "keys of providers and secrets, for a team and for all teams";
    user "costs": "estimates, prices, spending caps, and what was spent";
    user "lookups": "find and verify e-mail addresses, find companies and people";
    user "scraping": "what the web scraper reads of a page, and in which form";
    user "fan-out": "lists in cells, such as people or pages, become rows of another project";
    user "webhooks-in": "rows from other services and from an event platform, and the log of what came in";
    user "webhooks-out": "be told of rows, cells and runs by signed webhooks";
    user "switching": "moving from Clay or Airtable: what comes over, and what is called what";
    user "clients": "typed clients in Python and TypeScript";
    operator "install": "from a tarball, as a Debian package, from source, as a systemd service, in containers";
    operator "operating": "commands, settings, monitoring, disk";
    operator "proxies": "nginx, Caddy and HAProxy in front of Rowmill";
    operator "backup": "back up, restore and check";
    operator "moving": "move to another database";
    operator "scaling": "several nodes, PostgreSQL, sharding";
    operator "security": "what is promised and how it is tested";
    operator "upgrading": "what to do for each version";
}

impl Guide {
    pub(super) fn title(&self) -> &'static str {
        self.source.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// The guide without links into the repository, which the server does not publish.
    pub(super) fn markdown(&self) -> String {
        let mut text = String::new();
        let mut rest = self.source;
        while let Some((before, after)) = rest.split_once("](../") {
            let (label_start, end) = (before.rfind('['), after.find(')'));
            let (Some(start), Some(end)) = (label_start, end) else { break };
            text.push_str(before.get(..start).unwrap_or_default());
            text.push_str(before.get(start + 1..).unwrap_or_default());
            rest = after.get(end + 1..).unwrap_or_default();
        }
        text.push_str(rest);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guide_is_published() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name == "images" {
                continue;
            }
            let is_listed = GUIDES.iter().any(|guide| format!("{}.md", guide.name) == name);
            assert!(is_listed, "add docs/{name} to the list in docs/guides.rs");
        }
    }

    #[test]
    fn links_go_to_what_is_published() {
        for guide in GUIDES {
            let text = guide.markdown();
            assert!(guide.source.starts_with("# ") && !guide.title().is_empty(), "{}", guide.name);
            for link in text.split("](").skip(1) {
                let target = link.split(')').next().unwrap_or_default();
                let page = target.split('#').next().unwrap_or_default();
                let is_guide = GUIDES.iter().any(|guide| format!("{}.md", guide.name) == page);
                assert!(
                    is_guide || page.is_empty() || page.starts_with("https://"),
                    "{}: {target}",
                    guide.name
                );
            }
        }
        let scaling = GUIDES.iter().find(|guide| guide.name == "scaling").unwrap();
        assert!(scaling.source.contains("[bench/README.md](../bench/README.md)"));
        assert!(scaling.markdown().contains("\nbench/README.md compares"), "{}", scaling.markdown());
    }
}
