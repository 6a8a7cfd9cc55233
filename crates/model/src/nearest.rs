//! The nearest known name to one that is probably misspelt.

/// Longer names are not compared.
const CHARS_MAX: usize = 64;
/// More edits than ever count.
const FAR: usize = usize::MAX / 2;
/// How many names of a request are compared with all candidates: more of them are misspelt otherwise.
pub const COMPARED_MAX: usize = 20;

/// The candidate that is spelt most like `name`, without regard to case: at most two letters differ, are
/// missing, too many or swapped, and fewer than half of them. Of several the first.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let name = letters(name)?;
    let edits_max = (name.len().saturating_sub(1) / 2).min(2);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let Some(letters) = letters(candidate) else { continue };
        let edits_max = best.map_or(edits_max, |(edits, _)| edits.saturating_sub(1));
        if let Some(edits) = edits(&name, &letters, edits_max) {
            best = Some((edits, candidate));
            if edits == 0 {
                break;
            }
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn letters(name: &str) -> Option<Vec<char>> {
    let letters: Vec<char> = name.trim().chars().flat_map(char::to_lowercase).take(CHARS_MAX + 1).collect();
    (!letters.is_empty() && letters.len() <= CHARS_MAX).then_some(letters)
}

/// The edit distance in which a swap counts as one (optimal string alignment), unless it is more than `edits_max`.
fn edits(a: &[char], b: &[char], edits_max: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > edits_max {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let at = |line: &[usize], place: usize| line.get(place).copied().unwrap_or(FAR);
    let letter = |letters: &[char], place: usize| letters.get(place.wrapping_sub(1)).copied();
    for row in 1..=a.len() {
        // Further off the diagonal there are more edits than count.
        let near = row.saturating_sub(edits_max).max(1)..=(row + edits_max).min(b.len());
        let mut line = vec![FAR; b.len() + 1];
        if let Some(first) = line.first_mut() {
            *first = row;
        }
        for place in near {
            let (this, other) = (letter(a, row), letter(b, place));
            let mut edits = (at(&above, place - 1) + usize::from(this != other))
                .min(at(&above, place) + 1)
                .min(at(&line, place - 1) + 1);
            if row > 1 && place > 1 && letter(a, row - 1) == other && letter(b, place - 1) == this {
                edits = edits.min(at(&before, place - 2) + 1);
            }
            if let Some(cell) = line.get_mut(place) {
                *cell = edits;
            }
        }
        if line.iter().all(|edits| *edits > edits_max) {
            return None;
        }
        before = std::mem::replace(&mut above, line);
    }
    above.last().copied().filter(|edits| *edits <= edits_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        let known = ["City", "Company", "E-mail", "Name", "Full name"];
        let check = |name: &str, expected: Option<&str>| assert_eq!(nearest(name, known), expected, "{name}");
        check("Ctiy", Some("City"));
        check("city ", Some("City"));
        check("Ctity", Some("City"));
        check("Comany", Some("Company"));
        check("email", Some("E-mail"));
        check("Names", Some("Name"));
        check("x", None);
        check("", None);
        check("Phone", None);
        check("ab", None);
        check("Fulln ame", Some("Full name"));
        check("Compnay", Some("Company"));
        check("mopany", Some("Company"));
        check("mopan", None);
        check(&"n".repeat(1_000), None);
    }
}
