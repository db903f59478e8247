//! `toolyard upstreams authorize`: the link that a user opens, and taking the authorization back.

use clap::Args;
use http::Method;
use serde::{Deserialize, Serialize};

use super::{id, path};
use crate::{cli::Context, commands::Verdict, error::CliError, output::Show, text};

const HELP: &str = "\
The link is good for some minutes. Whoever opens it decides in the browser, once, for the user who asked for it.

Examples:
  toolyard upstreams authorize github --user ada@example.com
  toolyard upstreams authorize github --forget --user ada@example.com";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AuthorizeArgs {
    /// The upstream, such as github
    #[arg(value_parser = id)]
    id: String,
    /// Forget what the user authorized
    #[arg(long)]
    forget: bool,
}

#[derive(Serialize, Deserialize)]
struct Link {
    link: String,
}

impl Show for Link {
    /// Nothing but the link, so that it can be taken as it is.
    fn text(&self) -> String {
        text::line(&self.link)
    }
}

#[derive(Serialize)]
struct Forgotten {
    id: String,
    done: &'static str,
}

impl Show for Forgotten {
    fn text(&self) -> String {
        format!("{} the authorization of {}", self.done, self.id)
    }
}

pub(super) async fn run(cx: &Context, args: AuthorizeArgs) -> Result<Verdict, CliError> {
    let (client, path) = (cx.client()?, format!("{}/authorize", path(&args.id)));
    if args.forget {
        client.tell(Method::DELETE, &path).await.map_err(not_theirs)?;
        cx.output.show(&Forgotten { id: args.id, done: "forgot" })?;
        return Ok(Verdict::Good);
    }
    let link: Link = client.make(&path).await.map_err(not_theirs)?;
    cx.output.note("open this link in a browser:");
    cx.output.show(&link)?;
    Ok(Verdict::Good)
}

/// Users see what they have installed, and what is for all.
fn not_theirs(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => refused
            .listed_by("install it for the user first: `toolyard apps install mcp.ID --user NAME`")
            .into(),
        error => error,
    }
}
