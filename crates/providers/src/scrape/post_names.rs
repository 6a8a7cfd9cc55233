//! How the software of forums names its posts, and what it puts around their words.

use scraper::node::Element;

use super::boilerplate::{name_parts, values};

/// How software names a post.
const POST_WORDS: [&str; 12] = [
    "answer", "comment", "comments", "message", "messages", "post", "postbody", "postcell", "posting",
    "posts", "replies", "reply",
];
/// An element with more names than this gains nothing by the rest.
const NAMES_MAX: usize = 8;

/// What stands around the words of a post, by the whole name of a class, in the most used forums.
const FURNITURE: [&str; 60] = [
    "action-bar",
    "author_buttons",
    "bbcodeblock--expandable",
    "bbcodeblock--quote",
    "block-outer",
    "cauthorpane",
    "commenttop",
    "extrauserinfo",
    "ipscomment_author",
    "ipscomment_badges",
    "ipscomment_controls",
    "ipscomment_meta",
    "ipscomment_tools",
    "ipsentry__header",
    "ipsentry__signature",
    "ipsquote",
    "ipsresponsive_showphone",
    "ipssidemenu",
    "ipswidget",
    "js-post-comments-component",
    "js-post-menu",
    "js-quickreply",
    "keyinfo",
    "message-actionbar",
    "message-attribution",
    "message-cell--user",
    "message-footer",
    "message-signature",
    "message-user",
    "message-userextras",
    "messageuserblock",
    "messageuserinfo",
    "moderatorbar",
    "more-topics__list",
    "notice",
    "post-actions",
    "post-buttons",
    "post-layout--left",
    "post-likes",
    "post-quote",
    "post-signature",
    "post-toolbar",
    "post_author",
    "poster",
    "postfoot",
    "postleft",
    "postprofile",
    "postsignature",
    "postuserinfo",
    "quotebox",
    "reply-button",
    "share-button",
    "signature",
    "tagline",
    "text-muted",
    "user-info",
    "user-signature",
    "userinfo",
    "votecell",
    "xfa-gptts-block",
];

/// What an element may be in a thread.
#[derive(Debug)]
pub(super) struct InThread {
    /// The names by which it may be one of the posts.
    pub(super) post_names: Vec<String>,
    /// Whether it stands around the words of a post.
    pub(super) is_furniture: bool,
}

impl InThread {
    pub(super) fn of(element: &Element) -> Self {
        Self { post_names: post_names(element), is_furniture: is_furniture(element) }
    }
}

/// The names by which an element may be one of a thread's posts.
fn post_names(element: &Element) -> Vec<String> {
    if matches!(element.name(), "html" | "body" | "main" | "a" | "span" | "p" | "input" | "button") {
        return Vec::new();
    }
    let names = values(element, &["class", "itemprop"]).flat_map(str::split_ascii_whitespace);
    let is_post = |word: &str| POST_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known));
    names.filter(|name| name_parts(name).any(is_post)).take(NAMES_MAX).map(str::to_owned).collect()
}

/// Whether an element stands around the words of a post.
fn is_furniture(element: &Element) -> bool {
    let mut names = values(element, &["class"]).flat_map(str::split_ascii_whitespace);
    names.any(|name| {
        let lower = name.bytes().map(|byte| byte.to_ascii_lowercase());
        FURNITURE.binary_search_by(|known| known.bytes().cmp(lower.clone())).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_order() {
        assert!(FURNITURE.is_sorted());
    }
}
