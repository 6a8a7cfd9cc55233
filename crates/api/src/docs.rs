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

use self::article::tag_section;
pub(crate) use self::file::{File, Published};
use self::frame::{Frame, content_security_policy};
use self::guides::GUIDES;
use self::lookup::text;
use self::operations::slug;
pub(crate) use self::search::{SEARCH_PATH, Search};
use crate::openapi::Tag;

/// All that is published, save the search.
pub(crate) fn files(tags: &[Tag]) -> Vec<Published> {
    let page = |html: String| File::page(html, content_security_policy());
    let mut files = vec![
        Published::new("/docs".to_owned(), move |document| {
            page(Frame::index(document).html("", &overview::main(document)))
        }),
        Published::markdown("api", markdown::introduction),
        Published::new("/llms.txt".to_owned(), |document| File::plain(llms::index(document))),
        Published::new("/llms-full.txt".to_owned(), |document| File::plain(llms::full(document))),
    ];
    for tag in tags {
        let (tag, part) = (tag.entry(), slug(tag.name));
        let shown = tag.clone();
        files.push(Published::markdown(&part, move |document| markdown::tag(document, &tag)));
        files.push(Published::new(format!("/docs/{part}"), move |document| {
            page(Frame::part(document, &part).html(text(&shown, "/name"), &tag_section(document, &shown)))
        }));
    }
    for guide in GUIDES {
        files.push(Published::new(format!("/docs/{}", guide.name), move |document| {
            let main = guide_page::main(&guide.markdown());
            page(Frame::part(document, guide.name).html(guide.title(), &main))
        }));
        files.push(Published::markdown(guide.name, |_| guide.markdown()));
    }
    files
}
