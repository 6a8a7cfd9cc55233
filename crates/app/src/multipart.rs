//! Reading forms that are sent in parts (`multipart/form-data`, RFC 7578). The body is in memory and bounded already.

use std::borrow::Cow;

/// A part of a form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) name: String,
    /// The text of a field; none for a file.
    pub(crate) text: Option<Cow<'a, str>>,
}

/// The boundary that a Content-Type names.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    let value = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"').to_owned())
    })?;
    (1..=70).contains(&value.len()).then_some(value)
}

/// The parts between the boundaries, one by one; an error says what is wrong.
pub(crate) fn parts<'a>(
    body: &'a [u8],
    boundary: &str,
) -> impl Iterator<Item = Result<Part<'a>, &'static str>> {
    let delimiter = format!("\r\n--{boundary}").into_bytes();
    // The first boundary may have nothing before it.
    let opening = delimiter.get(2..).unwrap_or_default();
    let mut rest = if body.starts_with(opening) {
        body.get(opening.len()..)
    } else {
        find(body, &delimiter).and_then(|at| body.get(at + delimiter.len()..))
    };
    let mut is_over = false;
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let Some(after) = rest.filter(|after| after.starts_with(b"\r\n") || after.starts_with(b"--")) else {
            is_over = true;
            return Some(Err("is not a multipart form with the boundary of its Content-Type"));
        };
        if after.starts_with(b"--") {
            is_over = true;
            return None;
        }
        let Some(end) = find(after, &delimiter) else {
            is_over = true;
            return Some(Err("is a multipart form that ends early"));
        };
        rest = after.get(end + delimiter.len()..);
        Some(part(after.get(2..end).unwrap_or_default()))
    })
}

/// A part: its head, an empty line, and its content. A part whose head is empty begins with that line.
fn part(bytes: &[u8]) -> Result<Part<'_>, &'static str> {
    let wrong = "has a part without a Content-Disposition that names its field";
    let split = find(bytes, b"\r\n\r\n").ok_or(wrong)?;
    let head = std::str::from_utf8(bytes.get(..split).unwrap_or_default()).map_err(|_| wrong)?;
    let disposition = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    });
    let disposition = disposition.ok_or(wrong)?;
    let name = parameter(disposition, "name").ok_or(wrong)?;
    let is_file =
        parameter(disposition, "filename").is_some() || parameter(disposition, "filename*").is_some();
    let content = bytes.get(split + 4..).unwrap_or_default();
    if is_file {
        return Ok(Part { name, text: None });
    }
    let text = std::str::from_utf8(content).map_err(|_| "has a field that is not valid UTF-8")?;
    Ok(Part { name, text: Some(Cow::Borrowed(text)) })
}

/// A parameter of `form-data; name="a"; filename="b"`. Browsers write `"` in a name as `%22`.
fn parameter(disposition: &str, wanted: &str) -> Option<String> {
    let mut rest = disposition.split_once(';')?.1;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after
                .split_once(';')
                .map_or((after, ""), |(value, _)| (value, after.get(value.len()..).unwrap_or(""))),
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value.trim().replace("%22", "\""));
        }
        rest = next.split_once(';').map_or("", |(_, next)| next);
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Vec<Result<(String, Option<String>), &'static str>> {
        let told = |part: Result<Part<'_>, &'static str>| {
            part.map(|part| (part.name, part.text.map(Cow::into_owned)))
        };
        parts(body.as_bytes(), "x").map(told).collect()
    }

    #[test]
    fn fields_and_files_are_told_apart() {
        let body = "ignored\r\n--x\r\ncontent-disposition: form-data; name=\"a%22b\"\r\nContent-Type: text/plain\r\n\r\n\
                    one\r\n--two\r\n--x\r\nContent-Disposition: form-data; filename=f.txt; name=file\r\n\r\nbytes\r\n--x--";
        let expected =
            [Ok(("a\"b".to_owned(), Some("one\r\n--two".to_owned()))), Ok(("file".to_owned(), None))];
        assert_eq!(read(body), expected);
        assert_eq!(read("--x--\r\n"), []);
    }

    #[test]
    fn what_is_no_form_is_told() {
        for body in ["", "x", "--y\r\n", "--xy"] {
            assert_eq!(
                read(body),
                [Err("is not a multipart form with the boundary of its Content-Type")],
                "{body}"
            );
        }
        assert_eq!(
            read("--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1"),
            [Err("is a multipart form that ends early")]
        );
        assert_eq!(read("--x\r\nA: b\r\n\r\n1\r\n--x--").len(), 1);
    }

    #[test]
    fn boundaries_are_found() {
        assert_eq!(boundary("multipart/form-data; charset=x; Boundary=\"a b\""), Some("a b".to_owned()));
        assert_eq!(boundary("multipart/form-data"), None);
        assert_eq!(boundary("multipart/form-data; boundary="), None);
    }
}
