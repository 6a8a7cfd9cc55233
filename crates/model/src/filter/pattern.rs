//! Regular expressions of `matches`: linear in time, and bounded in what all of a selection take together.

use regex_automata::meta::{self, Config};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{self, Ast, ClassPerl, ClassSetItem, Visitor};
use regex_syntax::hir::translate::TranslatorBuilder;

/// The longest pattern, in characters.
const PATTERN_CHARS_MAX: usize = 1_000;
/// The most characters that all patterns of some filters may have.
const CHARS_MAX: usize = 2_000;
/// What all patterns of some filters may take once compiled, in bytes.
const BYTES_MAX: usize = 2 * 1024 * 1024;
/// The largest that a pattern's automaton may be for one direction. There are two of them.
const AUTOMATON_BYTES_MAX: usize = 1024 * 1024;
/// What a pattern takes besides: the places where threads keep their caches.
const PATTERN_BYTES_MIN: usize = 2 * 1024;
/// The least a thread may keep of a lazy automaton.
const CACHE_BYTES_MIN: usize = 64 * 1024;
/// How many characters there are.
const ALL_CHARS: u64 = 0x11_0000;
/// About how many characters a named class has.
const NAMED_CLASS_CHARS: u64 = 0x2_4000;
/// How many characters the classes of all patterns may have. To ignore case, each is looked up when a pattern is
/// compiled, which no limit on the compiled size prevents.
const CLASS_CHARS_MAX: u64 = 32 * ALL_CHARS;

/// A compiled pattern. A copy shares it, but not what threads remember while they use it.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: meta::Regex,
    is_blank: bool,
}

impl Pattern {
    /// Whether it matches anywhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Whether it is the empty pattern.
    pub(super) fn is_blank(&self) -> bool {
        self.is_blank
    }

    /// What it takes, without what threads remember while they use it.
    pub fn bytes(&self) -> usize {
        self.regex.memory_usage() + PATTERN_BYTES_MIN
    }
}

/// What the patterns of a selection may still take.
#[derive(Debug)]
pub(super) struct PatternBudget {
    chars: usize,
    bytes: usize,
    class_chars: u64,
    is_first: bool,
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PatternError {
    Long,
    LongTogether,
    Large,
    LargeTogether,
    /// It is no regular expression, for this reason.
    Unreadable(String),
}

impl PatternBudget {
    /// For filters as they are sent.
    pub(super) fn of_filters() -> Self {
        Self { chars: CHARS_MAX, bytes: BYTES_MAX, class_chars: CLASS_CHARS_MAX, is_first: true }
    }

    /// For filters that were taken: those of a view, and others beside them.
    pub(super) fn of_selection() -> Self {
        Self { chars: usize::MAX, bytes: 2 * BYTES_MAX, class_chars: 2 * CLASS_CHARS_MAX, is_first: true }
    }

    /// Compiles a pattern.
    pub(super) fn compile(&mut self, text: &str, case_sensitive: bool) -> Result<Pattern, PatternError> {
        let chars = text.chars().count();
        if chars > PATTERN_CHARS_MAX {
            return Err(PatternError::Long);
        }
        self.chars = self.chars.checked_sub(chars).ok_or(PatternError::LongTogether)?;
        let too_large = if self.is_first { PatternError::Large } else { PatternError::LargeTogether };
        self.is_first = false;
        let ast = Parser::new().parse(text).map_err(|error| unreadable(&error))?;
        let class_chars = ast::visit(&ast, ClassChars(0)).unwrap_or(u64::MAX);
        self.class_chars = self.class_chars.checked_sub(class_chars).ok_or_else(|| too_large.clone())?;
        let mut translator = TranslatorBuilder::new().case_insensitive(!case_sensitive).build();
        let hir = translator.translate(text, &ast).map_err(|error| unreadable(&error))?;
        let regex = meta::Builder::new().configure(self.config()).build_from_hir(&hir);
        let pattern = Pattern { regex: regex.map_err(|_| too_large.clone())?, is_blank: text.is_empty() };
        self.bytes = self.bytes.checked_sub(pattern.bytes()).ok_or(too_large)?;
        Ok(pattern)
    }

    /// What is left is for the automata of both directions, and bounds what a thread keeps of them while it searches.
    fn config(&self) -> Config {
        let half = self.bytes / 2;
        Config::new()
            .which_captures(WhichCaptures::Implicit)
            .nfa_size_limit(Some(half.min(AUTOMATON_BYTES_MAX)))
            .hybrid_cache_capacity(half.clamp(CACHE_BYTES_MIN, AUTOMATON_BYTES_MAX))
            // They have a limit of their own, and are for captures.
            .onepass(false)
    }
}

impl PatternError {
    /// What happened, and what to do.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Long => format!("A pattern can have at most {PATTERN_CHARS_MAX} characters."),
            Self::LongTogether => format!(
                "All patterns together can have at most {CHARS_MAX} characters; use fewer `matches` filters, or shorter \
                 patterns."
            ),
            Self::Large => "This regular expression is too large once compiled; use fewer repetitions or wide character \
                            classes."
                .to_owned(),
            Self::LargeTogether => "With the patterns before it, this regular expression is too large once compiled; use \
                                    fewer `matches` filters, or fewer repetitions or wide character classes in them."
                .to_owned(),
            Self::Unreadable(reason) => format!(
                "This pattern is not a regular expression. To find a character such as ( or * itself, write a backslash \
                 before it. ({reason})"
            ),
        }
    }
}

/// With the library's reason, which stands at the end of what it says.
fn unreadable(error: &impl ToString) -> PatternError {
    let told = error.to_string();
    PatternError::Unreadable(told.rsplit("error: ").next().unwrap_or(&told).trim().to_owned())
}

/// Counts the characters of all classes of a pattern.
struct ClassChars(u64);

impl ClassChars {
    fn add(&mut self, chars: u64) {
        self.0 = self.0.saturating_add(chars);
    }

    fn add_named(&mut self, is_negated: bool) {
        self.add(if is_negated { ALL_CHARS } else { NAMED_CLASS_CHARS });
    }
}

impl Visitor for ClassChars {
    type Output = u64;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<u64, Self::Err> {
        Ok(self.0)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if let Ast::ClassUnicode(class) = ast {
            self.add_named(class.negated);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        match item {
            ClassSetItem::Range(range) => {
                self.add(u64::from(range.end.c).saturating_sub(u64::from(range.start.c)) + 1);
            }
            ClassSetItem::Unicode(class) => self.add_named(class.negated),
            ClassSetItem::Perl(ClassPerl { negated, .. }) => self.add_named(*negated),
            ClassSetItem::Ascii(class) if class.negated => self.add(ALL_CHARS),
            _ => {}
        }
        Ok(())
    }

    /// Both sides are looked up, whatever they have become by then.
    fn visit_class_set_binary_op_pre(&mut self, _: &ast::ClassSetBinaryOp) -> Result<(), Self::Err> {
        self.add(ALL_CHARS);
        Ok(())
    }
}
