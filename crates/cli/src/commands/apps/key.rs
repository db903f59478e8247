//! `toolyard apps key`

use serde::Serialize;
use toolyard_protocol::{PackageName, api::NewKey};

use super::PackageArg;
use crate::{cli::Context, commands::Verdict, error::CliError, output::Show};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    package_name: PackageName,
    #[serde(flatten)]
    key: NewKey,
}

impl Show for Key {
    fn text(&self) -> String {
        format!(
            "API key  {}\n\nIt is shown only now. The old key of {} is void: give the new one to the app.",
            self.key.api_key, self.package_name
        )
    }
}

pub(super) async fn run(cx: &Context, args: PackageArg) -> Result<Verdict, CliError> {
    let key: NewKey = cx.client()?.make(&format!("api/apps/{}/key", args.package)).await?;
    cx.output.show(&Key { package_name: args.package, key })?;
    Ok(Verdict::Good)
}
