//! `/api/apps/{package}/tools/check`: what would come of a set of tools, without storing it.

use axum::extract::State;
use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use toolyard_agent::model::{
    ToolSpec,
    limits::{self, Family, Fit},
};
use toolyard_core::{
    catalog::check_set,
    schema::pool::{SET_TIMEOUT, WorkOwner, WorkPool},
};
use toolyard_platform::apps;
use toolyard_protocol::{
    Alias, PackageName, Problem, ToolName,
    api::ToolSet,
    items::Items,
    tool::{MAX_PROBLEMS, MAX_TOOLS, ToolDefinition},
};

use super::{Answer, ok, package};
use crate::{
    auth::Builder,
    body::LargeJsonBody,
    doors::chat::spec_of,
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/apps/{package}/tools/check",
            Access::Owner,
            "What is wrong with a set of tools, and how models would see them; stores nothing",
            check,
        )
        .takes::<ToolSet>()
        .gives::<Checked>(),
    ]
}

/// What would come of a set.
#[derive(Serialize, JsonSchema)]
struct Checked {
    /// Whether the set would be taken.
    ok: bool,
    /// What is wrong with it. Where it would be taken all the same, what a model would not get.
    problems: Vec<Problem>,
    /// The tools that can be read, in the order of the set.
    tools: Vec<CheckedTool>,
}

/// A tool that can be read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CheckedTool {
    name: String,
    canonical_name: ToolName,
    alias: Alias,
    model: SeenTool,
}

/// A tool as the model gets it that is asked where nobody names one.
#[derive(Serialize, JsonSchema)]
struct SeenTool {
    name: String,
    description: String,
    parameters: Value,
}

async fn check(
    State(state): State<AppState>,
    Builder(who): Builder,
    Path(name): Path<String>,
    LargeJsonBody(set): LargeJsonBody<ToolSet>,
) -> Answer {
    state.platform.limits.check_costly(&who)?;
    let app = apps::find_owned(&state.platform, &who, &package(&name)?).await?;
    let ToolSet { tools, prompts, resources, resource_templates } = set;
    let items = Items { prompts, resources, resource_templates };
    let family = state.models.family();
    let tools = match apps::to_definitions(tools) {
        Ok(tools) => tools,
        Err(problems) => return ok(&Checked { ok: false, problems, tools: Vec::new() }),
    };
    let owner = WorkOwner::package(&app.package);
    let work = move || outcome(&tools, &items, &app.package, family);
    let checked = WorkPool::shared().run_within(&owner, SET_TIMEOUT, work).await;
    ok(&checked.unwrap_or_else(|error| {
        let problem = Problem::new("tools", format!("cannot be checked: {error}"));
        Checked { ok: false, problems: vec![problem], tools: Vec::new() }
    }))
}

fn outcome(tools: &[Box<RawValue>], items: &Items, package: &PackageName, family: Family) -> Checked {
    let mut problems = check_set(tools, items).err().unwrap_or_default();
    let is_taken = problems.is_empty();
    let mut seen = Vec::new();
    for (index, raw) in tools.iter().enumerate().take(MAX_TOOLS) {
        let path = format!("tools[{index}]");
        // What cannot be read is among the problems already.
        let Ok(definition) = ToolDefinition::read(raw, &path) else { continue };
        if definition.invisible_chars > 0 {
            let message = format!(
                "{} invisible characters; models and users get its texts without them",
                definition.invisible_chars
            );
            problems.push(Problem::new(&path, message));
        }
        let (tool, left_out) = checked(package, &definition, family);
        problems
            .extend(left_out.map(|why| Problem::new(path, format!("models do not get this tool: {why}"))));
        seen.push(tool);
    }
    problems.truncate(MAX_PROBLEMS);
    Checked { ok: is_taken, problems, tools: seen }
}

/// The tool as a model of that family gets it; or as it is, and why such a model does not get it.
fn checked(
    package: &PackageName,
    definition: &ToolDefinition,
    family: Family,
) -> (CheckedTool, Option<String>) {
    let canonical_name = ToolName::new(package, &definition.name);
    let alias = canonical_name.alias();
    let spec = spec_of(&canonical_name, &alias, definition);
    let (ToolSpec { name, description, schema }, left_out) = match limits::fit(family, &spec) {
        Fit::Sent(fitted, _) => ((*fitted).clone(), None),
        Fit::LeftOut(why) => (spec, Some(why)),
    };
    let model = SeenTool { name, description, parameters: schema };
    (CheckedTool { name: definition.name.as_str().to_owned(), canonical_name, alias, model }, left_out)
}
