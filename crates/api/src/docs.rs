//! The documentation: the document and the guides as pages to read, as Markdown, and as lists for agents. Made on the
//! server, without scripts, and nothing comes from another host.

mod article;
mod file;
mod frame;
mod guide_page;
mod guides;
mod llms;
mod lookup;
mod markdown;
mod markdown_schema;
mod operations;
mod overview;
mod schema;
mod search;

use serde_json::Value;

use self::article::tag_section;
pub(crate) use self::file::File;
use self::frame::{Frame, content_security_policy};
use self::guides::GUIDES;
use self::lookup::{entries, text};
use self::operations::slug;
pub(crate) use self::search::{SEARCH_PATH, Search};

/// All that is published, save the search.
pub(crate) fn files(document: &Value) -> Vec<File> {
    let page = |path: String, html: String| File::page(path, html, content_security_policy());
    let mut files = vec![
        page("/docs".to_owned(), Frame::index(document).html("", &overview::main(document))),
        File::markdown("api", markdown::introduction(document)),
        File::plain("/llms.txt", llms::index(document)),
        File::plain("/llms-full.txt", llms::full(document)),
    ];
    for tag in entries(document, "/tags") {
        let (name, part) = (text(tag, "/name"), slug(text(tag, "/name")));
        let html = Frame::part(document, &part).html(name, &tag_section(document, tag));
        files.push(page(format!("/docs/{part}"), html));
        files.push(File::markdown(&part, markdown::tag(document, tag)));
    }
    for guide in GUIDES {
        let markdown = guide.markdown();
        let html = Frame::part(document, guide.name).html(guide.title(), &guide_page::main(&markdown));
        files.push(page(format!("/docs/{}", guide.name), html));
        files.push(File::markdown(guide.name, markdown));
    }
    files
}
