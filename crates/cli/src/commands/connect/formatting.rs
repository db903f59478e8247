//! The list of clients, and the instructions for one, as text and as JSON.

use serde::Serialize;

use super::{
    address::ServerAddress,
    guide::{ClientAuth, ClientGuide, FilledSnippet, TOKEN_PLACEHOLDER},
};
use crate::{output::RenderText, text};

/// All clients.
#[derive(Serialize)]
pub(super) struct ClientOverview {
    clients: Vec<ClientSummary>,
}

#[derive(Serialize)]
struct ClientSummary {
    id: &'static str,
    name: &'static str,
    kind: &'static str,
    auth: &'static [ClientAuth],
}

impl ClientOverview {
    pub(super) fn new(guides: impl Iterator<Item = &'static ClientGuide>) -> Self {
        let summarize =
            |&ClientGuide { id, name, kind, auth, .. }: &ClientGuide| ClientSummary { id, name, kind, auth };
        Self { clients: guides.map(summarize).collect() }
    }
}

impl RenderText for ClientOverview {
    fn render_text(&self) -> String {
        let head = ["ID", "NAME", "HOW"].map(str::to_owned);
        let rows = self
            .clients
            .iter()
            .map(|client| [client.id.to_owned(), client.name.to_owned(), auth_text(client.auth)]);
        let table = text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
        format!("{table}\n\nRun `toolyard connect ID` for the steps.")
    }
}

fn auth_text(auth: &[ClientAuth]) -> String {
    let word = |auth: &ClientAuth| match auth {
        ClientAuth::OAuth => "OAuth",
        ClientAuth::Token => "token",
    };
    auth.iter().map(word).collect::<Vec<_>>().join(" or ")
}

/// How one client is connected to one server.
#[derive(Serialize)]
pub(super) struct ClientInstructions {
    id: &'static str,
    name: &'static str,
    kind: &'static str,
    auth: &'static [ClientAuth],
    /// The MCP endpoint.
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    steps: &'static [&'static str],
    snippets: Vec<FilledSnippet>,
    /// What may prevent it from working, and what to replace.
    notes: Vec<String>,
}

impl ClientInstructions {
    pub(super) fn new(guide: &ClientGuide, address: &ServerAddress) -> Self {
        let snippets = guide.fill_snippets(&address.mcp);
        Self {
            id: guide.id,
            name: guide.name,
            kind: guide.kind,
            auth: guide.auth,
            url: address.mcp.url.clone(),
            link: guide.link_for(&address.mcp),
            steps: guide.steps,
            notes: guide_notes(guide, address),
            snippets,
        }
    }
}

/// What the user must know about this client at this server.
fn guide_notes(guide: &ClientGuide, ServerAddress { mcp, lacks_oauth }: &ServerAddress) -> Vec<String> {
    let mut notes = Vec::new();
    if guide.is_hosted && !mcp.is_public() {
        notes.push(format!(
            "{} must reach this server over the internet with https. At {} it cannot.",
            guide.name,
            mcp.origin()
        ));
    }
    if *lacks_oauth && guide.auth.contains(&ClientAuth::OAuth) {
        notes.push(
            "This server does not let clients sign in. Create a token, and add the header `Authorization: Bearer` with the \
             token to the configuration of the client."
                .to_owned(),
        );
    }
    if guide.auth.contains(&ClientAuth::Token) {
        notes.push(format!(
            "Replace {TOKEN_PLACEHOLDER} with a token. Create one in the console: {}/console/settings?tab=tokens",
            mcp.base
        ));
    }
    notes
}

impl RenderText for ClientInstructions {
    fn render_text(&self) -> String {
        let steps: Vec<_> = (1..).zip(self.steps).map(|(number, step)| format!("{number}. {step}")).collect();
        let mut parts = vec![format!("{}: {}", self.name, self.kind), steps.join("\n")];
        parts.extend(self.link.as_ref().map(|link| format!("Link:\n{link}")));
        // Not indented, so that the text can be copied.
        parts.extend(
            self.snippets.iter().map(|FilledSnippet { label, text, .. }| format!("{label}:\n{text}")),
        );
        parts.extend(self.notes.iter().map(|note| format!("Note: {note}")));
        parts.join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{address::McpAddress, client_guides},
        *,
    };

    fn instructions(id: &str, url: &str, lacks_oauth: bool) -> ClientInstructions {
        let guide = client_guides().find(|guide| guide.id == id).unwrap();
        ClientInstructions::new(guide, &ServerAddress { mcp: McpAddress::parse(url).unwrap(), lacks_oauth })
    }

    #[test]
    fn steps_texts_and_notes_are_printed_in_order() {
        let expected = "\
curl: The REST API, from a shell

1. The command lists your tools. `POST /api/tools/execute` calls one.

curl command:
export TOOLYARD_TOKEN=YOUR_TOKEN
curl https://x.example.com/api/tools -H \"Authorization: Bearer $TOOLYARD_TOKEN\"

Note: Replace YOUR_TOKEN with a token. Create one in the console: https://x.example.com/console/settings?tab=tokens";
        assert_eq!(instructions("curl", "https://x.example.com/mcp", true).render_text(), expected);
    }

    #[test]
    fn a_link_is_printed() {
        let text = instructions("claude", "https://x.example.com/mcp", false).render_text();
        assert!(text.contains("\n\nLink:\nhttps://claude.ai/customize/connectors\n\n"), "{text}");
        assert!(!text.contains("Note:"), "{text}");
    }

    #[test]
    fn notes_say_what_does_not_work() {
        let notes = instructions("chatgpt", "http://127.0.0.1:8787/mcp", true).notes;
        assert_eq!(notes.len(), 2);
        assert!(notes[0].contains("ChatGPT must reach") && notes[0].contains("http://127.0.0.1:8787 "));
        assert!(notes[1].contains("does not let clients sign in"));
        assert!(instructions("cursor", "http://127.0.0.1:8787/mcp", false).notes.is_empty());
    }

    #[test]
    fn clients_are_listed_with_how_they_authenticate() {
        let table = ClientOverview::new(client_guides()).render_text();
        assert!(table.starts_with("ID              NAME            HOW\n"), "{table}");
        for row in ["claude-desktop  Claude Desktop  OAuth or token", "cursor          Cursor          OAuth"]
        {
            assert!(table.lines().any(|line| line == row), "{table}");
        }
        assert_eq!(table.lines().count(), 1 + 18 + 2);
    }
}
