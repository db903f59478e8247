//! `toolyard token ls`

use toolyard_protocol::api::TokenList;

use crate::{cli::Context, commands::Verdict, error::CliError, output::Show, text};

/// How much of a name is shown, in characters.
const SHOWN_CHARS: usize = 40;

impl Show for TokenList {
    fn text(&self) -> String {
        if self.tokens.is_empty() {
            return "No tokens are listed. Make one with `toolyard token user NAME`.".to_owned();
        }
        let head = ["ID", "WHOSE", "ROLE", "NAME", "ENDS"].map(str::to_owned);
        let rows = self.tokens.iter().map(|token| {
            let ends = match &token.revoked_at {
                Some(at) => format!("revoked {at}"),
                None => token.expires_at.clone(),
            };
            [
                token.id.to_string(),
                token.subject.clone(),
                token.role.as_str().to_owned(),
                text::cut(&token.name, SHOWN_CHARS),
                ends,
            ]
        });
        text::table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

pub(super) async fn run(cx: &Context) -> Result<Verdict, CliError> {
    let tokens: TokenList = cx.client()?.get("api/tokens").await?;
    cx.output.show(&tokens)?;
    Ok(Verdict::Good)
}
