//! Paths that lead to one value at most.

/// One step down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathStep {
    Member(Box<str>),
    /// Negative counts from the end.
    Element(i64),
}

/// Reads a dotted path.
pub(super) fn dotted(text: &str) -> Result<Vec<PathStep>, String> {
    let mut steps = Vec::new();
    if text.is_empty() {
        return Ok(steps);
    }
    for (place, segment) in text.split('.').enumerate() {
        let name_len = segment.find('[').unwrap_or(segment.len());
        let (name, mut brackets) = segment.split_at(name_len);
        if name.contains(']') {
            return Err(format!("The path `{text}` has a closing bracket without an opening one."));
        }
        // A path may start at an element of an array: `[0].name`.
        if !name.is_empty() {
            steps.push(PathStep::Member(name.into()));
        } else if place > 0 || brackets.is_empty() {
            return Err(format!("The path `{text}` has an empty name between its dots."));
        }
        while !brackets.is_empty() {
            let (index, rest) = bracket(text, brackets)?;
            steps.push(PathStep::Element(index));
            brackets = rest;
        }
    }
    Ok(steps)
}

/// Reads `[index]` from the start of `brackets`.
fn bracket<'t>(text: &str, brackets: &'t str) -> Result<(i64, &'t str), String> {
    let inner = brackets
        .strip_prefix('[')
        .ok_or_else(|| format!("The path `{text}` needs a dot between a bracket and the name after it."))?;
    let (index, rest) = inner
        .split_once(']')
        .ok_or_else(|| format!("The path `{text}` has an opening bracket without a closing one."))?;
    let index = index.trim().parse().map_err(|_| {
        format!(
            "The path `{text}` has `[{index}]` where an integer is expected; to use a name in brackets \
             write JSONPath, such as `$[\"name\"]`."
        )
    })?;
    Ok((index, rest))
}

/// Reads a valid JSONPath from its `$` for as long as it leads to one value, and returns what is left.
pub(super) fn singular(text: &str) -> (Vec<PathStep>, &str) {
    let mut steps = Vec::new();
    let mut rest = text.strip_prefix('$').unwrap_or(text);
    while let Some((step, after)) = segment(rest.trim_start()) {
        steps.push(step);
        rest = after;
    }
    (steps, rest.trim_start())
}

fn segment(text: &str) -> Option<(PathStep, &str)> {
    if let Some(after_dot) = text.strip_prefix('.') {
        let len = after_dot.find(|c: char| !is_name_char(c)).unwrap_or(after_dot.len());
        let (name, rest) = after_dot.split_at(len);
        return (!name.is_empty()).then(|| (PathStep::Member(name.into()), rest));
    }
    let selector = text.strip_prefix('[')?.trim_start();
    let (step, rest) = if let quote @ ('\'' | '"') = selector.chars().next()? {
        quoted(selector.get(1..)?, quote)?
    } else {
        let len = selector.find(|c: char| !matches!(c, '-' | '0'..='9')).unwrap_or(selector.len());
        let (index, rest) = selector.split_at(len);
        (PathStep::Element(index.parse().ok()?), rest)
    };
    Some((step, rest.trim_start().strip_prefix(']')?))
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// Reads the rest of a quoted name, by rewriting it as the JSON string it would be.
fn quoted(text: &str, quote: char) -> Option<(PathStep, &str)> {
    let mut json = String::from('"');
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        match c {
            '\'' if escaped => json.push('\''),
            _ if escaped => json.extend(['\\', c]),
            '\\' => {
                escaped = true;
                continue;
            }
            _ if c == quote => {
                json.push('"');
                let name: String = serde_json::from_str(&json).ok()?;
                return Some((PathStep::Member(name.into()), text.get(index + 1..)?));
            }
            '"' => json.push_str("\\\""),
            _ => json.push(c),
        }
        escaped = false;
    }
    None
}
