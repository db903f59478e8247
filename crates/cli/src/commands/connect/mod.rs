//! `toolyard connect`: how to add the server to a client. The guides are those of the console's page Connect.

mod address;
mod chat_apps;
mod coding_tools;
mod formatting;
mod guide;
mod links;
mod programs;

use clap::{Args, builder::PossibleValuesParser};

use self::{
    formatting::{ClientInstructions, ClientOverview},
    guide::ClientGuide,
};
use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError};

const HELP: &str = "\
Without a client, it lists the clients. With one, it prints the steps, the text to copy with the address of your server, and
a link that opens the client if there is one. Where a client needs a token, the text contains YOUR_TOKEN in its place.
Any other client that supports MCP over HTTP can use the same address.

Examples:
  toolyard connect
  toolyard connect claude-code
  toolyard connect cursor --server https://tools.example.com
  toolyard connect vscode --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ConnectArgs {
    /// The client; without one, all clients are listed
    #[arg(value_parser = PossibleValuesParser::new(client_guides().map(|guide| guide.id)))]
    client: Option<String>,
}

/// All guides, in the order of the console.
fn client_guides() -> impl Iterator<Item = &'static ClientGuide> {
    chat_apps::CHAT_APPS.iter().chain(coding_tools::CODING_TOOLS).chain(programs::PROGRAMS)
}

pub(crate) async fn show_client_guide(
    cx: &CommandContext,
    args: ConnectArgs,
) -> Result<CommandOutcome, CliError> {
    let id = args.client.as_deref();
    match client_guides().find(|guide| Some(guide.id) == id) {
        None => cx.output.print_result(&ClientOverview::new(client_guides()))?,
        Some(guide) => {
            let address = address::fetch_address(cx).await?;
            cx.output.print_result(&ClientInstructions::new(guide, &address))?;
        }
    }
    Ok(CommandOutcome::Success)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::{
        address::McpAddress,
        guide::{ClientAuth, FilledSnippet, SnippetLanguage, TOKEN_PLACEHOLDER},
        *,
    };

    const BASE: &str = "https://tools.example.com/base";

    fn snippets(guide: &ClientGuide) -> Vec<FilledSnippet> {
        guide.fill_snippets(&McpAddress::parse(&format!("{BASE}/mcp")).unwrap())
    }

    #[test]
    fn ids_and_labels_are_unique() {
        let ids: BTreeSet<_> = client_guides().map(|guide| guide.id).collect();
        assert_eq!((ids.len(), client_guides().count()), (18, 18));
        let labels: Vec<_> = client_guides().flat_map(snippets).map(|snippet| snippet.label).collect();
        assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), labels.len());
    }

    #[test]
    fn every_client_has_steps_and_a_snippet_with_the_address() {
        for guide in client_guides() {
            let snippets = snippets(guide);
            assert!(!guide.steps.is_empty(), "{}", guide.id);
            assert!(snippets.iter().any(|snippet| snippet.text.contains(BASE)), "{}", guide.id);
            for FilledSnippet { text, .. } in snippets {
                assert!(!text.contains("{url}") && !text.contains("{base}"), "{}: {text}", guide.id);
            }
        }
    }

    #[test]
    fn a_token_is_a_placeholder() {
        for guide in client_guides() {
            let has_placeholder =
                snippets(guide).iter().any(|snippet| snippet.text.contains(TOKEN_PLACEHOLDER));
            assert_eq!(has_placeholder, guide.auth.contains(&ClientAuth::Token), "{}", guide.id);
        }
    }

    #[test]
    fn json_snippets_are_json() {
        let is_json = |snippet: &FilledSnippet| matches!(snippet.language, SnippetLanguage::Json);
        let texts: Vec<_> = client_guides().flat_map(snippets).filter(is_json).collect();
        assert_eq!(texts.len(), 7);
        for FilledSnippet { label, text, .. } in texts {
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{label}: {text}");
        }
    }

    #[test]
    fn links_are_ascii_and_contain_no_token() {
        let address = McpAddress::parse(&format!("{BASE}/mcp")).unwrap();
        let links: Vec<_> = client_guides().filter_map(|guide| guide.link_for(&address)).collect();
        assert_eq!(links.len(), 6);
        for link in links {
            assert!(link.bytes().all(|byte| byte.is_ascii_graphic()), "{link}");
            assert!(!link.contains(TOKEN_PLACEHOLDER), "{link}");
        }
    }
}
