//! A path into a JSON value: dotted, or RFC 9535 JSONPath from `$`.

pub mod allowance;
mod query;
mod steps;

use std::borrow::Cow;

use crate::value::{Value, raw};
use query::Query;
pub use query::TooMuchFound;
use steps::PathStep;

/// The longest path, in characters.
pub const PATH_CHARS_MAX: usize = 1_000;

/// A path, read once and resolved in any number of values.
#[derive(Debug, Clone, PartialEq)]
pub struct Path(Route);

#[derive(Debug, Clone, PartialEq)]
enum Route {
    /// Leads to one value at most. No step at all is the whole value.
    Steps(Vec<PathStep>),
    /// May find any number of values.
    Query(Box<Query>),
}

impl Path {
    /// Reads a path; the error is a sentence for whoever wrote it. `""` is the whole value.
    ///
    /// A dotted path is names separated by dots, each followed by any number of `[index]`; digits after
    /// a dot are a name. Names that hold dots or brackets need JSONPath: `$["a.b"]`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.chars().count() > PATH_CHARS_MAX {
            return Err(format!("A path can have at most {PATH_CHARS_MAX} characters."));
        }
        if !text.starts_with('$') {
            return steps::dotted(text).map(|steps| Self(Route::Steps(steps)));
        }
        let query = Query::parse(text)?;
        match steps::singular(text) {
            (steps, "") => Ok(Self(Route::Steps(steps))),
            _ => Ok(Self(Route::Query(Box::new(query)))),
        }
    }

    /// The raw JSON the path leads to, digits kept. A path to one value yields it, any other an array of
    /// all it finds. Nothing found, and null, are `None`.
    pub fn resolve<'a>(&self, raw: &'a str) -> Option<Cow<'a, str>> {
        self.find(raw).ok().flatten()
    }

    /// The same, for whoever can say why there is nothing.
    pub fn find<'a>(&self, raw: &'a str) -> Result<Option<Cow<'a, str>>, TooMuchFound> {
        match &self.0 {
            Route::Steps(steps) => {
                if !steps.is_empty() {
                    allowance::spend_bytes(raw.len())?;
                }
                let found = steps.iter().try_fold(raw.trim_ascii(), |raw, step| step.take(raw));
                let found = found.filter(|found| !matches!(Value::parse(found), Value::Null));
                Ok(found.map(Cow::Borrowed))
            }
            Route::Query(query) => Ok(query.resolve(raw)?.map(Cow::Owned)),
        }
    }

    /// What it takes besides itself, about.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Route::Steps(steps) => {
                let names = steps.iter().map(|step| match step {
                    PathStep::Member(name) => name.len(),
                    PathStep::Element(_) => 0,
                });
                size_of_val(steps.as_slice()) + names.sum::<usize>()
            }
            Route::Query(query) => query.bytes(),
        }
    }

    /// Whether the path is the whole value.
    pub fn is_whole(&self) -> bool {
        matches!(&self.0, Route::Steps(steps) if steps.is_empty())
    }
}

