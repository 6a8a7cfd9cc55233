//! Words as Markdown: what would be taken for markup is escaped.

/// Appends words, with every run of blanks as one. `line` is what stands before them.
pub(super) fn push_words(line: &mut String, words: &str) {
    let mut letters = words.chars().filter(|letter| !is_invisible(*letter)).peekable();
    let mut before = line.chars().next_back();
    while let Some(letter) = letters.next() {
        if letter.is_whitespace() {
            if before.is_some_and(|before| !before.is_whitespace()) {
                line.push(' ');
                before = Some(' ');
            }
            continue;
        }
        let after = letters.peek().copied();
        if is_escaped(letter, before, after) {
            line.push('\\');
        }
        line.push(letter);
        before = Some(letter);
    }
}

/// Characters that take no room: hints where a word may be broken, marks of byte order.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
        || matches!(letter, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
        || (letter.is_control() && !letter.is_whitespace())
}

fn is_escaped(letter: char, before: Option<char>, after: Option<char>) -> bool {
    let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    match letter {
        '*' | '`' => true,
        '\\' => after.is_some_and(|after| after.is_ascii_punctuation()),
        '_' => !(is_word(before) && is_word(after)),
        '<' => after.is_some_and(|after| after.is_ascii_alphabetic() || "/!?".contains(after)),
        ']' => after == Some('('),
        '~' => after == Some('~'),
        _ => false,
    }
}

/// A paragraph whose lines are not taken for headings, quotes or list items.
pub(super) fn paragraph(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.lines().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let digits = line.len() - line.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let rest = line.get(digits..).unwrap_or_default();
        let is_number = (1..10).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "));
        let is_item = line.starts_with("- ") || line.starts_with("+ ") || line == "-" || line == "+";
        let is_heading = line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
        if is_number {
            out.push_str(line.get(..digits).unwrap_or_default());
            out.push('\\');
            out.push_str(rest);
            continue;
        }
        if is_item || is_heading || line.starts_with('>') || line.starts_with("---") {
            out.push('\\');
        }
        out.push_str(line);
    }
    out
}

/// Lines after the first one moved to the right.
pub(super) fn indented(text: &str, width: usize) -> String {
    let blanks = " ".repeat(width);
    let mut out = String::with_capacity(text.len() + width);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
            if !line.is_empty() {
                out.push_str(&blanks);
            }
        }
        out.push_str(line);
    }
    out
}

/// Lines with a `>` before each.
pub(super) fn quoted(text: &str) -> String {
    let lines =
        text.split('\n').map(|line| if line.is_empty() { ">".to_owned() } else { format!("> {line}") });
    lines.collect::<Vec<_>>().join("\n")
}

/// Words between the shortest run of backticks that they do not contain.
pub(super) fn code_span(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    [&fence, blank, text, blank, &fence].concat()
}

/// The length of the longest run of backticks.
pub(super) fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_not_taken_for_markup() {
        for (words, expected) in [
            ("a  b\n c", "a b c"),
            ("1 * 2", "1 \\* 2"),
            ("snake_case _x_", "snake_case \\_x\\_"),
            ("a < b <c> </d>", "a < b \\<c> \\</d>"),
            ("f[0](x) [1]", "f[0\\](x) [1]"),
            ("~~a~~ ~b", "\\~~a\\~~ ~b"),
            ("so\u{ad}ft\u{200b}", "soft"),
            ("C:\\x \\*", "C:\\x \\\\\\*"),
        ] {
            let mut line = String::new();
            push_words(&mut line, words);
            assert_eq!(line, expected);
        }
        for (text, expected) in [
            ("# a", "\\# a"),
            ("#a", "#a"),
            ("- a\n> b", "\\- a\n\\> b"),
            ("12. a", "12\\. a"),
            ("2024.", "2024."),
        ] {
            assert_eq!(paragraph(text), expected);
        }
        assert_eq!(code_span("a`b"), "``a`b``");
        assert_eq!(code_span("`a`"), "`` `a` ``");
        assert_eq!(indented("a\n\nb", 2), "a\n\n  b");
        assert_eq!(quoted("a\n\nb"), "> a\n>\n> b");
    }
}
