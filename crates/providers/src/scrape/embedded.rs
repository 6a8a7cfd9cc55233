//! What a page holds as data for its scripts: what a shell would show in a browser.
//!
//! Frameworks put the data that a page is rendered from into the page: `__NEXT_DATA__`, `__NUXT__`, Apollo's state and
//! others. Structured data (JSON-LD) describes the same for search engines. Their texts are the page's content.

use serde_json::Value;

use super::prose::Prose;
use super::scripts;

/// Less than this says too little of a page.
const CHARS_MIN: usize = 200;

/// Variables that scripts assign a page's data to.
const VARIABLES: [&str; 14] = [
    "__NEXT_DATA__",
    "__NUXT__",
    "__APOLLO_STATE__",
    "__INITIAL_STATE__",
    "__INITIAL_DATA__",
    "__INITIAL_PROPS__",
    "__PRELOADED_STATE__",
    "__PRELOADED_DATA__",
    "__REDUX_STATE__",
    "__SERVER_DATA__",
    "__APP_STATE__",
    "__APP_DATA__",
    "__remixContext",
    "__staticRouterHydrationData",
];
/// How Next.js hands over what the server rendered, in parts.
const FLIGHT: &str = "__next_f.push(";

/// The texts in a page's data as HTML, if they are enough to be its content. `html` is the page as it came, and
/// `json_ld` its structured data.
pub(super) fn read(html: &str, json_ld: &[Value]) -> Option<String> {
    let mut prose = Prose::default();
    for value in json_ld {
        prose.take(value);
    }
    let mut flight = String::new();
    for script in scripts::of(html) {
        if script.is_data() {
            state(script.text, &mut prose);
        } else if let Some(part) = script.text.find(FLIGHT) {
            let rest = script.text.get(part + FLIGHT.len()..).unwrap_or_default();
            flight.push_str(&flight_part(rest).unwrap_or_default());
        } else if let Some(value) = VARIABLES.iter().find_map(|name| assigned(script.text, name)) {
            state(value, &mut prose);
        }
    }
    literals(&flight, &mut prose);
    (prose.chars() >= CHARS_MIN).then(|| prose.into_html())
}

/// What is assigned to a variable, with all that follows.
fn assigned<'a>(script: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = script.split_once(name)?;
    let rest = rest.trim_start_matches(['"', '\'', ']']).trim_start();
    Some(rest.strip_prefix('=')?.trim_start())
}

/// A state as JSON, as a text of JSON, or as a program that makes it: of that, its texts are taken.
fn state(text: &str, prose: &mut Prose) {
    let text = text.trim();
    match json(text).or_else(|| json(&quoted(text.strip_prefix("JSON.parse(")?.trim_start())?)) {
        // What else is there is the same on all pages of the site: menus, translations, settings.
        Some(data) => prose.take(data.pointer("/props/pageProps").unwrap_or(&data)),
        None => literals(text, prose),
    }
}

/// The list or object that a text begins with, whatever follows.
fn json(text: &str) -> Option<Value> {
    let is_data = text.starts_with(['{', '[']);
    is_data.then(|| serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok())?
}

/// The text that begins with this quote, of JavaScript's two.
fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    let end = literal_end(text.get(1..)?, quote)?;
    let inner = text.get(1..=end)?;
    if quote == '"' {
        return serde_json::from_str(&format!("\"{inner}\"")).ok();
    }
    let mut written = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => written.push_str("\\\""),
            '\\' => match letters.next()? {
                '\'' => written.push('\''),
                other => written.extend(['\\', other]),
            },
            _ => written.push(letter),
        }
    }
    serde_json::from_str(&format!("\"{written}\"")).ok()
}

/// Where a quoted text ends: before a quote that no backslash stands before. None reaches over a line.
fn literal_end(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (place, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' => return None,
            _ if letter == quote => return Some(place),
            _ => {}
        }
    }
    None
}

