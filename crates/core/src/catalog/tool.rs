//! A tool as the platform knows it: definition, compiled schemas, app and source. It cannot run by itself.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde_json::{Value, value::RawValue};
use sha2::{Digest, Sha256};
use toolyard_definitions::DefinitionDigest;
use toolyard_protocol::{
    ErrorCode, PackageName, Problem, ToolAlias, ToolName,
    mcp::mirrored::{self, MirroredParameter},
    raw::to_raw,
    result::ToolResult,
    tool::ToolDefinition,
};

use super::{app::ui_uri, view::MemoCell};
use crate::{
    data_flow::ToolLabels,
    error::ToolError,
    executor::CallReply,
    pinning::PinnedPages,
    ports::{AppRecord, SourceKind},
    schema::{
        CheckError, CompiledSchema, ValidArguments,
        pool::{PoolError, WorkOwner},
        shared::{self, SchemaDigest},
    },
};

/// Counts calls in flight, up to a limit.
#[derive(Debug, Default)]
pub struct CallGauge(AtomicUsize);

/// A counted call; released on drop.
#[derive(Debug)]
pub struct CallPermit(Arc<CallGauge>);

impl CallGauge {
    /// Acquires a permit if fewer than `cap` are in use.
    pub fn try_acquire(self: &Arc<Self>, cap: usize) -> Option<CallPermit> {
        let place = |now: usize| (now < cap).then_some(now + 1);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, place).ok()?;
        Some(CallPermit(self.clone()))
    }

    /// The number of calls in flight.
    pub fn in_flight(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The part that all tools of an app share.
#[derive(Debug)]
pub struct AppHead {
    /// The app as it is stored.
    pub record: AppRecord,
    /// Changes whenever the app or its tools change; caches use it as their key.
    pub revision: u64,
    /// Calls in flight to this package.
    pub gauge: Arc<CallGauge>,
    /// Whether it serves resources. If so, the URIs in its definitions are its own.
    pub has_resources: bool,
    /// The accepted content of its pages.
    pub pages: PinnedPages,
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
    pub alias: ToolAlias,
    /// The definition as its app describes it.
    pub definition: ToolDefinition,
    /// Its app.
    pub app: Arc<AppHead>,
    /// Where it runs.
    pub source: SourceKind,
    /// The name that its source uses.
    pub remote: Arc<str>,
    /// The definition under its canonical name, as listings contain it.
    pub listed: Bytes,
    for_mcp: OnceLock<Bytes>,
    mirrored: OnceLock<Vec<MirroredParameter>>,
    input: OnceLock<Result<Arc<CompiledSchema>, Problem>>,
    output: OnceLock<Result<Arc<CompiledSchema>, Problem>>,
    /// What the tool does with data, computed on first use.
    data_labels: OnceLock<ToolLabels>,
    /// Digest of the definition, computed on first use.
    definition_digest: OnceLock<[u8; 32]>,
    /// Digests of both schemas, computed on first use.
    digests: OnceLock<Vec<SchemaDigest>>,
    /// A value that another component derived from this tool.
    memo: MemoCell,
}

impl Tool {
    pub(crate) fn new(app: &Arc<AppHead>, definition: ToolDefinition) -> Self {
        let remote = definition.name.as_str().to_owned();
        Self::with_remote_name(app, definition, &remote)
    }

    /// A tool that its source knows under another name.
    pub(crate) fn with_remote_name(app: &Arc<AppHead>, definition: ToolDefinition, remote: &str) -> Self {
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
            data_labels: OnceLock::new(),
            definition_digest: OnceLock::new(),
            digests: OnceLock::new(),
            memo: MemoCell::default(),
        }
    }

    /// The definition under its alias, as MCP clients see it.
    pub fn for_mcp(&self) -> &Bytes {
        self.for_mcp.get_or_init(|| {
            to_bytes(self.definition.listed_for_mcp(&self.name, |uri| ui_uri(&self.app, uri)))
        })
    }

    /// SHA-256 of the definition in canonical form. Any change of the definition changes it.
    pub fn definition_digest(&self) -> [u8; 32] {
        *self.definition_digest.get_or_init(|| {
            let raw = self.definition.to_raw();
            // A definition that cannot be pinned has two readings; then its exact text counts.
            DefinitionDigest::from_raw(&raw)
                .map_or_else(|_| Sha256::digest(raw.get()).into(), |digest| *digest.as_bytes())
        })
    }

    /// What the tool does with data. The operator's settings do not change while a server runs.
    pub(crate) fn data_labels(&self, compute: impl FnOnce(&Self) -> ToolLabels) -> &ToolLabels {
        self.data_labels.get_or_init(|| compute(self))
    }

    /// A value that a caller derives from this tool: computed once and shared by all views that show the tool.
    pub fn memoize<T: Send + Sync + 'static>(&self, make: impl Fn(&Self) -> T) -> Arc<T> {
        self.memo.get_or_make(|| make(self))
    }

    /// The parameters that are also sent as headers. Invalid annotations were refused on publish.
    pub fn mirrored_parameters(&self) -> &[MirroredParameter] {
        self.mirrored.get_or_init(|| {
            mirrored::mirrored_parameters(&self.definition.input_schema()).unwrap_or_default()
        })
    }

    /// Why it cannot be called, if a call or a check reported a fault.
    pub(crate) fn fault(&self) -> Option<Problem> {
        // Usually there are no faults at all.
        if shared::fault_generation() == 0 { None } else { self.known_fault() }
    }

    /// Whether the digests of its schemas are known.
    pub(crate) fn is_identified(&self) -> bool {
        self.digests.get().is_some()
    }

    /// Why one of its schemas is known to be unusable.
    pub(crate) fn known_fault(&self) -> Option<Problem> {
        let digests = self.digests.get_or_init(|| {
            let schemas = [Some(self.definition.input_schema()), self.definition.output_schema()];
            schemas.iter().flatten().filter_map(shared::schema_digest).collect()
        });
        digests.iter().find_map(|digest| shared::known_verdict(digest)?.err())
    }

    /// Validates the arguments of a call. `limit` bounds a validation that runs on the pool.
    pub async fn validate_arguments(
        &self,
        arguments: Option<&RawValue>,
        limit: Duration,
    ) -> Result<ValidArguments, ToolError> {
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
        if self.output.get().is_some_and(|output| output.as_ref().is_ok_and(|schema| schema.is_overrun())) {
            return Err(self.overrun_error());
        }
        let schema =
            self.compiled_schema(&self.input, || Some(self.definition.input_schema()), "inputSchema").await?;
        let checked = ValidArguments::validate(schema, &self.work_owner(), limit, raw, value).await;
        checked.map_err(|error| match error {
            CheckError::Misfit(problems) => invalid(self.explain_problems(&problems)),
            CheckError::TooComplex => invalid(format!(
                "The arguments of {} are too large or too deeply nested to be checked against its schema; send less.",
                self.name
            )),
            CheckError::Overran => {
                report_overrun(schema, "inputSchema");
                self.overrun_error()
            }
            CheckError::Busy => self.busy_error(),
            CheckError::Failed => self.check_failed_error(),
        })
    }

    /// Validates the result against the output schema, if there is one.
    pub async fn check_output(&self, reply: CallReply, limit: Duration) -> Result<CallReply, ToolError> {
        let CallReply::Done(result) = &reply else { return Ok(reply) };
        if !self.definition.has_output_schema {
            return Ok(reply);
        }
        let parts = result.mcp.parts();
        if parts.is_error {
            return Ok(reply);
        }
        let schema =
            self.compiled_schema(&self.output, || self.definition.output_schema(), "outputSchema").await?;
        let Some(structured) = parts.structured_content else {
            if result.extensions.suppress_voice_response {
                return Ok(reply);
            }
            return Err(self.wrong_output_error("it promises a structured result and gave none".to_owned()));
        };
        let value = serde_json::from_str(structured.get()).unwrap_or(Value::Null);
        match schema.check_within(&self.work_owner(), limit, value).await {
            Ok(_) => Ok(reply),
            Err(CheckError::Misfit(errors)) => Err(self.wrong_output_error(join_problems(&errors))),
            Err(CheckError::Failed) => Err(self.check_failed_error()),
            Err(CheckError::TooComplex) => {
                Err(self.unchecked_output_error("it is too large or too deeply nested"))
            }
            Err(CheckError::Overran) => {
                report_overrun(schema, "outputSchema");
                Err(self.unchecked_output_error("that takes too long"))
            }
            Err(CheckError::Busy) => Err(self.unchecked_output_error("too many checks are under way")),
        }
    }

    /// One of the schemas, compiled on first use, on the pool if that could take long.
    async fn compiled_schema<'a>(
        &'a self,
        place: &'a OnceLock<Result<Arc<CompiledSchema>, Problem>>,
        read: impl Fn() -> Option<Value>,
        path: &'static str,
    ) -> Result<&'a Arc<CompiledSchema>, ToolError> {
        if place.get().is_none() {
            let schema = read().unwrap_or_default();
            let compiled = match CompiledSchema::compile_on_pool(&self.work_owner(), &schema, path).await {
                Ok(compiled) => compiled,
                Err(PoolError::Busy) => return Err(self.busy_error()),
                Err(error) => Err(Problem::new(path, format!("cannot be compiled: {error}"))),
            };
            if let (Err(problem), Some(digest)) = (&compiled, shared::schema_digest(&schema)) {
                shared::report_fault(digest, problem.clone());
            }
            let _ = place.set(compiled);
        }
        let compiled = place.get().ok_or_else(|| self.check_failed_error())?;
        compiled.as_ref().map_err(|problem| self.broken_schema_error(problem))
    }

    /// Validation work is accounted to the package.
    fn work_owner(&self) -> WorkOwner {
        WorkOwner::for_package(self.app.package())
    }

    fn overrun_error(&self) -> ToolError {
        let text = format!(
            "{} cannot be called: checks against its schemas take too long; its developer has to simplify them.",
            self.name
        );
        ToolError::new(ErrorCode::AppNotAvailable, text)
    }

    fn busy_error(&self) -> ToolError {
        let text = format!("Too many checks are under way, so {} did not run; try again shortly.", self.name);
        ToolError::new(ErrorCode::Overloaded, text)
    }

    fn check_failed_error(&self) -> ToolError {
        ToolError::new(
            ErrorCode::ExecutionError,
            format!("The platform failed while checking {}.", self.name),
        )
    }

    fn unchecked_output_error(&self, why: &str) -> ToolError {
        let text = format!(
            "{} ran, but its answer cannot be checked against its own outputSchema: {why}.",
            self.name
        );
        ToolError::new(ErrorCode::InvalidResponse, text)
    }

    /// Schemas are compiled on publish, so this definition got past an older check.
    fn broken_schema_error(&self, problem: &Problem) -> ToolError {
        let text =
            format!("The definition of {} has a broken schema; its developer has to fix it.", self.name);
        ToolError::new(ErrorCode::AppNotAvailable, text).with_cause(problem)
    }

    fn wrong_output_error(&self, why: String) -> ToolError {
        let text = format!("{} ran, but its answer does not fit its own outputSchema: {why}.", self.name);
        ToolError::new(ErrorCode::InvalidResponse, text)
    }

    fn explain_problems(&self, problems: &[Problem]) -> String {
        format!("The arguments of {} do not fit: {}.", self.name, join_problems(problems))
    }
}

/// Hides all tools with this schema.
fn report_overrun(schema: &CompiledSchema, path: &str) {
    if let Some(digest) = schema.digest() {
        shared::report_fault(digest, Problem::new(path, "checks against it take too long; simplify it"));
    }
}

fn to_bytes(raw: Box<RawValue>) -> Bytes {
    Bytes::from(String::from(Box::<str>::from(raw)))
}

fn join_problems(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

/// The size of a result, for the ledger.
pub(crate) fn result_size(result: &ToolResult) -> u64 {
    result.mcp.raw().get().len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_flight_are_capped_and_a_dropped_permit_frees_its_place() {
        let gauge = Arc::new(CallGauge::default());
        assert!(gauge.try_acquire(0).is_none());
        let held: Vec<_> = (0..5).filter_map(|_| gauge.try_acquire(2)).collect();
        assert_eq!((held.len(), gauge.in_flight()), (2, 2));
        drop(held);
        assert_eq!(gauge.in_flight(), 0);
        assert!(gauge.try_acquire(1).is_some());
    }
}
