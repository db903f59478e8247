//! `toolyard upstreams rm`

use clap::Args;
use http::Method;
use serde::Serialize;

use super::{id, missing, path};
use crate::{cli::Context, commands::Verdict, error::CliError, input, output::Show};

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// The upstream, such as github
    #[arg(value_parser = id)]
    id: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Serialize)]
struct Removed {
    id: String,
    done: &'static str,
}

impl Show for Removed {
    fn text(&self) -> String {
        format!("{} {}", self.done, self.id)
    }
}

pub(super) async fn run(cx: &Context, args: RmArgs) -> Result<Verdict, CliError> {
    let client = cx.client()?;
    if !args.yes {
        input::confirm(&format!(
            "Remove {} with its installs and the authorizations that users gave it?",
            args.id
        ))?;
    }
    client.tell(Method::DELETE, &path(&args.id)).await.map_err(missing)?;
    cx.output.show(&Removed { id: args.id, done: "removed" })?;
    Ok(Verdict::Good)
}
