//! `toolyard apps secret`

use serde::Serialize;
use toolyard_protocol::{PackageName, api::NewSecret};

use super::PackageArg;
use crate::{cli::Context, commands::Verdict, error::CliError, output::Show};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Secret {
    package_name: PackageName,
    #[serde(flatten)]
    secret: NewSecret,
}

impl Show for Secret {
    fn text(&self) -> String {
        format!(
            "signing secret  {}\n\nIt is shown only now. Until the next rotation, requests to {} carry signatures of the old and the new one.",
            self.secret.signing_secret, self.package_name
        )
    }
}

pub(super) async fn run(cx: &Context, args: PackageArg) -> Result<Verdict, CliError> {
    let secret: NewSecret = cx.client()?.make(&format!("api/apps/{}/secret", args.package)).await?;
    cx.output.show(&Secret { package_name: args.package, secret })?;
    Ok(Verdict::Good)
}
