//! Client ids that are the URL of a metadata document.

use url::Url;

use super::{ClientId, ClientMetadataError};

/// Longest URL of a metadata document, in bytes.
pub const MAX_DOCUMENT_URL_BYTES: usize = 512;

/// The URL of a metadata document. Whether its host may be fetched is decided by the caller's URL guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentUrl {
    id: ClientId,
    host: String,
}

impl DocumentUrl {
    /// Checks the rules for such a client id. A query is allowed but discouraged by the specification.
    pub fn parse(id: &ClientId) -> Result<Self, ClientMetadataError> {
        Self::from_id(id).ok_or(ClientMetadataError::DocumentUrl)
    }

    fn from_id(id: &ClientId) -> Option<Self> {
        let text = id.as_str();
        if text.len() > MAX_DOCUMENT_URL_BYTES {
            return None;
        }
        let url = Url::parse(text).ok()?;
        // One spelling for each document: equality with the normal form also refuses dot segments, default ports,
        // backslashes, and hosts in upper case or encoded.
        let is_normal = url.as_str() == text;
        let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        let has_path = !matches!(url.path(), "" | "/");
        let host = url.host_str().filter(|host| !host.is_empty())?;
        let is_document = url.scheme() == "https" && is_normal && is_plain && has_path;
        is_document.then(|| Self { id: id.clone(), host: host.to_owned() })
    }

    /// The URL as text.
    pub fn as_str(&self) -> &str {
        self.id.as_str()
    }

    /// The client id, which is the same text.
    pub fn client_id(&self) -> &ClientId {
        &self.id
    }

    /// The host, which stands for the client on the consent page if it has no name.
    pub fn host(&self) -> &str {
        &self.host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<DocumentUrl, ClientMetadataError> {
        DocumentUrl::parse(&text.parse().unwrap())
    }

    #[test]
    fn urls_of_real_clients_are_accepted() {
        for good in [
            "https://claude.ai/oauth/claude-code-client-metadata",
            "https://chatgpt.com/oauth/abc/client.json",
            "https://vscode.dev/oauth/client-metadata.json",
            "https://client.example:8443/c?v=1",
        ] {
            assert_eq!(parse(good).unwrap().as_str(), good);
        }
        assert_eq!(parse("https://client.example:8443/c").unwrap().host(), "client.example");
    }

    #[test]
    fn other_urls_are_refused() {
        for bad in [
            "client",
            "http://client.example/c",
            "https://client.example",
            "https://client.example/",
            "https://client.example?x",
            "https://client.example/c#f",
            "https://client.example/c#",
            "https://u@client.example/c",
            "https://:p@client.example/c",
            "https://client.example/a/../c",
            "https://client.example/a/./c",
            "https://client.example/%2e%2E/c",
            "https://client.example:443/c",
            "https://CLIENT.example/c",
            "https:\\\\client.example\\c",
            "https://127.1/c",
            "https:client.example/c",
            &format!("https://client.example/{}", "x".repeat(MAX_DOCUMENT_URL_BYTES)),
        ] {
            assert_eq!(parse(bad), Err(ClientMetadataError::DocumentUrl), "{bad}");
        }
    }
}
