//! JSON Schema 2020-12: compiled once per definition, bounded, offline, with errors that a model can act on.
//!
//! Schemas and values are untrusted, so all work here is bounded in advance: `graph` and `cost` compute the work of a
//! schema, `measure` that of a value. Cheap validation runs inline, other work on [`pool`], and what could take too
//! long is refused.

mod arguments;
mod cost;
mod graph;
mod measure;
mod message;
mod pattern;
pub mod pool;
pub(crate) mod shared;
#[cfg(test)]
mod tests;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;
use toolyard_protocol::Problem;

pub use self::{
    arguments::ValidArguments,
    cost::MAX_EXPANDED_STEPS,
    pattern::{MAX_BACKTRACKING_TEXT, MAX_PATTERN_BYTES, MAX_PATTERNS},
};
use self::{
    cost::CostTable,
    graph::SchemaGraph,
    measure::ValueMeasure,
    message::{to_problem, truncate_text},
    pattern::{MAX_PATTERN_SIZE, PatternSet},
    pool::{PoolError, WORK_TIMEOUT, WorkOwner, WorkPool},
    shared::SchemaDigest,
};

/// Deepest nesting of a schema.
pub const MAX_SCHEMA_DEPTH: usize = 32;
/// Most values (objects, lists, texts, numbers) in a schema.
pub const MAX_SCHEMA_NODES: usize = 5_000;
/// Most errors in one response.
pub const MAX_ERRORS: usize = 8;
/// Most steps of a validation that runs inline: a few milliseconds at worst.
pub const MAX_INLINE_STEPS: u64 = 500_000;
/// Most steps of any validation: a few seconds at worst. More expensive values are refused.
pub const MAX_CHECK_STEPS: u64 = 500_000_000;
/// Most errors that a value could produce: the validator creates all of them before the first is read.
pub const MAX_MADE_ERRORS: u64 = 200_000;
/// Most values in a schema that is compiled inline. Schemas with patterns never are.
const MAX_INLINE_COMPILE_NODES: usize = 300;

/// A compiled schema.
#[derive(Debug)]
pub struct CompiledSchema {
    validator: Validator,
    costs: CostTable,
    /// The digest of its text, if it is shared by content.
    digest: Option<SchemaDigest>,
    /// A validation took too long despite the cost estimate; it is not tried again.
    overran: AtomicBool,
}

/// Why a value is not known to be valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckError {
    /// It is invalid: the problems, each with its path.
    Misfit(Vec<Problem>),
    /// It is too large or too deep for this schema.
    TooComplex,
    /// Validation against this schema takes too long.
    Overran,
    /// Too many validations are in progress.
    Busy,
    /// The validator failed.
    Failed,
}

impl CompiledSchema {
    /// Compiles a schema. Errors are reported under `path`.
    pub fn compile(schema: &Value, path: &str) -> Result<Self, Problem> {
        check_bounds(schema, path)?;
        check_references(schema, &mut Vec::new())
            .map_err(|(at, message)| Problem::new(format!("{path}{at}"), message))?;
        let mut patterns = PatternSet::default();
        let graph = SchemaGraph::new(schema, &mut patterns).map_err(|bad| {
            let mut at = Vec::new();
            find_path(schema, bad.holder, &mut at);
            Problem::new(format!("{path}{}", format_path(&at)), bad.message)
        })?;
        let costs = CostTable::new(&graph).map_err(|message| Problem::new(path, message))?;
        let validator = build_validator(schema, patterns).map_err(|(at, message)| {
            Problem::new(
                format!("{path}{at}"),
                format!("not a JSON Schema (2020-12): {}", truncate_text(&message)),
            )
        })?;
        Ok(Self { validator, costs, digest: None, overran: AtomicBool::new(false) })
    }

    /// Compiles a schema, or returns the compiled one if it is in use.
    pub fn compile_shared(schema: &Value, path: &str) -> Result<Arc<Self>, Problem> {
        shared::get_or_compile(schema, path)
    }

