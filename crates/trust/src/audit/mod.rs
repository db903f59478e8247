//! Static audit of a plugin: for curators before they sign, and for users before they install.
//!
//! It reads tokens, not meaning. Comments, strings and escapes do not fool it. It does not follow values: a
//! name that is computed at run time (`globalThis["ev" + "al"]`) shows up only as access by a computed name,
//! and a computed URL does not show up at all. The sandbox is what prevents harm; the audit only helps people
//! to review.

mod code;
mod hosts;
mod lexer;
mod report;
mod text;

use toolyard_protocol::{
    chat::{ClientToolLimits, client_tool},
    plugin::{Manifest, PluginTool, Storage},
};

pub use report::{AuditFinding, AuditReport, Code, Severity};

use self::{code::UsedApis, report::FindingCollector};

/// Code larger than this is hard to review.
const LARGE_CODE_BYTES: usize = 64 * 1024;
/// The strictest limits that chats may use; a plugin above them does not work everywhere.
const SMALL: ClientToolLimits = ClientToolLimits { tools: 10, bytes: 64 * 1024, depth: 5, properties: 20 };

/// Audits the manifest of a plugin and its code.
pub fn audit_manifest(manifest: &Manifest) -> AuditReport {
    let mut findings = FindingCollector::default();
    let mut uses = UsedApis::default();
    audit_description(manifest, &mut findings);
    hosts::audit_declared_hosts(&manifest.permissions, &mut findings);
    for (index, tool) in manifest.tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        audit_tool(tool, &place, &mut findings);
        let place = format!("{place}.executorCode");
        text::audit_lines(&tool.executor_code, &place, &mut findings);
        code::audit_code(&tool.executor_code, &place, &manifest.permissions, &mut uses, &mut findings);
    }
    audit_permissions(manifest, uses, &mut findings);
    findings.into_report()
}

fn audit_description(manifest: &Manifest, findings: &mut FindingCollector) {
    if manifest.description.trim().is_empty() {
        findings.add(Code::NoDescription, "description", "missing; users need to know what the plugin does");
    }
    text::audit_bidi(&manifest.description, "description", findings);
    let definitions: Vec<_> = manifest.tools.iter().map(PluginTool::to_client_tool).collect();
    if let Err(problem) = client_tool::check_client_tools(&definitions, &SMALL, |_| false) {
        let text = format!("exceeds the limits of some chats: {}", problem.message);
        findings.add(Code::SchemaLimits, "tools", text);
    }
}

fn audit_tool(tool: &PluginTool, place: &str, findings: &mut FindingCollector) {
    let at = format!("{place}.description");
    if tool.description.trim().is_empty() {
        findings.add(Code::NoToolDescription, &at, "a model cannot know when to call it");
    }
    text::audit_bidi(&tool.description, &at, findings);
    text::audit_bidi(tool.parameters.get(), &format!("{place}.parameters"), findings);
    if tool.executor_code.len() > LARGE_CODE_BYTES {
        let text = format!("{} bytes, too much to review", tool.executor_code.len());
        findings.add(Code::LargeCode, &format!("{place}.executorCode"), text);
    }
}

fn audit_permissions(manifest: &Manifest, uses: UsedApis, findings: &mut FindingCollector) {
    let requested = &manifest.permissions;
    // The older form may always read the clock, so the permission is not missing.
    let needs_clock = uses.clock && (requested.clock || !manifest.may_know_time(requested));
    for (what, requested, used, word) in [
        ("network", !requested.network.is_empty(), uses.fetch, "fetch"),
        ("storage", requested.storage != Storage::None, uses.storage, "storage"),
        ("clock", requested.clock, needs_clock, "Date"),
    ] {
        let place = format!("permissions.{what}");
        match (requested, used) {
            (true, false) => {
                findings.add(Code::UnusedPermission, &place, format!("requested, but no code uses `{word}`"));
            }
            (false, true) => {
                findings.add(
                    Code::MissingPermission,
                    &place,
                    format!("not requested, but code uses `{word}`"),
                );
            }
            (true, true) | (false, false) => {}
        }
    }
}

#[cfg(test)]
mod tests;
