//! `toolyard plugin revoke`: calls a plugin back, for everybody who believes the server's lists.

use clap::Args;
use serde::{Deserialize, Serialize};
use toolyard_protocol::plugin::{ContentHash, PluginId};

use super::in_catalogue;
use crate::{cli::Context, commands::Verdict, error::CliError, input, output::Show, text};

const HELP: &str = "\
What is called back does not run any more, from now on and for good: there is no way to take it back. Name a version
of the catalogue or a content, or neither to call back every version that there is and will be. Needs a token with the
role curator.

Examples:
  toolyard plugin revoke com.example.time --version 1.2.0 --reason 'sends addresses to strangers'
  toolyard plugin revoke com.example.time --reason 'its author is gone' --yes";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RevokeArgs {
    /// Its id
    id: PluginId,
    /// Only this version of the catalogue
    #[arg(long, value_name = "VERSION", conflicts_with = "hash")]
    version: Option<String>,
    /// Only this content, under whatever id
    #[arg(long, value_name = "HASH")]
    hash: Option<ContentHash>,
    /// Why, for everybody who meets it
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Do not ask before every version is called back
    #[arg(long)]
    yes: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wanted<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_hash: Option<&'a ContentHash>,
    reason: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    revoked: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Revoked {
    id: PluginId,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_hash: Option<ContentHash>,
    /// False where that had been said before.
    revoked: bool,
}

impl Show for Revoked {
    fn text(&self) -> String {
        let what = match (&self.version, &self.content_hash) {
            (Some(version), _) => format!("{} {version}", self.id),
            (None, Some(hash)) => format!("the content {hash}"),
            (None, None) => format!("every version of {}", self.id),
        };
        let told = if self.revoked {
            format!("called back {what}; it runs no more")
        } else {
            format!("{what} had been called back before")
        };
        text::line(&told)
    }
}

pub(super) async fn run(cx: &Context, args: RevokeArgs) -> Result<Verdict, CliError> {
    let RevokeArgs { id, version, hash, reason, yes } = args;
    if version.is_none() && hash.is_none() && !yes {
        input::confirm(&format!("call back every version of {id}, for good?"))?;
    }
    let wanted = Wanted { version: version.as_deref(), content_hash: hash.as_ref(), reason: &reason };
    let answer = cx.client()?.post(&format!("api/plugins/{id}/revoke"), &wanted).await;
    let Answer { revoked } = answer.map_err(in_catalogue)?;
    cx.output.show(&Revoked { id, version, content_hash: hash, revoked })?;
    Ok(Verdict::Good)
}
