//! `toolyard chat` with tools of its own: plugins in JavaScript, and MCP servers.

use std::{path::Path, process::Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolyard_testkit::model::{ScriptedModel, ScriptedReply};
use toolyard_trust::{KeyEntry, KeyList, PublicKey, RevocationList, RevokedPlugin, SecretKey};

use crate::{
    chat::{config, yard_with},
    fixture::{ADA, Ran, Running, ended, soon, toolyard},
};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins");

/// A folder with a model, the time plugin as `time.json`, and the same signed by Ada as `signed.json`.
struct Desk {
    folder: TempDir,
    model: ScriptedModel,
}

impl Desk {
    async fn new() -> Self {
        let (model, folder) = (ScriptedModel::start().await, tempfile::tempdir().unwrap());
        let desk = Self { folder, model };
        desk.write("toolyard.toml", &config(&desk.model, "native"));
        std::fs::copy(Path::new(EXAMPLES).join("time.json"), desk.path().join("time.json")).unwrap();
        for line in ["keys new --out ada.key", "plugin sign time.json --key ada.key -o signed.json"] {
            desk.run(line).await.good();
        }
        desk
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Another plugin, whose only tool is `go`.
    fn plugin(&self, file: &str, id: &str, permissions: Value, code: &str) {
        let manifest = json!({
            "schemaVersion": 1, "id": id, "name": id, "version": "1.0.0", "publisher": "Ada", "permissions": permissions,
            "tools": [{ "name": "go", "description": "Goes", "parameters": { "type": "object" }, "executorCode": code }],
        });
        self.write(file, &manifest.to_string());
    }

    async fn run(&self, line: &str) -> Ran {
        ended(toolyard(self.path(), &line.split_whitespace().collect::<Vec<_>>())).await
    }

    /// Sends one message without a server.
    async fn alone(&self, flags: &str) -> Ran {
        self.run(&format!("chat --local --message hello {flags}")).await
    }

    /// The model calls the tool, then answers with a fixed text.
    fn calls(&self, tool: &str, arguments: Value) {
        self.model.queue_replies([ScriptedReply::call(tool, arguments), ScriptedReply::text("Done.")]);
    }

    /// The last tool result that the model got.
    fn result(&self) -> String {
        let seen = self.model.requests();
        let messages = seen.last().unwrap().body["messages"].as_array().unwrap().clone();
        let result = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
        result["content"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_signed_plugin_against_a_server() {
    let desk = Desk::new().await;
    let yard = yard_with(&desk.model, &[]).await;
    for file in ["signed.json", "ada.key.pub"] {
        yard.file(file, &desk.read(file));
    }
    desk.calls("get_current_time", json!({ "timezone": "Asia/Tokyo" }));
    let line = [
        "chat",
        "--plugin",
        "signed.json",
        "--keys",
        "ada.key.pub",
        "--yes",
        "--message",
        "what time is it?",
    ];
    let ran = yard.ada(&line).await;
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{ran:?}");
    let lines: Vec<&str> = ran.err.lines().collect();
    let [about, offers, may, call] = lines[..] else { panic!("{lines:?}") };
    assert!(
        about.starts_with("plugin Time 1.0.0 (com.example.time): signed by ada.key.pub with the key "),
        "{about}"
    );
    assert_eq!((offers, may), ("  tools: get_current_time", "  knows the time"));
    assert!(call.starts_with("  get_current_time(timezone: \"Asia/Tokyo\") → time: \"20"), "{call}");
    assert!(call.ends_with(" ms)") || call.ends_with(" s)"), "{call}");
    let told: Value = serde_json::from_str(&desk.result()).unwrap();
    assert_eq!(told["timezone"], "Asia/Tokyo");
    desk.calls("get_current_time", json!({}));
    let ran = yard.ada(&[&line[..], &["--json"]].concat()).await;
    let chunks = ran.json_lines();
    let output = chunks.iter().find(|chunk| chunk["type"] == "tool-output-available").unwrap();
    assert_eq!(output["output"]["timezone"], "UTC", "{chunks:?}");
}

#[tokio::test]
async fn an_unsigned_plugin_needs_allow_unsigned() {
    let desk = Desk::new().await;
    desk.plugin("go.json", "go-plugin", json!({}), "return 1");
    let refused = desk.alone("--plugin time.json --yes").await;
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("time.json: this plugin is not signed"), "{refused:?}");
    assert!(refused.err.contains("add `--allow-unsigned time.json`"), "{refused:?}");
    for word in ["time.json", "com.example.time"] {
        desk.calls("get_current_time", json!({}));
        let ran = desk.alone(&format!("--plugin time.json --allow-unsigned {word} --yes")).await;
        assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{ran:?}");
        assert!(
            ran.err.starts_with("plugin Time 1.0.0 (com.example.time): UNSIGNED: it runs only because"),
            "{ran:?}"
        );
    }
    let one_of_two = desk.alone("--plugin time.json --plugin go.json --allow-unsigned time.json --yes").await;
    assert!(
        one_of_two.code == 2 && one_of_two.err.contains("go.json: this plugin is not signed"),
        "{one_of_two:?}"
    );
    let none =
        desk.alone("--plugin go.json --allow-unsigned go.json --allow-unsigned com.example --yes").await;
    assert!(none.code == 2 && none.err.contains("--allow-unsigned com.example: no --plugin has"), "{none:?}");
    // An id that looks like the file of another plugin gains nothing.
    desk.plugin("sly.json", "time.json", json!({}), "return 1");
    let sly = desk.alone("--plugin time.json --plugin sly.json --allow-unsigned time.json --yes").await;
    assert!(sly.code == 2 && sly.err.contains("sly.json: this plugin is not signed"), "{sly:?}");
    for flags in ["--allow-unsigned time.json", "--keys ada.key.pub", "--yes", "--plugin-data d"] {
        assert_eq!(desk.alone(flags).await.code, 2, "{flags} without --plugin");
    }
    // An invalid signature is not the same as a missing one.
    desk.write("changed.json", &desk.read("signed.json").replace("Tells the time", "Steals the time"));
    let changed =
        desk.alone("--plugin changed.json --allow-unsigned changed.json --keys ada.key.pub --yes").await;
    assert!(changed.bad().contains("may not run: the signature is invalid"));
    let unknown = desk.alone("--plugin signed.json --allow-unsigned signed.json --yes").await;
    assert!(unknown.bad().contains("may not run: no trusted key list has the key"));
    assert_eq!(desk.model.requests().len(), 4, "nothing else reached the model");
}

#[tokio::test]
async fn without_consent_to_its_permissions_a_plugin_does_not_run() {
    let desk = Desk::new().await;
    let asked = desk.alone("--plugin signed.json --keys ada.key.pub").await;
    assert_eq!(asked.code, 2);
    let question = "confirmation required, and stdin is not a terminal: Allow the plugin Time the following: knows the time?";
    assert!(asked.err.contains(question) && asked.err.contains("add --yes"), "{asked:?}");
    // No permissions, so no confirmation.
    desk.plugin("go.json", "go-plugin", json!({}), "return 'gone'");
    desk.calls("go", json!({}));
    let ran = desk.alone("--plugin go.json --allow-unsigned go-plugin").await;
    assert_eq!((ran.code, desk.result().as_str()), (0, "gone"), "{ran:?}");
}

#[tokio::test]
async fn the_older_form_runs_unchanged() {
    let desk = Desk::new().await;
    let older = format!("{EXAMPLES}/time-older.json");
    desk.calls("get_current_time", json!({ "timezone": "Asia/Tokyo" }));
    let ran = desk.alone(&format!("--plugin {older} --allow-unsigned dev-time-plugin")).await;
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{ran:?}");
    assert!(!ran.err.contains("its code seems to need"), "{ran:?}");
    let told: Value = serde_json::from_str(&desk.result()).unwrap();
    assert_eq!(told["timezone"], "Asia/Tokyo", "{told}");
    assert!(told["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{told}");
}

#[tokio::test]
async fn lists_must_be_signed_by_the_root_key() {
    let desk = Desk::new().await;
    let root = SecretKey::from_seed(&[9; 32]).unwrap();
    let ada = PublicKey::from_pem(&desk.read("ada.key.pub")).unwrap();
    let keys = KeyList::from_local_keys([KeyEntry::new(ada, "Ada Lovelace")]);
    desk.write("keys.json", &keys.sign(&root).unwrap());
    desk.write("root.pub", &root.public_key().to_pem());
    let plugin = "--plugin signed.json --yes";
    let nobody = desk.alone(&format!("{plugin} --keys keys.json")).await;
    assert!(nobody.code == 2 && nobody.err.contains("--root FILE"), "{nobody:?}");
    let two = desk.alone(&format!("{plugin} --keys keys.json --keys keys.json --root root.pub")).await;
    assert!(two.code == 2 && two.err.contains("only one key list"), "{two:?}");
    let wrong = desk.alone(&format!("{plugin} --keys keys.json --root ada.key.pub")).await;
    assert!(wrong.bad().contains("cannot use keys.json"));
    desk.calls("get_current_time", json!({}));
    let good = desk.alone(&format!("{plugin} --keys keys.json --root root.pub")).await;
    assert!(good.code == 0 && good.err.contains("signed by Ada Lovelace with the key"), "{good:?}");
    let revoked = RevokedPlugin {
        id: "com.example.time".parse().unwrap(),
        content_hash: None,
        reason: "it is late".to_owned(),
    };
    let revocations = RevocationList { plugins: vec![revoked], ..RevocationList::default() };
    desk.write("revoked.json", &revocations.sign(&root).unwrap());
    let lists = "--keys keys.json --keys ada.key.pub --root root.pub --revocations revoked.json";
    let gone = desk.alone(&format!("{plugin} {lists}")).await.bad();
    assert!(gone.contains("may not run: the plugin was revoked: it is late"), "{gone}");
}

#[tokio::test]
async fn data_is_kept_where_a_folder_is_named() {
    let desk = Desk::new().await;
    let code = "const n = (await storage.get('n') || 0) + 1; await storage.set('n', n); return n";
    desk.plugin("count.json", "count", json!({ "storage": true }), code);
    let count = async |flags: &str| {
        desk.calls("go", json!({}));
        let ran = desk.alone(&format!("--plugin count.json --allow-unsigned count --yes {flags}")).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        desk.result()
    };
    assert_eq!((count("").await, count("").await), ("1".to_owned(), "1".to_owned()));
    let kept = "--plugin-data kept";
    assert_eq!((count(kept).await, count(kept).await), ("1".to_owned(), "2".to_owned()));
    assert_eq!(desk.read("kept/count.unsigned.json"), r#"{"n":2}"#);
}

#[tokio::test]
async fn name_clashes_are_reported_and_endless_calls_time_out() {
    let desk = Desk::new().await;
    desk.plugin("a.json", "a", json!({}), "return 1");
    desk.plugin("b.json", "b", json!({}), "return 2");
    let both = "--plugin a.json --plugin b.json --allow-unsigned a --allow-unsigned b";
    let told = desk.alone(both).await.bad();
    assert!(told.contains("the tool `go` of the plugin `b` is a tool of the plugin `a` already"), "{told}");
    desk.model.set_default_reply(ScriptedReply::call("go", json!({})));
    let ran = desk.alone("--plugin a.json --allow-unsigned a").await;
    assert!(
        ran.code == 1 && ran.err.contains("[go did not run: an answer can have at most 20 requests"),
        "{ran:?}"
    );
    assert_eq!(desk.model.requests().len(), 20);
}

/// Records its process id, responds to the handshake, and has one tool.
const SERVER: &str = r#"echo $$ >> pids
say() { echo "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
while read -r line; do
  id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case $line in
    *server/discover*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"what?\"}}" ;;
    *'"initialize"'*) say "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *tools/list*) [ "$1" = quiet ] || say "$id" '{"tools":[{"name":"shout","inputSchema":{"type":"object"}},{"name":"odd","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://x"}}}}]}' ;;
    *tools/call*) say "$id" '{"content":[{"type":"text","text":"HELLO"}]}' ;;
  esac
done
"#;

impl Desk {
    fn servers(&self, argument: &str) {
        self.write("server.sh", SERVER);
        let folder = self.path().to_str().unwrap();
        let server = json!({ "command": "/bin/sh", "args": ["server.sh", argument], "cwd": folder });
        let missing = json!({ "command": "/no/such/program" });
        self.write("servers.json", &json!({ "mcpServers": { "sh": server, "gone": missing } }).to_string());
    }

    /// Whether each started server has exited, and how many there were.
    fn gone(&self) -> (bool, usize) {
        let pids = std::fs::read_to_string(self.path().join("pids")).unwrap_or_default();
        let is_gone = |pid: &str| !Path::new("/proc").join(pid).exists();
        (pids.lines().all(is_gone), pids.lines().count())
    }
}

#[tokio::test]
async fn mcp_servers_answer_beside_plugins_and_end_with_the_chat() {
    let desk = Desk::new().await;
    desk.servers("");
    desk.model.queue_replies([
        ScriptedReply::call("mcp_sh_shout", json!({})).and_call("get_current_time", json!({})),
        ScriptedReply::text("Done."),
    ]);
    let flags = "--mcp servers.json --plugin signed.json --keys ada.key.pub --yes";
    let ran = desk.alone(flags).await;
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{ran:?}");
    for words in [
        "MCP server gone is not available: ",
        "tool odd of MCP server sh is not available: ",
        "\n  mcp_sh_shout() → HELLO (",
        "\n  get_current_time() → time: ",
    ] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    assert_eq!(desk.gone(), (true, 1));
    desk.write("servers.json", r#"{"mcpServers":{"gone":{"command":"/no/such/program"}}}"#);
    let none = desk.alone("--mcp servers.json").await.bad();
    assert!(
        none.contains("cannot use servers.json") && none.contains("no MCP server could be used"),
        "{none}"
    );
    assert!(desk.alone("--mcp missing.json").await.bad().contains("cannot read missing.json"));
}

#[tokio::test]
async fn a_signal_ends_the_servers_too() {
    let desk = Desk::new().await;
    // While their tools are listed, and during the chat.
    for (argument, started) in [("quiet", 1), ("", 2)] {
        desk.servers(argument);
        let args = ["chat", "--local", "--mcp", "servers.json"];
        let mut command = toolyard(desk.path(), &args);
        command.stdin(Stdio::piped());
        let mut chat = Running::start(command);
        if argument.is_empty() {
            chat.types("/tools").await;
            chat.says("mcp_sh_shout").await;
        } else {
            let pids = desk.path().join("pids");
            soon(async {
                while !pids.exists() {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        }
        chat.signal("-TERM").await;
        chat.end().await;
        assert_eq!(desk.gone(), (true, started), "{argument}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_user_at_a_terminal_is_asked_once() {
    use crate::terminal::Terminal;
    let desk = Desk::new().await;
    let yard = yard_with(&desk.model, &[]).await;
    for file in ["signed.json", "ada.key.pub"] {
        yard.file(file, &desk.read(file));
    }
    let flags = format!("--user {ADA} --plugin signed.json --keys ada.key.pub");
    let mut terminal = Terminal::with(&yard, &flags);
    terminal.shows("Allow the plugin Time the following: knows the time? [y/N] ").await;
    terminal.types("y\n").await;
    terminal.shows("chatting with local/scripted").await;
    desk.calls("get_current_time", json!({}));
    terminal.shows("> ").await;
    terminal.types("what time is it?\n").await;
    terminal.shows("get_current_time() → time: ").await;
    terminal.shows("Done.").await;
    terminal.types("/quit\n").await;
    assert_eq!(terminal.ends().await, 0);
    let mut terminal = Terminal::with(&yard, &flags);
    terminal.shows("[y/N] ").await;
    terminal.types("\n").await;
    assert_eq!(terminal.ends().await, 1);
    let mut terminal = Terminal::with(&yard, &flags);
    terminal.shows("[y/N] ").await;
    terminal.types("\u{3}").await;
    assert_eq!(terminal.ends().await, 130, "Ctrl-C is an answer, too");
}
