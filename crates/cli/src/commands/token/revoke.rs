//! `toolyard token revoke`

use clap::Args;
use http::Method;
use serde::Serialize;
use toolyard_protocol::TokenId;

use crate::{cli::Context, commands::Verdict, error::CliError, output::Show};

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The token, as `toolyard token ls` shows it
    id: TokenId,
}

#[derive(Serialize)]
struct Revoked {
    revoked: TokenId,
}

impl Show for Revoked {
    fn text(&self) -> String {
        format!("revoked {} and all that were made with it", self.revoked)
    }
}

pub(super) async fn run(cx: &Context, args: RevokeArgs) -> Result<Verdict, CliError> {
    cx.client()?.tell(Method::DELETE, &format!("api/tokens/{}", args.id)).await?;
    cx.output.show(&Revoked { revoked: args.id })?;
    Ok(Verdict::Good)
}
