//! Rust source taken apart: what the compiler runs, what people read, what is data.

/// Offsets into `code` and `comments` are offsets into the file: what is left out is blank there.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) code: String,
    pub(super) comments: String,
    pub(super) strings: Vec<Literal>,
}

/// A string literal as written between its quotes.
#[derive(Debug)]
pub(super) struct Literal {
    pub(super) offset: usize,
    pub(super) line: usize,
    pub(super) text: String,
}

impl Source {
    pub(super) fn new(text: &str) -> Self {
        let mut reader = Reader { rest: text, offset: 0, line: 1, source: Self::default() };
        while !reader.rest.is_empty() {
            reader.step();
        }
        reader.source
    }
}

/// Words and single marks, with their offsets; blanks fall away.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let rest = text.get(offset..)?;
        let start = offset + (rest.len() - rest.trim_start().len());
        let rest = text.get(start..)?;
        let first = rest.chars().next()?;
        let length = match word_length(rest) {
            0 => first.len_utf8(),
            length => length,
        };
        offset = start + length;
        Some((start, rest.get(..length)?))
    })
}

pub(super) fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

struct Reader<'a> {
    rest: &'a str,
    offset: usize,
    line: usize,
    source: Source,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    String,
}

impl Reader<'_> {
    fn step(&mut self) {
        let rest = self.rest;
        if rest.starts_with("//") {
            self.take(rest.find('\n').unwrap_or(rest.len()), Kind::Comment);
        } else if rest.starts_with("/*") {
            self.take(block_comment_length(rest), Kind::Comment);
        } else if let Some(opening) = Opening::of(rest) {
            self.string(&opening);
        } else if rest.starts_with('\'') {
            self.take(character_length(rest), Kind::Code);
        } else {
            let first = rest.chars().next().map_or(1, char::len_utf8);
            self.take(word_length(rest).max(first), Kind::Code);
        }
    }

    fn string(&mut self, opening: &Opening) {
        let body = self.rest.get(opening.length..).unwrap_or_default();
        let body_length = opening.body_length(body);
        let text = body.get(..body_length).unwrap_or_default().to_owned();
        self.source.strings.push(Literal { offset: self.offset, line: self.line, text });
        self.take(opening.length + body_length + 1 + opening.hashes, Kind::String);
    }

    fn take(&mut self, length: usize, kind: Kind) {
        // An unfinished literal ends with the file.
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        for character in taken.chars() {
            let blank = if character == '\n' { "\n" } else { &" ".repeat(character.len_utf8()) };
            for (part, shown) in
                [(&mut self.source.code, Kind::Code), (&mut self.source.comments, Kind::Comment)]
            {
                if kind == shown {
                    part.push(character);
                } else {
                    part.push_str(blank);
                }
            }
            self.line += usize::from(character == '\n');
        }
        self.offset += taken.len();
        self.rest = rest;
    }
}

/// What a string literal begins with: `"`, `b"`, `r#"` and their like.
struct Opening {
    length: usize,
    raw: bool,
    hashes: usize,
}

impl Opening {
    fn of(rest: &str) -> Option<Self> {
        let after_kind = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
        let after_raw = after_kind.strip_prefix('r');
        let after_prefix = after_raw.unwrap_or(after_kind);
        let after_hashes =
            if after_raw.is_some() { after_prefix.trim_start_matches('#') } else { after_prefix };
        let body = after_hashes.strip_prefix('"')?;
        Some(Self {
            length: rest.len() - body.len(),
            raw: after_raw.is_some(),
            hashes: after_prefix.len() - after_hashes.len(),
        })
    }

    fn body_length(&self, body: &str) -> usize {
        if self.raw {
            let closing = format!("\"{}", "#".repeat(self.hashes));
            return body.find(&closing).unwrap_or(body.len());
        }
        length_until(body, '"')
    }
}

/// Up to the mark, stepping over what a backslash escapes.
fn length_until(text: &str, mark: char) -> usize {
    let mut characters = text.char_indices();
    while let Some((offset, character)) = characters.next() {
        match character {
            '\\' => _ = characters.next(),
            _ if character == mark => return offset,
            _ => {}
        }
    }
    text.len()
}

/// A character literal as a whole; of a lifetime only the mark, the name follows as a word.
fn character_length(rest: &str) -> usize {
    let body = rest.get(1..).unwrap_or_default();
    let mut characters = body.chars();
    match (characters.next(), characters.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => length_until(body, '\'') + 2,
        _ => 1,
    }
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut offset = 0;
    while let Some(here) = rest.get(offset..).filter(|here| !here.is_empty()) {
        if here.starts_with("/*") {
            depth += 1;
            offset += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            offset += 2;
        } else {
            offset += here.chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            break;
        }
    }
    offset
}

fn word_length(text: &str) -> usize {
    text.find(|character: char| !(character.is_alphanumeric() || character == '_')).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, code: &str, strings: &[&str]) {
        let source = Source::new(text);
        let words: Vec<&str> = source.code.split_whitespace().collect();
        assert_eq!(words.join(" "), code, "{text}");
        let found: Vec<&str> = source.strings.iter().map(|literal| literal.text.as_str()).collect();
        assert_eq!(found, strings, "{text}");
        assert_eq!((source.code.len(), source.comments.len()), (text.len(), text.len()), "{text}");
    }

    #[test]
    fn code_comments_and_strings_are_told_apart() {
        check("a // b \"c\"\nd", "a d", &[]);
        check("a /* b /* c */ d */ e", "a e", &[]);
        check(r#"f("// not", "é \" b", b"c")"#, "f( , , )", &["// not", "é \\\" b", "c"]);
        check(r###"r"\" r#"a"b"# br##"c"#d"##"###, "", &["\\", "a\"b", "c\"#d"]);
        check("x: &'a str = '\"'; '\\''; b'\\\\' \"s\"", "x: &'a str = '\"'; '\\''; b'\\\\'", &["s"]);
        check("r#mod, bar, crab", "r#mod, bar, crab", &[]);
        check("\"open", "", &["open"]);
    }

    #[test]
    fn places_are_the_files_own() {
        let text = "// é\nlet a = \"é\";\nb";
        let source = Source::new(text);
        assert_eq!(source.strings[0].line, 2);
        assert_eq!(source.strings[0].offset, text.find('"').unwrap());
        assert_eq!(source.comments.trim_end(), "// é");
        assert_eq!(line_at(text, text.len() - 1), 3);
        let found: Vec<_> = tokens(&source.code).map(|(_, token)| token).collect();
        assert_eq!(found, ["let", "a", "=", ";", "b"]);
    }
}
