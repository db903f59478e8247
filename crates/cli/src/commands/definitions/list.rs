//! `toolyard definitions list`, `show` and `pins`

use clap::Args;
use serde::Serialize;
use toolyard_protocol::{
    DefinitionChangeId, PackageName,
    definitions::{
        DefinitionChangeDetails, DefinitionChangeInfo, DefinitionChangeList, DefinitionFinding,
        PackagePinsInfo, PinKind,
    },
};

use super::with_list_hint;
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

/// Most changes per page of the server.
const PAGE: u32 = 200;
/// Most pages that are read.
const MAX_PAGES: usize = 50;

#[derive(Debug, Default, Args)]
pub(crate) struct ChangeListArgs {
    /// Only changes of this app or upstream
    #[arg(long, value_name = "PACKAGE")]
    package: Option<PackageName>,
    /// Also changes that were rejected
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChangeShowArgs {
    /// The id of the change
    id: DefinitionChangeId,
}

#[derive(Debug, Args)]
pub(crate) struct PinsArgs {
    /// The app or upstream, such as mcp.github
    package: PackageName,
}

/// The changes as a table.
#[derive(Serialize)]
#[serde(transparent)]
struct ChangeTable(DefinitionChangeList);

impl RenderText for ChangeTable {
    fn render_text(&self) -> String {
        if self.0.changes.is_empty() {
            return "No changed definitions wait.".to_owned();
        }
        let head = ["SINCE", "WHAT", "CHANGE", "FLAGS", "STATE", "ID"].map(str::to_owned);
        let rows = self.0.changes.iter().map(|one| {
            [
                one.since.clone(),
                text::sanitize_line(&subject_name(one)),
                text::sanitize_line(&describe_kind(one)),
                one.flagged.to_string(),
                one.state.as_str().to_owned(),
                one.id.to_string(),
            ]
        });
        text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

/// `mcp.github:search`, `mcp.github ui://board` or `mcp.github instructions`
pub(super) fn subject_name(change: &DefinitionChangeInfo) -> String {
    let user = change.user.as_ref().map(|user| format!(" for {user}")).unwrap_or_default();
    match change.subject {
        PinKind::Tool => format!("{}:{}{user}", change.package, change.name),
        PinKind::Page => format!("{} {}{user}", change.package, change.name),
        PinKind::Instructions => format!("{} instructions{user}", change.package),
    }
}

fn describe_kind(change: &DefinitionChangeInfo) -> String {
    match &change.other {
        Some(other) => format!("{} ({other})", change.kind.as_str()),
        None => change.kind.as_str().to_owned(),
    }
}

/// One change.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct ShownChange(pub(super) DefinitionChangeDetails);

impl RenderText for ShownChange {
    fn render_text(&self) -> String {
        let DefinitionChangeDetails { change, diff, reasons, findings } = &self.0;
        let in_use = if change.old_in_use { "the accepted version stays in use" } else { "not in use" };
        let mut lines = vec![
            format!("{}: {}, {in_use}", subject_name(change), describe_kind(change)),
            format!("version {}", change.digest),
        ];
        lines.extend(reasons.iter().map(|one| format!("  {}: {}", one.pointer, one.reason)));
        lines.extend(findings.iter().map(format_finding));
        lines.extend(diff.iter().cloned());
        lines.iter().map(|line| text::sanitize_line(line)).collect::<Vec<_>>().join("\n")
    }
}

fn format_finding(finding: &DefinitionFinding) -> String {
    format!("  ! {} ({}): {}: `{}`", finding.rule, finding.severity, finding.reason, finding.excerpt)
}

/// The pins of a package.
#[derive(Serialize)]
#[serde(transparent)]
struct ShownPins(PackagePinsInfo);

impl RenderText for ShownPins {
    fn render_text(&self) -> String {
        let Some(first_seen) = &self.0.first_seen else {
            return format!("Nothing of {} is pinned yet.", self.0.package);
        };
        let mut lines = vec![format!("{}, first seen {first_seen}", self.0.package)];
        for pin in &self.0.pins {
            let name = if pin.name.is_empty() { pin.subject.as_str() } else { &pin.name };
            let by = pin.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            let user = pin.user.as_ref().map(|user| format!(" for {user}")).unwrap_or_default();
            lines.push(format!("  {name}: {}{by}{user}, {}", pin.origin.as_str(), pin.since));
            lines.extend(pin.findings.iter().map(|finding| format!("  {}", format_finding(finding))));
        }
        let note = |note: &toolyard_protocol::definitions::DefinitionNoteInfo| {
            let name = if note.name.is_empty() { note.subject.as_str() } else { &note.name };
            format!("{} {name}: {}", note.at, note.text)
        };
        lines.extend(self.0.notes.iter().map(note));
        lines.iter().map(|line| text::sanitize_line(line)).collect::<Vec<_>>().join("\n")
    }
}

/// All changes that match, page by page.
pub(super) async fn fetch_changes(
    cx: &CommandContext,
    package: Option<&PackageName>,
    is_pending_only: bool,
) -> Result<DefinitionChangeList, CliError> {
    let client = cx.client()?;
    let package = package.map(|package| format!("&package={package}")).unwrap_or_default();
    let state = if is_pending_only { "&state=pending" } else { "" };
    let (mut all, mut after) = (Vec::new(), String::new());
    for _ in 0..MAX_PAGES {
        let path = format!("api/definitions?limit={PAGE}{package}{state}{after}");
        let page: DefinitionChangeList = client.get(&path).await?;
        all.extend(page.changes);
        let Some(next) = page.next else { break };
        after = format!("&after={next}");
    }
    Ok(DefinitionChangeList { changes: all, next: None })
}

pub(super) async fn list_changes(
    cx: &CommandContext,
    args: &ChangeListArgs,
) -> Result<CommandOutcome, CliError> {
    let changes = fetch_changes(cx, args.package.as_ref(), !args.all).await?;
    cx.output.print_result(&ChangeTable(changes))?;
    Ok(CommandOutcome::Success)
}

pub(super) async fn show_change(
    cx: &CommandContext,
    args: &ChangeShowArgs,
) -> Result<CommandOutcome, CliError> {
    let shown = cx.client()?.get(&format!("api/definitions/{}", args.id)).await.map_err(with_list_hint)?;
    cx.output.print_result(&ShownChange(shown))?;
    Ok(CommandOutcome::Success)
}

pub(super) async fn show_pins(cx: &CommandContext, args: &PinsArgs) -> Result<CommandOutcome, CliError> {
    let pins = cx.client()?.get(&format!("api/definitions/pins/{}", args.package)).await?;
    cx.output.print_result(&ShownPins(pins))?;
    Ok(CommandOutcome::Success)
}
