//! `toolyard approvals policy` and `preview`

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolyard_protocol::{Problem, approval::PreviewReport};

use crate::{
    cli::CommandContext, commands::CommandOutcome, error::CliError, input, output::RenderText, text,
};

/// Largest policy file, in bytes.
const MAX_FILE_BYTES: usize = 1024 * 1024;

const POLICY_HELP: &str = "\
A policy has a preset (open, default or strict) and rules, of which the first match decides. The file is TOML or JSON. What
you set replaces `preset` and `rules` of the configuration file until you reset it.

Examples:
  toolyard approvals policy > policy.toml
  toolyard approvals policy set policy.toml
  toolyard approvals policy reset";

const PREVIEW_HELP: &str = "\
FILE has one rule, in TOML or JSON:
  tools = [\"com.example.bank:*\"]
  decision = \"ask\"

Users see the effect on their own calls, operators on the calls of all users. Arguments are not recorded, so a rule with
conditions on arguments may match less than it says.";

#[derive(Debug, Args)]
#[command(after_help = POLICY_HELP)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    command: Option<PolicyCommand>,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Print the policy in force
    Show,
    /// Replace the policy; for operators
    Set(PolicySetArgs),
    /// Return to the policy of the configuration file; for operators
    Reset,
}

#[derive(Debug, Args)]
struct PolicySetArgs {
    /// The policy, in TOML or JSON
    file: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = PREVIEW_HELP)]
pub(crate) struct PreviewArgs {
    /// One rule, in TOML or JSON
    file: PathBuf,
}

/// The policy in force, as the server sent it.
#[derive(Serialize, Deserialize)]
struct PolicyDocument {
    source: String,
    #[serde(flatten)]
    policy: Map<String, Value>,
}

impl RenderText for PolicyDocument {
    fn render_text(&self) -> String {
        let from = match self.source.as_str() {
            "stored" => {
                "# set at run time; `toolyard approvals policy reset` returns to the configuration file"
            }
            _ => "# from the configuration file",
        };
        // A policy has no null, which is all that TOML cannot express.
        let policy = toml::to_string(&self.policy).unwrap_or_default();
        format!("{from}\n{}", policy.trim_end())
    }
}

#[derive(Serialize)]
struct ResetPolicy {
    reset: bool,
}

impl RenderText for ResetPolicy {
    fn render_text(&self) -> String {
        "the policy of the configuration file is in force".to_owned()
    }
}

impl RenderText for PreviewReport {
    fn render_text(&self) -> String {
        let mut lines = vec![
            format!("Of the last {} calls, the rule matches {}.", self.calls, self.matched),
            format!("More questions or refusals: {}. Fewer: {}.", self.stricter, self.looser),
        ];
        if self.depends_on_arguments > 0 {
            let text = "more calls may match; that depends on their arguments, which are not recorded.";
            lines.push(format!("{} {text}", self.depends_on_arguments));
        }
        let rows: Vec<_> =
            self.tools.iter().map(|one| [one.tool.to_string(), one.calls.to_string()]).collect();
        if !rows.is_empty() {
            lines.push(text::format_table(&rows));
        }
        lines.join("\n")
    }
}

pub(super) async fn run_policy_command(
    cx: &CommandContext,
    args: PolicyArgs,
) -> Result<CommandOutcome, CliError> {
    let (client, path) = (cx.client()?, "api/approvals/policy");
    let policy: PolicyDocument = match args.command {
        None | Some(PolicyCommand::Show) => client.get(path).await?,
        Some(PolicyCommand::Set(args)) => client.put(path, &read_document(&args.file)?).await?,
        Some(PolicyCommand::Reset) => {
            client.send_empty(Method::DELETE, path).await?;
            cx.output.print_result(&ResetPolicy { reset: true })?;
            return Ok(CommandOutcome::Success);
        }
    };
    cx.output.print_result(&policy)?;
    Ok(CommandOutcome::Success)
}

pub(super) async fn preview_rule(
    cx: &CommandContext,
    args: &PreviewArgs,
) -> Result<CommandOutcome, CliError> {
    let rule = read_document(&args.file)?;
    let report: PreviewReport = cx.client()?.post("api/approvals/preview", &rule).await?;
    cx.output.print_result(&report)?;
    Ok(CommandOutcome::Success)
}

/// Reads a TOML or JSON file. A JSON document starts with a brace, which no TOML document does.
fn read_document(file: &Path) -> Result<Value, CliError> {
    let text = input::read_text_file(file, MAX_FILE_BYTES)?;
    parse_document(&text).map_err(|why| CliError::Problems {
        what: file.display().to_string(),
        problems: vec![Problem::new(String::new(), why)],
    })
}

fn parse_document(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| error.to_string());
    }
    toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_is_printed_as_it_can_be_set() {
        let policy = json!({ "source": "config", "preset": "strict", "rules": [
            { "annotations": { "destructive": true }, "arguments": [{ "pointer": "/amount", "lessThan": 50 }],
              "decision": "ask", "floor": true }] });
        let document: PolicyDocument = serde_json::from_value(policy.clone()).unwrap();
        let mut parsed = parse_document(&document.render_text()).unwrap();
        parsed["source"] = "config".into();
        assert_eq!(parsed, policy);
    }

    #[test]
    fn a_file_is_toml_or_json() {
        let expected = json!({ "decision": "ask" });
        assert_eq!(parse_document(" {\"decision\":\"ask\"}").unwrap(), expected);
        assert_eq!(parse_document("decision = \"ask\"").unwrap(), expected);
        assert!(parse_document("{").is_err() && parse_document("decision = ask").is_err());
    }
}