impl PathStep {
    fn take<'a>(&self, raw: &'a str) -> Option<&'a str> {
        match self {
            Self::Member(name) => raw::member(raw, name),
            Self::Element(index) => raw::element(raw, *index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: &str = r#" { "guest": {"email" : "ada@example.com", "visits": 12345678901234567890.10, "none": null},
        "items": [ {"name":"a","price":1.0}, {"name":"b","price":20e1}, {"name":null,"0":"zero"} ],
        "0": "digit", "a.b": 1, "it's": 2, "q\"": 3, "é": 4, "empty": "", "big": 1e400,
        "twin": 1, "twin": 2 } "#;

    fn check(path: &str, expected: Option<&str>) {
        let parsed = Path::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(parsed.resolve(GUEST).as_deref(), expected, "{path}");
    }

    #[test]
    fn dotted_paths_keep_the_text() {
        check("", Some(GUEST.trim()));
        check("guest.email", Some("\"ada@example.com\""));
        check(" guest.visits ", Some("12345678901234567890.10"));
        check("guest.none", None);
        check("guest.missing.deeper", None);
        check("guest[0]", None);
        check("items[0].name", Some("\"a\""));
        check("items[1].price", Some("20e1"));
        check("items[-1].0", Some("\"zero\""));
        check("items[9]", None);
        check("items.0", None);
        check("items.name", None);
        check("0", Some("\"digit\""));
        check("é", Some("4"));
        check("it's", Some("2"));
        check("empty", Some("\"\""));
        check("twin", Some("2"));
        assert_eq!(Path::parse("[1][0]").unwrap().resolve("[0,[7.0]]").as_deref(), Some("7.0"));
        assert_eq!(Path::parse("a").unwrap().resolve("\"text\""), None);
        assert_eq!(Path::parse("").unwrap().resolve("null"), None);
        assert!(matches!(Path::parse("guest").unwrap().resolve(GUEST), Some(Cow::Borrowed(_))));
    }

    #[test]
    fn a_singular_json_path_is_one_value() {
        check("$", Some(GUEST.trim()));
        check("$.guest.email", Some("\"ada@example.com\""));
        check("$['guest']['visits']", Some("12345678901234567890.10"));
        check("$[\"a.b\"]", Some("1"));
        check(r"$['it\'s']", Some("2"));
        check(r#"$["it's"]"#, Some("2"));
        check(r#"$['q"']"#, Some("3"));
        check(r#"$["q\""]"#, Some("3"));
        check(r"$['\u00e9']", Some("4"));
        check("$ [ 'items' ] [ 0 ] .name", Some("\"a\""));
        check("$.items[-1]['0']", Some("\"zero\""));
        check("$.é", Some("4"));
        check("$.big", Some("1e400"));
        check("$.guest.none", None);
        check("$.items[3]", None);
    }

    #[test]
    fn any_other_json_path_is_an_array_of_what_it_finds() {
        check("$.items[*].price", Some("[1.0,20e1]"));
        check("$.items[?@.price > 1].name", Some("[\"b\"]"));
        check("$..price", Some("[1.0,20e1]"));
        check("$.items[0,1,0].name", Some("[\"a\",\"b\",\"a\"]"));
        check("$.items[:2].name", Some("[\"a\",\"b\"]"));
        check("$.items[*].name", Some("[\"a\",\"b\",null]"));
        check("$.guest[?@ == null]", Some("[null]"));
        check("$.guest.*", Some("[\"ada@example.com\",12345678901234567890.10,null]"));
        check("$.items[?@['match'] || length(@.name) == 1].price", Some("[1.0,20e1]"));
        check("$['big','twin']", Some("[1e400,2]"));
        check("$..missing", None);
        check("$.items[?@.price > 1000]", None);
    }

    #[test]
    fn a_bad_path_is_answered_with_a_sentence() {
        fn check(path: &str, words: &str) {
            let error = Path::parse(path).unwrap_err();
            assert!(error.contains(words) && error.ends_with('.'), "{path}: {error}");
        }
        check("a..b", "empty name");
        check(".a", "empty name");
        check("a.", "empty name");
        check("a[", "bracket");
        check("a[]", "integer");
        check("a[x]", "integer");
        check("a[\"b\"]", "$");
        check("a[0]b", "dot");
        check("a]", "bracket");
        check("a[99999999999999999999]", "integer");
        check("$.", "JSONPath");
        check("$a", "JSONPath");
        check("$.a[", "JSONPath");
        check("$..a..b..c", "`..`");
        check("$[*,*][*,*][*,*][*,*][*,*][*,*][*,*]", "selectors");
        check("$[?$..a]", "inside a filter");
        check("$[?count($[*])>1]", "inside a filter");
        check("$[?$==$]", "inside a filter");
        check("$[?match(@.name, '[ab]')]", "matches");
        check("$[?search (@.name, '[ab]')]", "matches");
        check(&format!("$[?{}@.a{}]", "(".repeat(20), ")".repeat(20)), "deep");
        check(&"a".repeat(1001), "1000");
    }

    #[test]
    fn a_path_finds_a_few_times_what_there_is_at_most() {
        let deep =
            |zeros: usize| format!("{}{}{}", "[".repeat(58), vec!["0"; zeros].join(","), "]".repeat(58));
        let many = format!("$..*..[{}]", vec!["*"; 64].join(","));
        for raw in [deep(60), deep(1_000)] {
            let path = Path::parse(&many).unwrap();
            assert_eq!((path.resolve(&raw), path.find(&raw)), (None, Err(TooMuchFound)));
            // Each value within another is found as often as it is deep.
            for path in ["$..*", "$..*..*"] {
                let found = Path::parse(path).unwrap().resolve(&raw);
                assert!(found.is_none_or(|found| found.len() <= 8 * (raw.len() + 1_024) + 2), "{path}");
            }
        }
        let people = vec!["{\"name\":\"a\",\"tags\":[{\"name\":\"b\"}]}"; 20_000].join(",");
        let people = format!("[{people}]");
        let found = Path::parse("$..tags..name").unwrap().resolve(&people);
        assert_eq!(
            found.map(|found| found.matches("\"b\"").count()),
            Some(20_000),
            "ordinary paths find everything"
        );
    }

    #[test]
    fn what_a_filter_compares_is_counted() {
        fn check(path: &str, raw: &str, is_too_much: bool) {
            assert!(path.chars().count() <= PATH_CHARS_MAX, "{path}");
            let found = Path::parse(path).unwrap().find(raw);
            assert_eq!(found.is_err(), is_too_much, "{path} in {} bytes", raw.len());
        }
        let filter = |test: &str, count: usize, join: &str| format!("$..[?{}]", vec![test; count].join(join));
        let deep = |ones: usize| format!("{}{}{}", "[".repeat(55), vec!["1"; ones].join(","), "]".repeat(55));
        for raw in [deep(10_000), deep(50_000)] {
            check(&filter("@!=@", 160, "||"), &raw, true);
            check(&filter("@<@", 160, "||"), &raw, true);
            check(&filter("@ == @ [0]", 80, "&&"), &raw, true);
            check(&filter("value(@[0]) >= value(@)", 35, "||"), &raw, true);
            check("$..[?@[?@!=@||@!=@||@!=@]]", &raw, true);
            // Nothing is compared, and yet all that lies in each value is listed for each test.
            check(&filter("!@[*]", 130, "&&"), &raw, true);
            check(&filter("length(@)<0", 70, "||"), &raw, true);
            check(&filter("@==2", 1, "||"), &raw, false);
            check("$[*]..[?@==2]", &raw, false);
        }
        // Twice over: each value is seen from each that it lies in, with all that lies in it.
        check("$..*..[?@!=@]", &deep(2_000), true);
        check("$..*..[?@==2]", &deep(2_000), false);
        // Long text is more to compare than a number.
        let texts = format!(
            "{}[{}]{}",
            "[".repeat(40),
            vec![format!("\"{}\"", "a".repeat(1_000)); 100].join(","),
            "]".repeat(40)
        );
        check(&filter("@!=@", 160, "||"), &texts, true);
    }

    #[test]
    fn ordinary_filters_find_everything_in_large_values() {
        let item = |number: usize| {
            let (price, kind) = (number % 40, if number.is_multiple_of(2) { "a" } else { "b" });
            format!(
                "{{\"name\":\"n{number}\",\"price\":{price},\"list\":20,\"kind\":\"{kind}\",\"tags\":[\"x\",\"y\"],\
                 \"text\":\"{}\"}}",
                "words ".repeat(20)
            )
        };
        let items: Vec<String> = (0..2_400).map(item).collect();
        let raw = format!("{{\"items\":[{}]}}", items.join(","));
        assert!(raw.len() > 400_000, "{}", raw.len());
        let check = |path: &str, expected: &dyn Fn(usize) -> bool| {
            let found = Path::parse(path).unwrap().find(&raw);
            let names: Vec<String> = (0..2_400)
                .filter(|number| expected(*number))
                .map(|number| format!("\"n{number}\""))
                .collect();
            assert_eq!(found.unwrap().as_deref(), Some(&*format!("[{}]", names.join(","))), "{path}");
        };
        let is_a = |number: usize| number.is_multiple_of(2);
        let price = |number: usize| number % 40;
        check("$.items[?@.price > 10 && @.kind == 'a'].name", &|n| price(n) > 10 && is_a(n));
        check("$..[?@.price > 10 && @.kind == 'a'].name", &|n| price(n) > 10 && is_a(n));
        check("$.items[?@.price > @.list].name", &|n| price(n) > 20);
        check("$..[?@.price > @.list && @.kind != 'a'].name", &|n| price(n) > 20 && !is_a(n));
        check("$.items[?(@.price == 1 || @.price == 2) && (@.kind == 'a' || @.kind == 'c')].name", &|n| {
            price(n) == 2
        });
        check("$.items[?length(@.tags) == 2 && count(@.tags[*]) >= 2 && @.tags[?@ == 'y']].name", &|_| true);
        let any = (0..12).map(|number| format!("@.price=={number}")).collect::<Vec<_>>().join("||");
        check(&format!("$.items[?{any}].name"), &|n| price(n) < 12);
    }

    #[test]
    fn hostile_values_end() {
        let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(Path::parse("$..a").unwrap().resolve(&deep), None);
        assert_eq!(
            Path::parse(&"[0]".repeat(333)).unwrap().resolve(&deep).map(|raw| raw.len()),
            Some(20_001 - 666)
        );
        for raw in ["", "{", "[1", "\"", "nope", "{\"a\":}"] {
            for path in ["", "a", "[0]", "$..a", "$[*]"] {
                let _ = Path::parse(path).unwrap().resolve(raw);
            }
        }
    }
}
