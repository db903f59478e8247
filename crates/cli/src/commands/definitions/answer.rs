//! `toolyard definitions accept` and `reject`

use clap::{Args, ValueEnum};
use http::Method;
use serde::Serialize;
use toolyard_protocol::{
    DefinitionChangeId, PackageName,
    definitions::{
        AnswerScope, DefinitionAnswer, DefinitionAnswerRequest, DefinitionChangeDetails, DefinitionChangeInfo,
    },
};

use super::{
    list::{fetch_changes, subject_name},
    with_list_hint,
};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct ChangeAnswerArgs {
    /// The ids of the changes
    #[arg(group = "which")]
    ids: Vec<DefinitionChangeId>,
    /// Everything that waits for this app or upstream
    #[arg(long, value_name = "PACKAGE", group = "which")]
    package: Option<PackageName>,
    /// Only if it is still this version, as `show` prints it. Default: the version of now
    #[arg(long, value_name = "DIGEST", conflicts_with = "package")]
    version: Option<String>,
    /// For everyone, or for the user alone. Default: everyone if you are an operator
    #[arg(long, value_enum)]
    scope: Option<ScopeFlag>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScopeFlag {
    Everyone,
    Me,
}

impl From<ScopeFlag> for AnswerScope {
    fn from(flag: ScopeFlag) -> Self {
        match flag {
            ScopeFlag::Everyone => Self::Everyone,
            ScopeFlag::Me => Self::Me,
        }
    }
}

/// The changes that were answered.
#[derive(Serialize)]
struct AnsweredChanges {
    answer: DefinitionAnswer,
    changes: Vec<DefinitionChangeInfo>,
}

impl RenderText for AnsweredChanges {
    fn render_text(&self) -> String {
        if self.changes.is_empty() {
            return "No changed definitions wait.".to_owned();
        }
        let word = match self.answer {
            DefinitionAnswer::Accept => "accepted",
            DefinitionAnswer::Reject => "rejected",
        };
        let line =
            |change: &DefinitionChangeInfo| text::sanitize_line(&format!("{word} {}", subject_name(change)));
        self.changes.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

pub(super) async fn answer_changes(
    cx: &CommandContext,
    answer: DefinitionAnswer,
    args: &ChangeAnswerArgs,
) -> Result<CommandOutcome, CliError> {
    let client = cx.client()?;
    let changes = match &args.package {
        Some(package) => fetch_changes(cx, Some(package), true).await?.changes,
        None => {
            let mut changes = Vec::new();
            for id in &args.ids {
                let path = format!("api/definitions/{id}");
                let shown: DefinitionChangeDetails = client.get(&path).await.map_err(with_list_hint)?;
                changes.push(shown.change);
            }
            changes
        }
    };
    for change in &changes {
        let request = DefinitionAnswerRequest {
            answer,
            digest: args.version.clone().unwrap_or_else(|| change.digest.clone()),
            scope: args.scope.map(Into::into),
        };
        let path = format!("api/definitions/{}", change.id);
        client.send_document(Method::POST, &path, &request).await.map_err(with_list_hint)?;
    }
    cx.output.print_result(&AnsweredChanges { answer, changes })?;
    Ok(CommandOutcome::Success)
}
