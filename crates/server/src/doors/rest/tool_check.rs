//! `/api/apps/{package}/tools/check`: checks a tool set without storing it.

use std::sync::Arc;

use axum::extract::State;
use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use toolyard_agent::model::{
    ToolSpec,
    limits::{self, FitResult, VendorFamily},
};
use toolyard_core::{
    catalog::validate_tool_set,
    schema::pool::{SET_TIMEOUT, WorkOwner, WorkPool},
};
use toolyard_definitions::scan_definition;
use toolyard_platform::{Platform, apps, legacy};
use toolyard_protocol::{
    PackageName, Problem, ToolAlias, ToolName,
    api::ToolSet,
    items::AppItems,
    tool::{MAX_PROBLEMS, MAX_TOOLS, ToolDefinition},
};

use super::{HandlerResult, ok_json, parse_package};
use crate::{
    auth::AppEditor,
    body::LargeJsonBody,
    doors::chat::tool_spec,
    extract::PathParams,
    models::ModelRegistry,
    routes::{Route, RouteAccess},
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/apps/{package}/tools/check",
            RouteAccess::Owner,
            "Checks a tool set and shows how models would see it; stores nothing",
            check_tool_set,
        )
        .request_body::<ToolSet>()
        .response_body::<ToolSetCheck>(),
    ]
}

/// The result of a check.
#[derive(Serialize, JsonSchema)]
struct ToolSetCheck {
    /// Whether the tool set is valid.
    ok: bool,
    /// Errors. For a valid tool set, warnings about what models would not get.
    problems: Vec<Problem>,
    /// The valid tools, in the order of the set.
    tools: Vec<CheckedTool>,
}

/// A valid tool.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CheckedTool {
    name: String,
    canonical_name: ToolName,
    alias: ToolAlias,
    model: ModelToolView,
}

/// A tool as the default model gets it.
#[derive(Serialize, JsonSchema)]
struct ModelToolView {
    name: String,
    description: String,
    parameters: Value,
}

async fn check_tool_set(
    State(models): State<Arc<ModelRegistry>>,
    State(platform): State<Arc<Platform>>,
    AppEditor(who): AppEditor,
    PathParams(name): PathParams<String>,
    LargeJsonBody(set): LargeJsonBody<ToolSet>,
) -> HandlerResult {
    platform.limits.check_costly(&who)?;
    let app = apps::find_owned(&platform, &who, &parse_package(&name)?).await?;
    let ToolSet { tools, prompts, resources, resource_templates } = set;
    let items = AppItems { prompts, resources, resource_templates };
    let family = models.default_family();
    let tools = match legacy::to_definitions(tools) {
        Ok(tools) => tools,
        Err(problems) => return ok_json(&ToolSetCheck { ok: false, problems, tools: Vec::new() }),
    };
    let owner = WorkOwner::for_package(&app.package);
    let work = move || check_definitions(&tools, &items, &app.package, family);
    let checked = WorkPool::global().run_within(&owner, SET_TIMEOUT, work).await;
    ok_json(&checked.unwrap_or_else(|error| {
        let problem = Problem::new("tools", format!("cannot be checked: {error}"));
        ToolSetCheck { ok: false, problems: vec![problem], tools: Vec::new() }
    }))
}

fn check_definitions(
    tools: &[Box<RawValue>],
    items: &AppItems,
    package: &PackageName,
    family: VendorFamily,
) -> ToolSetCheck {
    let mut problems = validate_tool_set(tools, items).err().unwrap_or_default();
    let is_taken = problems.is_empty();
    let mut seen = Vec::new();
    for (index, raw) in tools.iter().enumerate().take(MAX_TOOLS) {
        let path = format!("tools[{index}]");
        // Invalid definitions are among the problems already.
        let Ok(definition) = ToolDefinition::parse(raw, &path) else { continue };
        if definition.invisible_chars > 0 {
            let message = format!(
                "{} invisible characters; models and users get its texts without them",
                definition.invisible_chars
            );
            problems.push(Problem::new(&path, message));
        }
        problems.extend(scan_warnings(raw, &path));
        let (tool, left_out) = checked_tool(package, &definition, family);
        problems
            .extend(left_out.map(|why| Problem::new(path, format!("models do not get this tool: {why}"))));
        seen.push(tool);
    }
    problems.truncate(MAX_PROBLEMS);
    ToolSetCheck { ok: is_taken, problems, tools: seen }
}

/// What an assistant's user would be warned about, as the scanner sees it.
fn scan_warnings(raw: &RawValue, path: &str) -> Vec<Problem> {
    let Ok(definition) = serde_json::from_str::<Value>(raw.get()) else { return Vec::new() };
    let flagged = scan_definition(&definition).into_iter().filter(toolyard_definitions::ScanFinding::is_flag);
    let to_problem = |finding: toolyard_definitions::ScanFinding| {
        let place = finding.pointer.replace('/', ".");
        let text = format!("looks like an attack on assistants: {}: `{}`", finding.reason, finding.excerpt);
        Problem::new(format!("{path}{place}"), text)
    };
    flagged.map(to_problem).collect()
}

/// The tool as models of that family get it. If they do not get it, the tool unchanged and the reason.
fn checked_tool(
    package: &PackageName,
    definition: &ToolDefinition,
    family: VendorFamily,
) -> (CheckedTool, Option<String>) {
    let canonical_name = ToolName::new(package, &definition.name);
    let alias = canonical_name.alias();
    let spec = tool_spec(&canonical_name, &alias, definition);
    let (ToolSpec { name, description, schema }, left_out) = match limits::fit_tool(family, &spec) {
        FitResult::Sent(fitted, _) => ((*fitted).clone(), None),
        FitResult::LeftOut(why) => (spec, Some(why)),
    };
    let model = ModelToolView { name, description, parameters: schema };
    (CheckedTool { name: definition.name.as_str().to_owned(), canonical_name, alias, model }, left_out)
}
