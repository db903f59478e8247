//! A tool as the platform knows it: definition, compiled schemas, which app and which source. Not an executable.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use serde_json::{Value, value::RawValue};
use toolyard_protocol::{
    Alias, ErrorCode, PackageName, Problem, ToolName,
    mcp::mirrored::{self, Mirrored},
    raw::to_raw,
    result::ToolResult,
    tool::ToolDefinition,
};

use super::app::ui_uri;
use crate::{
    error::ToolError,
    executor::Reply,
    ports::{AppRecord, SourceKind},
    schema::{Schema, ValidArguments},
};

/// How many things are under way, with a cap.
#[derive(Debug, Default)]
pub struct Gauge(AtomicUsize);

/// One thing under way; gone when dropped.
#[derive(Debug)]
pub struct Permit(Arc<Gauge>);

impl Gauge {
    /// Takes a place, if there is one below `cap`.
    pub fn enter(self: &Arc<Self>, cap: usize) -> Option<Permit> {
        let place = |now: usize| (now < cap).then_some(now + 1);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, place).ok()?;
        Some(Permit(self.clone()))
    }

    /// How many are under way.
    pub fn now(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What all tools of an app share.
#[derive(Debug)]
pub struct AppHead {
    /// The app as it is stored.
    pub record: AppRecord,
    /// Another number whenever the app or its tools changed; caches hang on it.
    pub revision: u64,
    /// Calls under way to this package.
    pub gauge: Arc<Gauge>,
    /// Whether it can be asked for resources: then the URIs that it names are its own.
    pub has_resources: bool,
}

impl AppHead {
    /// The app's name.
    pub fn package(&self) -> &PackageName {
        &self.record.package
    }
}

/// One tool.
#[derive(Debug)]
pub struct Tool {
    /// Canonical name.
    pub name: ToolName,
    /// As models and MCP clients see it.
    pub alias: Alias,
    /// What it says of itself.
    pub definition: ToolDefinition,
    /// Its app.
    pub app: Arc<AppHead>,
    /// Where it runs.
    pub source: SourceKind,
    /// Its name as its source knows it.
    pub remote: Arc<str>,
    /// The definition under its canonical name, as listings send it.
    pub listed: Bytes,
    for_mcp: OnceLock<Bytes>,
    mirrored: OnceLock<Vec<Mirrored>>,
    input: OnceLock<Result<Schema, Problem>>,
    output: OnceLock<Option<Result<Schema, Problem>>>,
}

impl Tool {
    pub(crate) fn new(app: &Arc<AppHead>, definition: ToolDefinition) -> Self {
        let remote = definition.name.as_str().to_owned();
        Self::of_upstream(app, definition, &remote)
    }

    /// A tool that its source knows by another name.
    pub(crate) fn of_upstream(app: &Arc<AppHead>, definition: ToolDefinition, remote: &str) -> Self {
        let name = ToolName::new(app.package(), &definition.name);
        let listed = to_bytes(definition.listed_as(&name));
        Self {
            alias: name.alias(),
            name,
            definition,
            app: app.clone(),
            source: app.record.source(),
            remote: remote.into(),
            listed,
            for_mcp: OnceLock::new(),
            mirrored: OnceLock::new(),
            input: OnceLock::new(),
            output: OnceLock::new(),
        }
    }

    /// The definition as MCP clients see it: under its alias.
    pub fn for_mcp(&self) -> &Bytes {
        self.for_mcp.get_or_init(|| {
            to_bytes(self.definition.listed_for_mcp(&self.name, |uri| ui_uri(&self.app, uri)))
        })
    }

    /// The parameters that travel in headers as well. Void annotations were refused when the tool came.
    pub fn mirrored(&self) -> &[Mirrored] {
        self.mirrored.get_or_init(|| mirrored::of(&self.definition.input_schema).unwrap_or_default())
    }

    /// Checks the arguments of a call.
    pub fn validate(&self, arguments: Option<&RawValue>) -> Result<ValidArguments, ToolError> {
        let empty;
        let raw = match arguments {
            Some(raw) if raw.get() != "null" => raw,
            Some(_) | None => {
                empty = to_raw(&serde_json::Map::new());
                &*empty
            }
        };
        let invalid = |text: String| ToolError::new(ErrorCode::InvalidArguments, text);
        let value: Value = serde_json::from_str(raw.get())
            .map_err(|error| invalid(format!("The arguments are not JSON: {error}.")))?;
        if !value.is_object() {
            return Err(invalid("The arguments must be an object with named members.".to_owned()));
        }
        ValidArguments::check(self.input_schema()?, raw, value)
            .map_err(|problems| invalid(self.explain(&problems)))
    }

    /// Checks what came back against the output schema, where there is one.
    pub fn check_output(&self, reply: Reply) -> Result<Reply, ToolError> {
        let Reply::Done(result) = &reply else { return Ok(reply) };
        let parts = result.mcp.parts();
        let compile =
            || self.definition.output_schema.as_ref().map(|schema| Schema::compile(schema, "outputSchema"));
        match (self.output.get_or_init(compile), parts.structured_content) {
            (None, _) => Ok(reply),
            (Some(_), _) if parts.is_error => Ok(reply),
            (Some(Err(problem)), _) => Err(self.broken_schema(problem)),
            (Some(Ok(_)), None) if result.extensions.suppress_voice_response => Ok(reply),
            (Some(Ok(_)), None) => {
                Err(self.wrong_output("it promises a structured result and gave none".to_owned()))
            }
            (Some(Ok(schema)), Some(structured)) => {
                let value = serde_json::from_str(structured.get()).unwrap_or(Value::Null);
                match schema.errors(&value) {
                    errors if errors.is_empty() => Ok(reply),
                    errors => Err(self.wrong_output(listed(&errors))),
                }
            }
        }
    }

    fn input_schema(&self) -> Result<&Schema, ToolError> {
        let compile = || Schema::compile(&self.definition.input_schema, "inputSchema");
        self.input.get_or_init(compile).as_ref().map_err(|problem| self.broken_schema(problem))
    }

    /// Schemas are compiled when tools are registered, so this is a definition that got past an older check.
    fn broken_schema(&self, problem: &Problem) -> ToolError {
        let text =
            format!("The definition of {} has a broken schema; its developer has to mend it.", self.name);
        ToolError::new(ErrorCode::AppNotAvailable, text).because(problem)
    }

    fn wrong_output(&self, why: String) -> ToolError {
        let text = format!("{} ran, but its answer does not fit its own outputSchema: {why}.", self.name);
        ToolError::new(ErrorCode::InvalidResponse, text)
    }

    fn explain(&self, problems: &[Problem]) -> String {
        format!("The arguments of {} do not fit: {}.", self.name, listed(problems))
    }
}

fn to_bytes(raw: Box<RawValue>) -> Bytes {
    Bytes::from(String::from(Box::<str>::from(raw)))
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

/// How large a result is, for the ledger.
pub(crate) fn size_of(result: &ToolResult) -> u64 {
    result.mcp.raw().get().len() as u64
}
