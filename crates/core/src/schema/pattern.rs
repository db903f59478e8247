//! Text patterns. Most run in linear time. Patterns with look-around or back-references do not: they are limited to
//! short texts and give up after a bounded number of attempts.

use std::{collections::HashMap, sync::Arc};

use jsonschema::{Draft, Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Value, json};

use super::message::truncate_text;

/// Longest text, in bytes, for a pattern with look-around or back-references. The addresses and identifiers that such
/// patterns are written for are shorter.
pub const MAX_BACKTRACKING_TEXT: usize = 1_024;
/// Attempts of a backtracking pattern before it gives up.
const BACKTRACK_LIMIT: usize = 10_000;
/// Most different patterns in one schema, because each is compiled.
pub const MAX_PATTERNS: usize = 200;
/// Most patterns in one schema that are large when compiled.
const MAX_LARGE_PATTERNS: usize = 8;
/// Longest pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 8 * 1024;
/// Largest compiled pattern, in bytes.
pub(super) const MAX_PATTERN_SIZE: usize = 128 * 1024;
/// Size limits of compiled patterns, in bytes, with the worst-case steps for each byte of text.
const SIZES: [(usize, u64); 2] = [(16 * 1024, 200), (MAX_PATTERN_SIZE, 1_600)];
/// Steps for each byte of text of a backtracking pattern.
const BACKTRACKING_STEPS: u64 = 20_000;

/// The compiled patterns of one schema.
#[derive(Default)]
pub(super) struct PatternSet(HashMap<String, Arc<TextPattern>>);

/// One compiled pattern.
struct TextPattern {
    source: String,
    validator: Validator,
    /// Steps for each byte; None if it backtracks.
    steps: Option<u64>,
}

impl PatternSet {
    /// Compiles a pattern for texts.
    pub(super) fn add(&mut self, pattern: &str) -> Result<(), String> {
        if self.0.contains_key(pattern) {
            return Ok(());
        }
        if self.0.len() >= MAX_PATTERNS {
            return Err(format!("more than {MAX_PATTERNS} different patterns"));
        }
        let compiled = TextPattern::compile(pattern)?;
        let large = |pattern: &TextPattern| pattern.steps == Some(SIZES[1].1);
        if large(&compiled) && self.0.values().filter(|pattern| large(pattern)).count() >= MAX_LARGE_PATTERNS
        {
            return Err(format!("more than {MAX_LARGE_PATTERNS} patterns that are large when compiled"));
        }
        self.0.insert(pattern.to_owned(), Arc::new(compiled));
        Ok(())
    }

    /// Compiles a pattern for property names. It is tried on all names of an object, so it must be linear.
    pub(super) fn add_for_names(&mut self, pattern: &str) -> Result<(), String> {
        self.add(pattern)?;
        if self.backtracking_steps(pattern) > 0 {
            return Err(format!(
                "the name pattern `{}` has look-around or back-references; use `propertyNames` for those",
                truncate_text(pattern)
            ));
        }
        Ok(())
    }

    /// Steps for each byte of a text, if the pattern is linear.
    pub(super) fn text_steps(&self, pattern: &str) -> u64 {
        self.0.get(pattern).map_or(0, |found| found.steps.unwrap_or(0))
    }

    /// Steps for each byte of a text, if the pattern backtracks.
    pub(super) fn backtracking_steps(&self, pattern: &str) -> u64 {
        self.0.get(pattern).map_or(0, |found| if found.steps.is_none() { BACKTRACKING_STEPS } else { 0 })
    }

    /// The `pattern` keyword for a compiled pattern.
    pub(super) fn build_keyword(
        &self,
        pattern: &Value,
    ) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'static>> {
        let found = pattern.as_str().and_then(|pattern| self.0.get(pattern));
        match found {
            Some(found) => Ok(Box::new(PatternKeyword(found.clone()))),
            None => Err(ValidationError::custom("expected a pattern")),
        }
    }
}

impl TextPattern {
    fn compile(source: &str) -> Result<Self, String> {
        if source.len() > MAX_PATTERN_BYTES {
            return Err(format!("a pattern is longer than {MAX_PATTERN_BYTES} bytes"));
        }
        let schema = json!({ "pattern": source });
        let options = || jsonschema::options().with_draft(Draft::Draft202012).offline();
        for (size, steps) in SIZES {
            let engine = PatternOptions::regex().size_limit(size);
            if let Ok(validator) = options().with_pattern_options(engine).build(&schema) {
                return Ok(Self { source: source.to_owned(), validator, steps: Some(steps) });
            }
        }
        let engine = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT).size_limit(SIZES[0].0);
        let validator = options().with_pattern_options(engine).build(&schema).map_err(|_| {
            format!("the pattern `{}` is no regular expression, or a too large one", truncate_text(source))
        })?;
        Ok(Self { source: source.to_owned(), validator, steps: None })
    }

    /// Why a text does not match, if so.
    fn mismatch_reason(&self, value: &Value) -> Option<String> {
        let text = value.as_str()?;
        if self.steps.is_none() && text.len() > MAX_BACKTRACKING_TEXT {
            return Some(format!(
                "expected at most {MAX_BACKTRACKING_TEXT} bytes, because its pattern has look-around or back-references"
            ));
        }
        let fits = self.validator.is_valid(value);
        (!fits).then(|| format!("expected a text that matches `{}`", truncate_text(&self.source)))
    }
}

struct PatternKeyword(Arc<TextPattern>);

impl<'i> Keyword<'i> for PatternKeyword {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        self.0.mismatch_reason(value).map_or(Ok(()), |why| Err(ValidationError::custom(why)))
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        let Some(text) = value.as_str() else { return true };
        (self.0.steps.is_some() || text.len() <= MAX_BACKTRACKING_TEXT) && self.0.validator.is_valid(value)
    }
}
