//! `toolyard apps install` and `uninstall`

use http::Method;

use super::{Done, PackageArg};
use crate::{cli::Context, commands::Verdict, error::CliError};

pub(super) async fn install(cx: &Context, args: PackageArg) -> Result<Verdict, CliError> {
    change(cx, args, Method::PUT, "installed").await
}

pub(super) async fn uninstall(cx: &Context, args: PackageArg) -> Result<Verdict, CliError> {
    change(cx, args, Method::DELETE, "uninstalled").await
}

async fn change(
    cx: &Context,
    args: PackageArg,
    method: Method,
    done: &'static str,
) -> Result<Verdict, CliError> {
    cx.client()?.tell(method, &format!("api/installs/{}", args.package)).await?;
    cx.output.show(&Done { package_name: args.package, done })?;
    Ok(Verdict::Good)
}
