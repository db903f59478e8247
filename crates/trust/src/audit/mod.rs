//! What can be said of a plugin without running it: for curators before they sign, and for users before they install.
//!
//! A reader of tokens, not of meaning. It is not fooled by comments, texts and escapes; it does not follow values, so a
//! name that is put together while running (`globalThis["ev" + "al"]`) is seen only as an access by a computed name,
//! and a URL that is put together not at all. The sandbox is what keeps code from doing harm; this only helps people
//! to look.

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

/// Code above this is long for a tool.
const LARGE_CODE_BYTES: usize = 64 * 1024;
/// The least that chats are set to take; a plugin above it does not work everywhere.
const SMALL: ClientToolLimits = ClientToolLimits { tools: 10, bytes: 64 * 1024, depth: 5, properties: 20 };

/// Looks at everything that a plugin says of itself and at its code.
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
        findings.add(Code::NoDescription, "description", "people are not told what it is good for");
    }
    text::audit_bidi(&manifest.description, "description", findings);
    let definitions: Vec<_> = manifest.tools.iter().map(PluginTool::to_client_tool).collect();
    if let Err(problem) = client_tool::check_client_tools(&definitions, &SMALL, |_| false) {
        let text = format!("some chats are set to take less: {}", problem.message);
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
        let text = format!("{} bytes, too much to be read by people", tool.executor_code.len());
        findings.add(Code::LargeCode, &format!("{place}.executorCode"), text);
    }
}

fn audit_permissions(manifest: &Manifest, uses: UsedApis, findings: &mut FindingCollector) {
    let asked = &manifest.permissions;
    // Who need not ask for the time does not miss it.
    let needs_clock = uses.clock && (asked.clock || !manifest.may_know_time(asked));
    for (what, asked, used, word) in [
        ("network", !asked.network.is_empty(), uses.fetch, "fetch"),
        ("storage", asked.storage != Storage::None, uses.storage, "storage"),
        ("clock", asked.clock, needs_clock, "Date"),
    ] {
        let place = format!("permissions.{what}");
        match (asked, used) {
            (true, false) => {
                findings.add(Code::UnusedPermission, &place, format!("asked for, but no code uses `{word}`"));
            }
            (false, true) => {
                findings.add(
                    Code::MissingPermission,
                    &place,
                    format!("not asked for, but code uses `{word}`"),
                );
            }
            (true, true) | (false, false) => {}
        }
    }
}

#[cfg(test)]
mod tests;
