//! What elements become in Markdown.

use scraper::Html;
use url::Url;

use super::super::boilerplate::Keep;
use super::super::kept_nodes::KeptNodes;

fn written(html: &str, with_images: bool) -> String {
    let document = Html::parse_document(html);
    let kept = KeptNodes::of(&document, Keep::Everything);
    super::write(&document, &kept, &Url::parse("https://example.com/").unwrap(), with_images)
}

fn check(html: &str, expected: &str) {
    assert_eq!(written(html, false), expected, "{html}");
}

#[test]
fn code_keeps_its_lines_and_its_language() {
    check(
        "<pre><code class='language-rust'>fn a() {\n    b * c\n}\n</code></pre>",
        "```rust\nfn a() {\n    b * c\n}\n```",
    );
    check(
        "<div class='highlight-python notranslate'><pre><span>a</span>\n<span>b</span></pre></div>",
        "```python\na\nb\n```",
    );
    check("<pre class='brush: js; x'>a<br>b</pre>", "```js\na\nb\n```");
    check("<pre class='hljs sql'>select</pre><p>x", "```sql\nselect\n```\n\nx");
    check("<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```");
    check("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````");
    check("<pre><button>Copy</button><span class=lineno>1</span>a</pre>", "```\na\n```");
    check("<p>Run <code>a_b  *c*</code> or <code>`x`</code>.", "Run `a_b *c*` or `` `x` ``.");
    check("<p><code>a<br>b</code></p>", "```\na\nb\n```");
    check(
        "<table><tr><td><pre>1\n2</pre></td><td><pre class=language-c>a\nb</pre></td></tr></table>",
        "```c\na\nb\n```",
    );
    check("<pre> </pre>", "");
}

#[test]
fn tables_are_tables() {
    check(
        "<table><caption>Mills</caption><thead><tr><th>Name<th>Wheel</thead><tr><th>A|B<td>yes<tr><td>C<td></table>",
        "Mills\n\n| Name | Wheel |\n| --- | --- |\n| A\\|B | yes |\n| C | |",
    );
    check(
        "<table><tr><td>a<td><p>b</p><p>c</p><tr><td>d<td><table><tr><td>e<td>f</table></table>",
        "| a | b<br>c |\n| --- | --- |\n| d | e<br>f |",
    );
    check("<table><tr><td>only<td>a row</table>", "only\n\na row");
    check("<table><tr><td>one<tr><td>column</table>", "one\n\ncolumn");
    check("<table role=presentation><tr><td><h2>A</h2><td>b<tr><td>c<td>d</table>", "## A\n\nb\n\nc\n\nd");
}

#[test]
fn lists_keep_their_order_and_depth() {
    check("<ol start=3><li>a<li>b<ul><li>c<li>d</ul><li>e</ol>", "3. a\n4. b\n   - c\n   - d\n5. e");
    check("<ul><li><p>a</p><p>b</p><li>c</ul>", "- a\n\n  b\n\n- c");
    check("<ul><li>a</li><ul><li>b</li></ul></ul>", "- a\n  - b");
    check("<ul>a<li>b</li></ul>", "- a\n- b");
    check("<dl><dt>a</dt><dd>b</dd><p>c</p></dl>", "a\n: b\n\nc");
    check("<ul><li><pre>a\nb</pre></ul>", "- ```\n  a\n  b\n  ```");
    // Lists in one another without end are not moved to the right without end.
    let deep = written(&["<ul>".repeat(300), "<li>a<li>b".to_owned()].concat(), false);
    assert!(deep.len() < 1_000 && deep.contains('a') && deep.contains('b'), "{deep}");
    check(
        "<dl><dt>Mill</dt><dd>It grinds.</dd><dd>It turns.</dd><div><dt>River</dt><dd>It <b>runs</b>.</dd></div></dl>",
        "Mill\n: It grinds.\n: It turns.\n\nRiver\n: It **runs**.",
    );
}

#[test]
fn words_are_neither_glued_nor_torn() {
    check("<p><span>Free</span><span>Pro</span> <b>H</b>ello</p>", "Free Pro **H**ello");
    check("<a href=/a>A</a><a href=/b>B</a>", "[A](https://example.com/a) [B](https://example.com/b)");
    check("<div>a<div>b</div>c</div>", "a\n\nb\n\nc");
    check("<my-card>a</my-card><my-card>b</my-card>", "a b");
    check("<p>a<b> b </b>c</p>", "a **b** c");
    check("<p><b><strong>a</strong></b><i> </i>b</p>", "**a** b");
    check("<p>Press <kbd>Ctrl</kbd>+<kbd>C</kbd></p>", "Press <kbd>Ctrl</kbd>+<kbd>C</kbd>");
    check(
        "<h2><a href=/a>Mill</a><i>songs</i><span>4AD</span></h2>",
        "## [Mill](https://example.com/a) songs 4AD",
    );
    check("<label>Name</label><button>Send</button>", "Name Send");
}

#[test]
fn headings_quotes_and_links() {
    check("<h2>A <b>b</b><a href='#x'>¶</a></h2><h3><div>c</div><div>d</div></h3>", "## A b\n\n### c d");
    check("<blockquote><p>a</p><blockquote>b</blockquote></blockquote>", "> a\n>\n> > b");
    check("<a href='/x_(y)'>a</a> <a href='javascript:x'>b</a>", "[a](https://example.com/x_%28y%29) b");
    check("<a href=/c><h3>Card</h3><p>More</p></a>", "### [Card](https://example.com/c)\n\nMore");
    check("<a href=/c><div>Card</div></a>", "[Card](https://example.com/c)");
    check("<p>a</p><hr><hr><p>b</p>", "a\n\n* * *\n\nb");
    check("<p>1. a<br># b</p>", "1\\. a  \n\\# b");
}

#[test]
fn images_are_shown_on_request() {
    let html = "<p>a <img src=/b.png alt='A *b*'> c<img src=data:x alt=d></p>";
    assert_eq!(written(html, true), "a ![A \\*b\\*](https://example.com/b.png) c");
    assert_eq!(written(html, false), "a c");
}
