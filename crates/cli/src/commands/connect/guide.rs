//! How one client is connected.

use serde::Serialize;

use super::address::McpAddress;
use crate::text;

/// Stands for the user's token.
pub(super) const TOKEN_PLACEHOLDER: &str = "YOUR_TOKEN";

/// The guide for one client.
#[derive(Debug)]
pub(super) struct ClientGuide {
    /// What the user enters.
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    /// What kind of program it is.
    pub(super) kind: &'static str,
    /// The client runs on the internet and must reach the server over https.
    pub(super) is_hosted: bool,
    pub(super) auth: &'static [ClientAuth],
    /// Code is marked with backticks.
    pub(super) steps: &'static [&'static str],
    pub(super) snippets: &'static [SnippetTemplate],
    /// Opens the client, or its page where servers are added.
    pub(super) link: Option<ClientLink>,
}

/// How a client authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ClientAuth {
    /// The user signs in, and decides in the console what the client may do.
    OAuth,
    /// The user enters a token.
    Token,
}

/// A text to copy: `{url}` stands for the MCP endpoint, `{base}` for the server.
#[derive(Debug)]
pub(super) struct SnippetTemplate {
    pub(super) language: SnippetLanguage,
    /// A file or what the text is, unique among all guides.
    pub(super) label: &'static str,
    pub(super) template: &'static str,
}

/// What a text to copy is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SnippetLanguage {
    Json,
    Python,
    /// Commands for a shell.
    Sh,
    /// Values for a form.
    Text,
    TypeScript,
}

/// Where a client is opened.
#[derive(Debug)]
pub(super) enum ClientLink {
    /// A web page.
    Page(&'static str),
    /// A program on the user's computer: makes the link from the MCP endpoint.
    Program(fn(&str) -> String),
}

/// A text to copy, with the address of the server.
#[derive(Debug, Serialize)]
pub(super) struct FilledSnippet {
    pub(super) language: SnippetLanguage,
    pub(super) label: &'static str,
    pub(super) text: String,
}

impl ClientGuide {
    /// The texts to copy, with this address.
    pub(super) fn fill_snippets(&self, address: &McpAddress) -> Vec<FilledSnippet> {
        self.snippets.iter().map(|snippet| snippet.fill(address)).collect()
    }

    /// The link for this address.
    pub(super) fn link_for(&self, address: &McpAddress) -> Option<String> {
        self.link.as_ref().map(|link| match link {
            ClientLink::Page(page) => (*page).to_owned(),
            ClientLink::Program(make_link) => make_link(&address.url),
        })
    }
}

impl SnippetTemplate {
    /// An address needs no escaping in JSON and in programs, see [`McpAddress::parse`].
    fn fill(&self, address: &McpAddress) -> FilledSnippet {
        let quote = |text: &str| match self.language {
            // Some shells expand the brackets of an IPv6 address.
            SnippetLanguage::Sh => text::shell_quote([text]),
            _ => text.to_owned(),
        };
        let text =
            self.template.replace("{url}", &quote(&address.url)).replace("{base}", &quote(&address.base));
        FilledSnippet { language: self.language, label: self.label, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(language: SnippetLanguage, url: &str) -> String {
        let template = "add {url} {base}/api/tools $TOKEN";
        SnippetTemplate { language, label: "test", template }.fill(&McpAddress::parse(url).unwrap()).text
    }

    #[test]
    fn the_address_replaces_its_placeholders() {
        assert_eq!(
            fill(SnippetLanguage::Sh, "http://127.0.0.1:8787/mcp"),
            "add http://127.0.0.1:8787/mcp http://127.0.0.1:8787/api/tools $TOKEN"
        );
    }

    #[test]
    fn brackets_are_quoted_for_a_shell_only() {
        let url = "http://[::1]:8787/mcp";
        assert_eq!(
            fill(SnippetLanguage::Sh, url),
            "add 'http://[::1]:8787/mcp' 'http://[::1]:8787'/api/tools $TOKEN"
        );
        assert_eq!(
            fill(SnippetLanguage::Json, url),
            "add http://[::1]:8787/mcp http://[::1]:8787/api/tools $TOKEN"
        );
    }
}
