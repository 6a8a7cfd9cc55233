//! What the patterns of a selection may take together.

use super::*;

fn all(patterns: &[&str]) -> Json {
    let filter = |text: &&str| json!({"columnId": "col_a", "operator": "matches", "value": text});
    Json::Array(patterns.iter().map(filter).collect())
}

/// Checks that patterns are refused at one place, for a reason, and that nothing is said of those behind it.
fn check(patterns: &[&str], place: usize, words: &str) {
    let offences = Filters::parse(&all(patterns), "filters", &table(), &Limits::default()).unwrap_err();
    let told: Vec<_> = offences.iter().map(|offence| offence.path.as_str()).collect();
    assert_eq!(told, [format!("filters[{place}].value")], "{offences:?}");
    assert!(offences[0].message.contains(words), "{offences:?} lacks {words}");
}

fn bytes(sent: &Filters) -> usize {
    let compiled = Predicate::compile(sent, &table());
    let of = |node: &Node| match node {
        Node::Leaf(leaf) => leaf.pattern().unwrap().bytes(),
        _ => panic!("{node:?} has no pattern"),
    };
    compiled.nodes().iter().map(of).sum()
}

#[test]
fn the_characters_of_all_patterns_are_limited() {
    let (half, full) = ("a".repeat(500), "b".repeat(1_000));
    parse(&all(&[&half, &half, &full]));
    check(
        &[&half, &half, &full, "c", "("],
        3,
        "together can have at most 2000 characters; use fewer `matches`",
    );
    check(&["(", "["], 0, "not a regular expression");
}

#[test]
fn the_compiled_size_of_all_patterns_is_limited() {
    // Each alone was taken before there was a limit for all.
    for large in [r"\w{20}", r".{1000}", r"(?s:.){999}", r"[^x]{600}"] {
        let taken = parse(&all(&[large]));
        assert!(bytes(&taken) <= 2 * 1024 * 1024, "{large}");
        check(&vec![large; 100], bytes_allow(large), "With the patterns before it");
    }
    let usual: Vec<String> = (0..100).map(|number| format!("^row {number}: \\d+$")).collect();
    parse(&all(&usual.iter().map(String::as_str).collect::<Vec<_>>()));
}

/// How many times a pattern is taken.
fn bytes_allow(pattern: &str) -> usize {
    let is_taken = |count: &usize| {
        Filters::parse(&all(&vec![pattern; *count]), "filters", &table(), &Limits::default()).is_ok()
    };
    let count = (1..100).take_while(is_taken).last().unwrap();
    assert!(count < 5, "{count} of {pattern} were taken");
    count
}

#[test]
fn classes_that_take_long_to_compile_are_limited() {
    let wide = "[\u{0}-\u{10ffff}]";
    parse(&all(&[&wide.repeat(32)]));
    check(&[&wide.repeat(33)], 0, "wide character classes");
    check(&[&wide.repeat(20), &wide.repeat(20)], 1, "With the patterns before it");
    check(&[&format!("[{}]", r"\w~~\W".repeat(150))], 0, "wide character classes");
    parse(&all(&[r"[\w.+-]+@[\w-]+\.[\w.]+", r"[\s\S]*[^\W\d]"]));
}

#[test]
fn a_view_and_what_is_asked_besides_are_taken_together() {
    let large = parse(&all(&[r"\w{20}"]));
    let both = Filters([large.0.clone(), large.0.clone()].concat());
    assert!(bytes(&both) > 2 * 1024 * 1024);
    // More than both may have never holds, and takes nothing.
    let stored = Filters(vec![large.0[0].clone(); 20]);
    let compiled = Predicate::compile(&stored, &table());
    assert!(compiled.nodes().iter().any(|node| matches!(node, Node::Never)));
    assert!(!compiled.is_usable() && Predicate::compile(&both, &table()).is_usable());
    assert!(stored.pattern_flaw().is_some_and(|flaw| flaw.contains("too large")));
    assert_eq!(both.pattern_flaw(), None);
}

#[test]
fn patterns_are_noticed_among_other_filters() {
    let plain = json!({"columnId": "col_a", "operator": "isEmpty"});
    let pattern = all(&["a"]);
    for (sent, expected) in [
        (json!([plain, {"conjunction": "or", "filters": [plain]}]), false),
        (json!([plain, {"conjunction": "or", "filters": pattern}]), true),
        (pattern.clone(), true),
    ] {
        assert_eq!(Filters::may_have_patterns(&sent), expected, "{sent}");
        assert_eq!(parse(&sent).has_patterns(), expected, "{sent}");
    }
    assert!(!Filters::may_have_patterns(&json!("matches")));
}
