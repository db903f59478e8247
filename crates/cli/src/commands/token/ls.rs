//! `toolyard token ls`

use toolyard_protocol::api::TokenList;

use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

/// How much of a name is shown, in characters.
const SHOWN_CHARS: usize = 40;
/// Tokens per page.
const PAGE: u32 = 200;
/// Most pages; a server stores at most half as many tokens.
const MAX_PAGES: u32 = 1_000;

impl RenderText for TokenList {
    fn render_text(&self) -> String {
        if self.tokens.is_empty() {
            return "No tokens yet. Create one with `toolyard token user NAME`.".to_owned();
        }
        let head = ["ID", "SUBJECT", "ROLE", "NAME", "EXPIRES"].map(str::to_owned);
        let rows = self.tokens.iter().map(|token| {
            let ends = match &token.revoked_at {
                Some(at) => format!("revoked {at}"),
                None => token.expires_at.clone(),
            };
            [
                token.id.to_string(),
                token.subject.clone(),
                token.role.as_str().to_owned(),
                text::truncate_text(&token.name, SHOWN_CHARS),
                ends,
            ]
        });
        text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

pub(super) async fn list_tokens(cx: &CommandContext) -> Result<CommandOutcome, CliError> {
    let client = cx.client()?;
    let mut all: TokenList = client.get(&format!("api/tokens?limit={PAGE}")).await?;
    for _ in 0..MAX_PAGES {
        let Some(next) = all.next.take() else { break };
        let page: TokenList = client.get(&format!("api/tokens?limit={PAGE}&before={next}")).await?;
        all.tokens.extend(page.tokens);
        all.next = page.next;
    }
    cx.output.print_result(&all)?;
    Ok(CommandOutcome::Success)
}
