//! What reasoning models write before their answer, in the same text: `<think>…</think>`.

/// The tags that models set their thoughts in.
const TAGS: [&str; 4] = ["think", "thinking", "thought", "reasoning"];

/// The answer in a text, and whether there were thoughts before it. Only what stands at the beginning is taken
/// away: further on, the tags are part of the answer.
pub(super) fn without_thoughts(text: &str) -> (&str, bool) {
    let mut rest = text;
    let mut has_thoughts = false;
    while let Some(after) = after_thought(rest) {
        rest = after;
        has_thoughts = true;
    }
    (rest, has_thoughts)
}

/// What follows the thought that a text begins with. One that never ends is the whole text.
fn after_thought(text: &str) -> Option<&str> {
    let begins = |tag: &str| {
        let inner = text.trim_start().strip_prefix('<')?.strip_prefix(tag)?.strip_prefix('>')?;
        let close = format!("</{tag}>");
        Some(inner.split_once(close.as_str()).map_or("", |(_, after)| after))
    };
    // Where the prompt's template opens the tag, the text has only its end.
    let ends = |tag: &str| {
        let (before, after) = text.split_once(format!("</{tag}>").as_str())?;
        (!before.contains(format!("<{tag}>").as_str())).then_some(after)
    };
    TAGS.iter().find_map(|tag| begins(tag)).or_else(|| TAGS.iter().find_map(|tag| ends(tag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_taken_from_the_beginning_only() {
        for (text, expected, thought) in [
            ("Ada", "Ada", false),
            ("<think>Who?</think>Ada", "Ada", true),
            ("\n <think>\nWho?\n</think>\n\nAda", "\n\nAda", true),
            ("<thinking>a</thinking><think>b</think>Ada", "Ada", true),
            ("<reasoning>a</reasoning> Ada", " Ada", true),
            ("Who is it?</think>Ada", "Ada", true),
            ("<think>Who is", "", true),
            ("<think></think>", "", true),
            ("The tag <think>x</think> is theirs", "The tag <think>x</think> is theirs", false),
            ("<thinker>Ada</thinker>", "<thinker>Ada</thinker>", false),
            ("", "", false),
        ] {
            assert_eq!(without_thoughts(text), (expected, thought), "{text}");
        }
    }
}
