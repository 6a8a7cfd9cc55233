//! What a page says twice: pages hold the same part for wide and for narrow screens, or a slide at both ends of a ring.

use std::collections::{HashMap, HashSet};

use super::outline::Outline;

/// Shorter parts are repeated on purpose, such as a name.
const CHARS_MIN: usize = 80;
/// Any odd number that mixes bits well.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The selected leaves without the parts whose texts are all the same as those of a part before. Code and tables
/// are left as they are.
pub(super) fn leave_out(outline: &Outline, mut selected: HashSet<usize>) -> HashSet<usize> {
    let texts = Texts::of(outline, &selected);
    let chars = outline.sums(|place, _| selected.contains(&place));
    let is_fixed = fixed(outline);
    // Where the first part with these texts ends.
    let mut seen: HashMap<(u64, usize), usize> = HashMap::new();
    let mut end = 0;
    for (part, is_fixed) in outline.elements.iter().zip(is_fixed) {
        let is_root = matches!(part.name.as_str(), "html" | "body");
        if is_fixed || is_root || part.start < end || chars.of(part) < CHARS_MIN {
            continue;
        }
        let first_end = *seen.entry(texts.between(part.start, part.end)).or_insert(part.end);
        // An element around a single other one has the same texts.
        if first_end <= part.start {
            (part.start..part.end).for_each(|place| _ = selected.remove(&place));
            end = part.end;
        }
    }
    selected
}

/// Which elements hold code or a table, or are in one.
fn fixed(outline: &Outline) -> Vec<bool> {
    let mut count = 0;
    let mut counts = vec![count];
    let is_kind = |name: &str| matches!(name, "pre" | "table" | "code");
    for part in &outline.elements {
        count += usize::from(is_kind(&part.name));
        counts.push(count);
    }
    let at = |place: usize| counts.get(place).copied().unwrap_or_default();
    let mut end = 0;
    let elements = outline.elements.iter().enumerate();
    let is_fixed = elements.map(|(place, part)| {
        end = if is_kind(&part.name) { part.last.max(end) } else { end };
        place < end || (at(part.last) > at(place) && part.name != "code")
    });
    is_fixed.collect()
}

/// Sums over the texts of the selected leaves from which the one over any of them in a row is made.
struct Texts {
    /// For each leaf, how many texts come before it, and the sum over them.
    sums: Vec<(usize, u64)>,
    powers: Vec<u64>,
}

impl Texts {
    fn of(outline: &Outline, selected: &HashSet<usize>) -> Self {
        let (mut count, mut sum, mut power) = (0, 0_u64, 1_u64);
        let (mut sums, mut powers) = (vec![(count, sum)], vec![power]);
        for (place, leaf) in outline.leaves.iter().enumerate() {
            if leaf.chars > 0 && selected.contains(&place) {
                count += 1;
                sum = sum.wrapping_mul(FACTOR).wrapping_add(leaf.text_hash);
                power = power.wrapping_mul(FACTOR);
                powers.push(power);
            }
            sums.push((count, sum));
        }
        Self { sums, powers }
    }

    /// Tells the texts of these leaves from others, with their number.
    fn between(&self, start: usize, end: usize) -> (u64, usize) {
        let at = |place: usize| self.sums.get(place).copied().unwrap_or_default();
        let ((before, sum_before), (until, sum)) = (at(start), at(end));
        let count = until.saturating_sub(before);
        let power = self.powers.get(count).copied().unwrap_or_default();
        (sum.wrapping_sub(sum_before.wrapping_mul(power)), count)
    }
}

#[cfg(test)]
mod tests {
    use scraper::Html;

    use super::*;

    fn check(html: &str, expected: &[&str]) {
        let document = Html::parse_document(html);
        let outline = Outline::of(&document);
        let all = (0..outline.leaves.len()).collect();
        let mut left: Vec<usize> = leave_out(&outline, all).into_iter().collect();
        left.sort_unstable();
        let texts = left.iter().map(|place| {
            let node = document.tree.get(outline.leaves[*place].id).unwrap();
            node.value().as_text().map(|text| text.trim().to_owned()).unwrap_or_default()
        });
        assert_eq!(texts.collect::<Vec<_>>(), expected, "{html}");
    }

    #[test]
    fn what_is_said_twice_is_kept_once() {
        let words = "The mill stands by the river, and its wheel has turned since the year in which the great flood came.";
        let card = format!("<h3>Rye</h3><p>{words}</p>");
        check(
            &format!("<div class=wide>{card}</div><p>Other</p><section>{card}</section><p>End</p>"),
            &["Rye", words, "Other", "End"],
        );
        // The title is the same, and what is more is another part.
        check(&format!("<div><div>{card}</div></div>{card}<i>x</i>"), &["Rye", words, "Rye", "x"]);
        check("<p>Rye</p><p>Rye</p>", &["Rye", "Rye"]);
        let other = words.replace("mill", "barn");
        check(&format!("<p>{words}</p><p>{other}</p>"), &[words, &other]);
        check("", &[]);
    }

    #[test]
    fn code_and_tables_are_left_as_they_are() {
        let line = "let mill = river.wheel().turns().since(flood).grinds(grain).of(eleven).villages().all_of_them();";
        for html in [format!("<pre>{line}</pre>"), format!("<table><tr><td>{line}</td></tr></table>")] {
            check(&format!("{html}<div>{html}</div>"), &[line, line]);
        }
    }
}