    /// Compiles a schema without blocking the worker: on the pool if it could take long.
    pub async fn compile_on_pool(
        owner: &WorkOwner,
        schema: &Value,
        path: &'static str,
    ) -> Result<Result<Arc<Self>, Problem>, PoolError> {
        if is_cheap_to_compile(schema) {
            return Ok(Self::compile_shared(schema, path));
        }
        let schema = schema.clone();
        WorkPool::global().run(owner, move || Self::compile_shared(&schema, path)).await
    }

    /// Validates a value and returns it. Runs on the pool if it could take long.
    pub async fn check_value(self: &Arc<Self>, owner: &WorkOwner, value: Value) -> Result<Value, CheckError> {
        self.check_within(owner, WORK_TIMEOUT, value).await
    }

    /// The same, with another timeout on the pool.
    pub async fn check_within(
        self: &Arc<Self>,
        owner: &WorkOwner,
        limit: Duration,
        value: Value,
    ) -> Result<Value, CheckError> {
        if self.is_overrun() {
            return Err(CheckError::Overran);
        }
        let measure = ValueMeasure::from_value(&value);
        let steps = self.costs.check_steps(&measure);
        if steps > MAX_CHECK_STEPS {
            return Err(CheckError::TooComplex);
        }
        if steps <= MAX_INLINE_STEPS {
            let problems = self.find_problems(&value, &measure);
            return if problems.is_empty() { Ok(value) } else { Err(CheckError::Misfit(problems)) };
        }
        let schema = self.clone();
        let work = move || (schema.find_problems(&value, &measure), value);
        let checked = WorkPool::global().run_within(owner, limit, work).await;
        match checked {
            Ok((problems, value)) if problems.is_empty() => Ok(value),
            Ok((problems, _)) => Err(CheckError::Misfit(problems)),
            Err(PoolError::Busy) => Err(CheckError::Busy),
            Err(PoolError::Failed) => Err(CheckError::Failed),
            Err(PoolError::Overran) => {
                self.overran.store(true, Ordering::Release);
                shared::keep_overrun(self);
                Err(CheckError::Overran)
            }
        }
    }

    /// All errors of a value, up to a limit, each with its path. A value that takes too long to validate gives one
    /// error.
    pub fn list_errors(&self, value: &Value) -> Vec<Problem> {
        let measure = ValueMeasure::from_value(value);
        if self.costs.check_steps(&measure) > MAX_INLINE_STEPS {
            return vec![Problem::new("(root)", TOO_COMPLEX)];
        }
        self.find_problems(value, &measure)
    }

    /// Its digest, if it is shared.
    pub(crate) fn digest(&self) -> Option<SchemaDigest> {
        self.digest
    }

    /// Whether a validation against this schema took too long.
    pub fn is_overrun(&self) -> bool {
        self.overran.load(Ordering::Acquire)
    }

    fn find_problems(&self, value: &Value, measure: &ValueMeasure) -> Vec<Problem> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        if self.costs.max_errors(measure) > MAX_MADE_ERRORS {
            return vec![Problem::new("(root)", "does not fit the schema, and is too large to say where")];
        }
        self.validator.iter_errors(value).take(MAX_ERRORS).map(|error| to_problem(&error)).collect()
    }
}

/// The error for a value that could take too long.
const TOO_COMPLEX: &str = "too large or too deeply nested to be checked against this schema; send less";

impl From<CheckError> for Vec<Problem> {
    fn from(error: CheckError) -> Self {
        let message = match error {
            CheckError::Misfit(problems) => return problems,
            CheckError::TooComplex => TOO_COMPLEX,
            CheckError::Overran => "the schema takes too long to check; simplify it",
            CheckError::Busy => "too many checks are under way; try again shortly",
            CheckError::Failed => "the check failed",
        };
        vec![Problem::new("(root)", message)]
    }
}

