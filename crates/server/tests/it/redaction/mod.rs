//! Secrets in results: models get placeholders, and only the app that a secret came from gets it back.

mod approvals;
mod doors;
mod limits;

use serde_json::{Value, json};
use toolyard_server::config::{Config, RestSecrets};
use toolyard_testkit::{AppBehavior, FakeApp};

use crate::platform::{Device, Person, Platform};

pub(crate) const VAULT: &str = "com.example.vault";
const MAIL: &str = "com.example.mail";
const READ: &str = "com.example.vault:read";
const LOGIN: &str = "com.example.vault:login";
const WIPE: &str = "com.example.vault:wipe";
const SEND: &str = "com.example.mail:send";

/// A password in a URL: without the URL around it, no format identifies it.
const PASSWORD: &str = "Tr0ub4dor+3";

/// A key that its format identifies. Put together here, so that nobody takes it for a real one.
fn github_token() -> String {
    format!("ghp_{}", "0123456789abcdefghijABCDEFGHIJ012345")
}

fn database_url() -> String {
    format!("postgres://app:{PASSWORD}@db/prod")
}

/// A server with a vault and a mail app of Ada, who has a session.
struct Stage {
    p: Platform,
    vault: FakeApp,
    mail: FakeApp,
    _device: Device,
}

impl Stage {
    async fn start(change: impl FnOnce(&mut Config)) -> Self {
        Self::on(Platform::with(change).await).await
    }

    async fn on(p: Platform) -> Self {
        let (vault, mail) = (FakeApp::start(VAULT).await, FakeApp::start(MAIL).await);
        let login =
            json!({ "type": "object", "properties": { "password": { "type": "string", "maxLength": 60 } } });
        let tools = json!([
            { "name": "read", "description": "Reads a secret", "inputSchema": { "type": "object" } },
            { "name": "login", "description": "Logs in", "inputSchema": login },
            { "name": "wipe", "description": "Wipes", "inputSchema": login, "annotations": { "destructiveHint": true } },
        ]);
        let app = json!({ "packageName": VAULT, "name": "Vault", "kind": "tools-only", "tools": tools });
        p.register(&vault, app).await;
        let tools = json!([{ "name": "send", "description": "Sends", "inputSchema": { "type": "object" } }]);
        p.register(&mail, json!({ "packageName": MAIL, "kind": "tools-only", "tools": tools })).await;
        for package in [VAULT, MAIL] {
            p.user("ada").put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
        }
        let _device = p.device("ada").await;
        Self { p, vault, mail, _device }
    }

    fn ada(&self) -> Person<'_> {
        self.p.user("ada")
    }

    /// Sets what the vault returns.
    fn vault_says(&self, text: &str) {
        self.vault.set_behavior(AppBehavior::reply(text));
    }

    /// What a model reads of the vault's text, over MCP without a session.
    async fn model_reads(&self, text: &str) -> String {
        self.vault_says(text);
        let result = self.ada().run(READ, json!({})).await;
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    }

    /// The arguments that the vault received last.
    fn vault_received(&self) -> Value {
        self.vault.requests("/tool").last().unwrap().body["arguments"].clone()
    }

    async fn restart(self) -> Self {
        let Self { p, vault, mail, _device } = self;
        let p = p.restart().await;
        let _device = p.device("ada").await;
        Self { p, vault, mail, _device }
    }
}

/// People get placeholders over REST as well.
fn rest_too(config: &mut Config) {
    config.redaction.rest = RestSecrets::Placeholders;
}

/// The only placeholder of a text.
fn placeholder_in(text: &str) -> String {
    let start = text.find("[secret:").unwrap_or_else(|| panic!("{text}"));
    let end = start + text[start..].find(']').unwrap() + 1;
    assert!(!text[end..].contains("[secret:"), "{text}");
    text[start..end].to_owned()
}

/// Everything in the folder of the database.
fn stored_bytes(p: &Platform) -> Vec<u8> {
    let folder = p.data().parent().unwrap().to_owned();
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).flat_map(|path| std::fs::read(path).unwrap()).collect()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
