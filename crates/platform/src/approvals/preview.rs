//! What a rule would have done to the last calls, before it is saved.

use std::{collections::HashMap, sync::Arc};

use toolyard_core::{
    Tool,
    approvals::{ApprovalPolicy, CallFacts, PolicyRule},
    ports::{CallFilter, CallRecord},
    schema::pool::{WorkOwner, WorkPool},
};
use toolyard_protocol::{
    ToolName, UserId,
    approval::{PreviewReport, PreviewedTool},
};

use crate::{Platform, PlatformError};

/// Calls that are judged.
const CALLS: u32 = 1_000;
/// Tools that are listed.
const MAX_TOOLS: usize = 50;

/// Judges the last calls of a user, or of all users, by a rule. Annotations and categories are those of today.
pub async fn preview_rule(
    platform: &Platform,
    user: Option<&UserId>,
    rule: &PolicyRule,
) -> Result<PreviewReport, PlatformError> {
    let mut problems = Vec::new();
    rule.check("rule", &mut problems);
    if !problems.is_empty() {
        return Err(PlatformError::invalid_with("the rule is not valid", problems));
    }
    let filter = CallFilter { user: user.cloned(), limit: CALLS, ..CallFilter::default() };
    let calls = platform.stores.calls.list_calls(&filter).await?;
    let mut judged = Vec::with_capacity(calls.len());
    for call in calls {
        if let Some(tool) = find_tool(platform, &call).await? {
            judged.push((call.user, tool));
        }
    }
    let owner = user.map_or_else(WorkOwner::anonymous, WorkOwner::for_user);
    let (rule, policy) = (rule.clone(), platform.approvals.policy());
    // Patterns come from the request, and a thousand names can make them slow.
    let work = move || judge_calls(&judged, &rule, &policy);
    WorkPool::global().run(&owner, work).await.map_err(|error| {
        PlatformError::Unavailable(format!(
            "the preview was not made: {error}; use fewer or simpler patterns"
        ))
    })
}

fn judge_calls(calls: &[(UserId, Arc<Tool>)], rule: &PolicyRule, policy: &ApprovalPolicy) -> PreviewReport {
    let (mut report, mut by_tool) = (PreviewReport::default(), HashMap::<&ToolName, u64>::new());
    report.calls = calls.len() as u64;
    for (user, tool) in calls {
        let facts = CallFacts {
            user,
            tool: &tool.name,
            category: tool.definition.category(),
            annotations: &tool.definition.annotations,
            arguments: None,
        };
        match rule.matches(&facts) {
            Some(false) => continue,
            Some(true) => report.matched += 1,
            None => report.depends_on_arguments += 1,
        }
        let now = policy.decide(&facts).decision;
        report.stricter += u64::from(rule.decision > now);
        report.looser += u64::from(rule.decision < now);
        *by_tool.entry(&tool.name).or_default() += 1;
    }
    let previewed = |(tool, calls): (&ToolName, u64)| PreviewedTool { tool: tool.clone(), calls };
    report.tools = by_tool.into_iter().map(previewed).collect();
    report.tools.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.tool.as_str().cmp(b.tool.as_str())));
    report.tools.truncate(MAX_TOOLS);
    report
}

async fn find_tool(platform: &Platform, call: &CallRecord) -> Result<Option<Arc<Tool>>, PlatformError> {
    let Ok(name) = call.tool.parse::<ToolName>() else { return Ok(None) };
    let app = platform.catalog.find_app(name.package()).await?;
    Ok(app.and_then(|app| app.tools.iter().find(|tool| tool.name == name).cloned()))
}