/// Builds the validator. The library panics on some schemas; that is reported as an error of the schema.
fn build_validator(schema: &Value, patterns: PatternSet) -> Result<Validator, (String, String)> {
    let options = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_SIZE))
        .with_keyword("pattern", move |_, pattern, _| patterns.build_keyword(pattern))
        .should_validate_formats(false)
        .offline();
    match catch_unwind(AssertUnwindSafe(|| options.build(schema))) {
        Ok(Ok(validator)) => Ok(validator),
        Ok(Err(error)) => Err((error.instance_path().as_str().replace('/', "."), error.to_string())),
        Err(_panic) => Err((String::new(), "it cannot be compiled".to_owned())),
    }
}

/// Whether a schema can be compiled within a millisecond or two.
pub fn is_cheap_to_compile(schema: &Value) -> bool {
    fn walk(value: &Value, left: &mut usize) -> bool {
        let Some(fewer) = left.checked_sub(1) else { return false };
        *left = fewer;
        match value {
            Value::Object(members) => members
                .iter()
                .all(|(name, value)| name != "pattern" && name != "patternProperties" && walk(value, left)),
            Value::Array(items) => items.iter().all(|item| walk(item, left)),
            _ => true,
        }
    }
    let mut left = MAX_INLINE_COMPILE_NODES;
    walk(schema, &mut left)
}

fn check_bounds(schema: &Value, path: &str) -> Result<(), Problem> {
    fn walk(value: &Value, depth: usize, nodes: &mut usize) -> Result<(), String> {
        *nodes += 1;
        if depth > MAX_SCHEMA_DEPTH {
            return Err(format!("nested deeper than {MAX_SCHEMA_DEPTH}"));
        }
        if *nodes > MAX_SCHEMA_NODES {
            return Err(format!("more than {MAX_SCHEMA_NODES} values"));
        }
        match value {
            Value::Object(members) => members.values().try_for_each(|v| walk(v, depth + 1, nodes)),
            Value::Array(items) => items.iter().try_for_each(|v| walk(v, depth + 1, nodes)),
            _ => Ok(()),
        }
    }
    walk(schema, 0, &mut 0).map_err(|message| Problem::new(path, message))
}

/// One segment of a path in a schema.
#[derive(Clone, Copy)]
enum PathPart<'a> {
    Member(&'a str),
    Item(usize),
}

fn format_path(parts: &[PathPart<'_>]) -> String {
    parts
        .iter()
        .map(|part| match part {
            PathPart::Member(name) => format!(".{}", truncate_text(name)),
            PathPart::Item(index) => format!("[{index}]"),
        })
        .collect()
}

/// The direct children of a value.
fn child_values(value: &Value) -> Box<dyn Iterator<Item = (PathPart<'_>, &Value)> + '_> {
    match value {
        Value::Object(members) => {
            Box::new(members.iter().map(|(name, value)| (PathPart::Member(name), value)))
        }
        Value::Array(items) => {
            Box::new(items.iter().enumerate().map(|(at, value)| (PathPart::Item(at), value)))
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// Checks that references stay inside the schema. The path is formatted only on failure.
fn check_references<'a>(value: &'a Value, at: &mut Vec<PathPart<'a>>) -> Result<(), (String, String)> {
    if let Value::Object(members) = value {
        let mut outside = graph::references_in(members).filter(|(_, target)| !target.starts_with('#'));
        if let Some((keyword, target)) = outside.next() {
            let message = format!(
                "`{}` leads outside; only references inside the schema (`#/$defs/…`) work",
                truncate_text(target)
            );
            return Err((format!("{}.{keyword}", format_path(at)), message));
        }
    }
    for (part, value) in child_values(value) {
        at.push(part);
        check_references(value, at)?;
        at.pop();
    }
    Ok(())
}

/// Finds the path of a value inside a schema.
fn find_path<'a>(value: &'a Value, wanted: &Value, at: &mut Vec<PathPart<'a>>) -> bool {
    if std::ptr::eq(value, wanted) {
        return true;
    }
    for (part, value) in child_values(value) {
        at.push(part);
        if find_path(value, wanted, at) {
            return true;
        }
        at.pop();
    }
    false
}
