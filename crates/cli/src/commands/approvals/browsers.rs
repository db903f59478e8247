//! `toolyard approvals browsers`: where you are notified by web push. Browsers are added in the console.

use clap::{Args, Subcommand};
use http::Method;
use serde::Serialize;
use toolyard_protocol::{
    PushSubscriptionId,
    push::{PushInfo, PushSubscriptionInfo, PushTestReport},
};

use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

const HELP: &str = "\
Without a command, it lists the browsers in which you are notified when a call waits for you. Add a browser in the console,
under Settings, Notifications.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct BrowsersArgs {
    #[command(subcommand)]
    command: Option<BrowsersCommand>,
}

#[derive(Debug, Subcommand)]
enum BrowsersCommand {
    /// Stop notifications in a browser
    Rm(RemoveBrowserArgs),
    /// Send a test notification to all of your browsers
    Test,
}

#[derive(Debug, Args)]
struct RemoveBrowserArgs {
    /// The id, as `toolyard approvals browsers` shows it
    id: PushSubscriptionId,
}

/// Response to `GET /api/push`.
#[derive(Serialize)]
#[serde(transparent)]
struct BrowserTable(PushInfo);

impl RenderText for BrowserTable {
    fn render_text(&self) -> String {
        if self.0.public_key.is_none() {
            return "The operator switched web push off: approvals.push".to_owned();
        }
        if self.0.subscriptions.is_empty() {
            return "No browsers. Turn on notifications in the console, under Settings.".to_owned();
        }
        let head = ["BROWSER", "PUSH SERVICE", "LAST SENT", "PROBLEM", "ID"].map(str::to_owned);
        let rows = self.0.subscriptions.iter().map(browser_row);
        text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

fn browser_row(browser: &PushSubscriptionInfo) -> [String; 5] {
    [
        browser.label.clone(),
        browser.host.clone(),
        browser.last_sent_at.clone().unwrap_or_else(|| "never".to_owned()),
        browser.problem.clone().unwrap_or_else(|| "-".to_owned()),
        browser.id.to_string(),
    ]
}

/// The outcome of a test.
#[derive(Serialize)]
#[serde(transparent)]
struct TestOutcome(PushTestReport);

impl RenderText for TestOutcome {
    fn render_text(&self) -> String {
        let PushTestReport { sent, failed } = self.0;
        match (sent, failed) {
            (0, 0) => {
                "You have no browsers. Turn on notifications in the console, under Settings.".to_owned()
            }
            (sent, 0) => format!("sent to {sent}"),
            (sent, failed) => {
                format!("sent to {sent}, failed for {failed}: see `toolyard approvals browsers`")
            }
        }
    }
}

/// A removed browser.
#[derive(Serialize)]
struct RemovedBrowser {
    removed: PushSubscriptionId,
}

impl RenderText for RemovedBrowser {
    fn render_text(&self) -> String {
        format!("removed {}", self.removed)
    }
}

pub(super) async fn run_browsers_command(
    cx: &CommandContext,
    args: BrowsersArgs,
) -> Result<CommandOutcome, CliError> {
    let client = cx.client()?;
    match args.command {
        None => cx.output.print_result(&BrowserTable(client.get("api/push").await?))?,
        Some(BrowsersCommand::Rm(RemoveBrowserArgs { id })) => {
            let path = format!("api/push/subscriptions/{id}");
            client.send_empty(Method::DELETE, &path).await?;
            cx.output.print_result(&RemovedBrowser { removed: id })?;
        }
        Some(BrowsersCommand::Test) => {
            let report: PushTestReport = client.post("api/push/test", &serde_json::json!({})).await?;
            let has_failed = report.failed > 0;
            cx.output.print_result(&TestOutcome(report))?;
            if has_failed {
                return Ok(CommandOutcome::Failure);
            }
        }
    }
    Ok(CommandOutcome::Success)
}
