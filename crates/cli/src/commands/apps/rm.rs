//! `toolyard apps rm`

use clap::Args;
use http::Method;
use toolyard_protocol::PackageName;

use super::Done;
use crate::{cli::Context, commands::Verdict, error::CliError, input};

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// The app, such as com.example.todo
    package: PackageName,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn run(cx: &Context, args: RmArgs) -> Result<Verdict, CliError> {
    let client = cx.client()?;
    if !args.yes {
        input::confirm(&format!(
            "Remove {} with its tools, keys, installs and everything it keeps?",
            args.package
        ))?;
    }
    client.tell(Method::DELETE, &format!("api/apps/{}", args.package)).await?;
    cx.output.show(&Done { package_name: args.package, done: "removed" })?;
    Ok(Verdict::Good)
}