/// The texts that a program or a list of values holds between double quotes.
fn literals(text: &str, prose: &mut Prose) {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('"') {
        let Some(end) = literal_end(behind, '"') else {
            // It was the end of another one: go on behind it, in the next line.
            rest = behind.split_once('\n').map_or("", |(_, next)| next);
            continue;
        };
        if let Some(inner) = behind.get(..end)
            && let Ok(words) = serde_json::from_str::<String>(&format!("\"{inner}\""))
        {
            prose.take_text("", &words);
        }
        rest = behind.get(end + 1..).unwrap_or_default();
    }
}

/// The text in `[1,"…"])`.
fn flight_part(rest: &str) -> Option<String> {
    let part = json(rest)?;
    Some(part.get(1)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "The mill stands by the river, and its wheel has turned since the year 1412, when the monks \
        built it to grind the grain of eleven villages. Today grain comes by lorry, and the flour leaves in paper \
        bags; the wheel turns for visitors, who come on Sundays.";

    fn check(html: &str, expected: &[&str]) {
        let found = read(html, &[]).unwrap_or_default();
        for words in expected {
            assert!(found.contains(words), "{html}: {found}");
        }
        assert_eq!(found.is_empty(), expected.is_empty(), "{html}: {found}");
    }

    #[test]
    fn every_state_is_read() {
        let quoted = serde_json::to_string(WORDS).unwrap();
        let state = format!("{{\"page\":{{\"title\":\"The \\\"old\\\" mill\",\"text\":{quoted}}}}}");
        let inner = serde_json::to_string(&state).unwrap();
        let single = state.replace('\\', "\\\\").replace('\'', "\\'");
        let flight =
            serde_json::to_string(&format!("5:[\"$\",\"p\",null,{{\"children\":{quoted}}}]\n")).unwrap();
        for html in [
            format!(
                "<script id=__NEXT_DATA__ type='application/json'>{{\"props\":{{\"pageProps\":{state}}}}}</script>"
            ),
            format!("<script>window.__APOLLO_STATE__ = {state};\nwindow.x = 1;</script>"),
            format!("<script>window[\"__INITIAL_STATE__\"]={state}</script>"),
            format!("<script>window.__PRELOADED_STATE__ = JSON.parse({inner})</script>"),
            format!("<script>window.__PRELOADED_STATE__ = JSON.parse('{single}');</script>"),
            format!("<script>window.__INITIAL_STATE__={{\"a\":undefined,\"text\":{quoted}}}</script>"),
            format!(
                "<script>window.__NUXT__=(function(a,b){{return {{data:[{{t:a}}]}}}}({quoted},\"\"))</script>"
            ),
            format!("<script type=application/json id=__NUXT_DATA__>[{{\"t\":1}},{quoted}]</script>"),
            format!(
                "<script>self.__next_f.push([0])</script><script>self.__next_f.push([1,{flight}])</script>"
            ),
        ] {
            check(&html, &["eleven villages", "paper bags"]);
        }
        check(&format!("<script>window.__NUXT__={state}</script>"), &["<h2>The &quot;old&quot; mill</h2>"]);
    }

    #[test]
    fn too_little_is_nothing() {
        for html in [
            String::new(),
            "<script>window.__NUXT__={\"text\": \"The mill stands by the river and grinds.\"}</script>"
                .to_owned(),
            format!("<script>track({WORDS:?})</script>"),
            format!("<script>window.__NUXT__ = \"{}</script>", "\\".repeat(10_000)),
            format!("<script>window.__NUXT__ = {}</script>", "[".repeat(1_000_000)),
            "<script>window.__NUXT__</script><script>__next_f.push(</script>".to_owned(),
        ] {
            check(&html, &[]);
        }
    }

    #[test]
    fn structured_data_counts() {
        let data = serde_json::json!({"@type": "Article", "headline": "The mill", "articleBody": WORDS});
        assert!(read("", &[data]).unwrap().starts_with("<h2>The mill</h2>"));
    }
}
