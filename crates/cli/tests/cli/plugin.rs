//! `toolyard plugin`: from an empty folder to a signed file, and checks of other files.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolyard_trust::{KeyEntry, KeyList, PublicKey, RevocationList, RevokedPlugin, SecretKey};

use crate::fixture::{Ran, ended, toolyard};

const OLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../trust/tests/data/rs256-plugin.json");
const OLDER_KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../trust/tests/data/rsa2048.pub.pem");

struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With the plugin `hello` packed as `hello.json`, and the key `ada.key`.
    async fn packed() -> Self {
        let desk = Self::new();
        for args in ["plugin new hello", "plugin pack hello -o hello.json", "keys new --out ada.key"] {
            desk.run(args).await.good();
        }
        desk
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    async fn run(&self, line: &str) -> Ran {
        ended(toolyard(self.path(), &line.split(' ').collect::<Vec<_>>())).await
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    fn write(&self, name: &str, text: impl AsRef<str>) {
        std::fs::write(self.path().join(name), text.as_ref()).unwrap();
    }

    fn edit(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut value = self.json(name);
        change(&mut value);
        self.write(name, value.to_string());
    }
}

#[tokio::test]
async fn from_an_empty_folder_to_a_signed_plugin() {
    let desk = Desk::new();
    let made = desk.run("plugin new hello --publisher Example").await.good();
    assert!(
        made.contains("created hello/plugin.json") && made.contains("toolyard plugin pack hello"),
        "{made}"
    );
    let packed = desk.run("plugin pack hello").await.good();
    assert!(packed.starts_with("packed hello-0.1.0.json: "), "{packed}");
    assert!(!packed.contains("warning"), "the plugin to start from is a good one: {packed}");
    let manifest = desk.json("hello-0.1.0.json");
    assert_eq!(manifest["tools"][0]["executorCode"], desk.read("hello/tools/hello.js"));
    assert!(manifest["tools"][0].get("executorFile").is_none());
    let unsigned = desk.run("plugin verify hello-0.1.0.json").await;
    assert_eq!(unsigned.code, 1);
    assert!(unsigned.out.starts_with("hello 0.1.0 is unsigned: it is not signed\nhash "), "{unsigned:?}");
    desk.run("keys new --out ada.key").await.good();
    let signed = desk.run("plugin sign hello-0.1.0.json --key ada.key").await;
    assert_eq!(signed.err, "", "nothing to say about it");
    assert!(signed.good().starts_with("signed hello 0.1.0 with key "));
    let verified = desk.run("plugin verify hello-0.1.0.json --key ada.key.pub").await.good();
    assert!(verified.starts_with("hello 0.1.0 is signed: signed by ada.key.pub with the key "), "{verified}");
    assert!(verified.ends_with("permissions:\n  nothing: no network, no storage, no clock\n"), "{verified}");
}

#[tokio::test]
async fn every_status_has_its_end() {
    let desk = Desk::packed().await;
    let status = async |line: &str| {
        let ran = desk.run(&format!("plugin verify {line} --json")).await;
        (ran.code, ran.json_lines()[0]["status"].as_str().unwrap().to_owned())
    };
    let is = |code: i32, status: &str| (code, status.to_owned());
    assert_eq!(status("hello.json --key ada.key.pub").await, is(1, "unsigned"));
    desk.run("plugin sign hello.json --key ada.key -o signed.json").await.good();
    assert!(desk.json("hello.json").get("signature").is_none(), "with -o the file stays as it is");
    assert_eq!(status("signed.json --key ada.key.pub").await, is(0, "signed"));
    assert_eq!(status("signed.json").await, is(1, "unknown-key"));
    desk.write("changed.json", desk.read("signed.json").replace("Greets people.", "Greets nobody."));
    assert_eq!(status("changed.json --key ada.key.pub").await, is(1, "modified"));
    let hash = "0".repeat(64);
    assert_eq!(status(&format!("signed.json --key ada.key.pub --hash {hash}")).await, is(1, "modified"));
    desk.edit("hello.json", |manifest| manifest["expiresAt"] = json!("2020-01-01T00:00:00Z"));
    desk.run("plugin sign hello.json --key ada.key").await.good();
    assert_eq!(status("hello.json --key ada.key.pub").await, is(1, "expired"));
    assert_eq!(
        status(&format!("{OLDER} --key {OLDER_KEY}")).await,
        is(0, "signed"),
        "the key was named here"
    );
    assert_eq!(status(&format!("{OLDER} --key ada.key.pub")).await, is(1, "unknown-key"));
}

#[tokio::test]
async fn lists_must_be_signed_by_the_root_key() {
    let desk = Desk::packed().await;
    desk.run("plugin sign hello.json --key ada.key").await.good();
    desk.run("keys new --out root.key").await.good();
    let root = SecretKey::from_pem(&desk.read("root.key")).unwrap();
    let ada = KeyEntry::new(PublicKey::from_pem(&desk.read("ada.key.pub")).unwrap(), "Ada");
    let mut older =
        KeyEntry::new(PublicKey::from_pem(&std::fs::read_to_string(OLDER_KEY).unwrap()).unwrap(), "Old");
    older.curator_id = Some("curator-1".to_owned());
    desk.write("keys.json", KeyList::from_local_keys([ada, older]).sign(&root).unwrap());
    let mut called_back = RevocationList::default();
    desk.write("none.json", called_back.sign(&root).unwrap());
    called_back.plugins.push(RevokedPlugin {
        id: "hello".parse().unwrap(),
        content_hash: None,
        reason: "rude".to_owned(),
    });
    desk.write("revoked.json", called_back.sign(&root).unwrap());
    let verify = async |file: &str, more: &str| {
        desk.run(&format!("plugin verify {file} --root root.key.pub {more}")).await
    };
    let good = verify("hello.json", "--keys keys.json --revocations none.json").await.good();
    assert!(good.contains("signed by Ada"), "{good}");
    let old = verify(OLDER, "--keys keys.json").await.good();
    assert!(old.contains("covers its tools only") && old.contains("no network"), "{old}");
    let revoked = verify("hello.json", "--keys keys.json --revocations revoked.json").await;
    assert!(
        revoked.code == 1 && revoked.out.contains("is revoked: the plugin was revoked: rude"),
        "{revoked:?}"
    );
    desk.write("forged.json", desk.read("keys.json").replace("\"Ada\"", "\"Eve\""));
    let forged = verify("hello.json", "--keys forged.json").await.bad();
    assert!(forged.contains("was modified after it was signed"), "{forged}");
    let other = desk.run("plugin verify hello.json --root ada.key.pub --keys keys.json").await.bad();
    assert!(other.contains("not the pinned root key"), "{other}");
    for wrong in [
        "--keys keys.json",
        "--revocations none.json",
        "--root root.key.pub --keys keys.json --key ada.key.pub",
    ] {
        assert_eq!(desk.run(&format!("plugin verify hello.json {wrong}")).await.code, 2, "{wrong}");
    }
}

#[tokio::test]
async fn inspect_shows_everything_and_runs_nothing() {
    let desk = Desk::packed().await;
    desk.edit("hello.json", |manifest| {
        manifest["permissions"] = json!({ "network": ["*.example.com"], "clock": true });
        manifest["tools"][0]["executorCode"] = json!("return eval(args.name);");
        manifest["tools"][0]["description"] = json!("Greets \u{1b}[2J");
    });
    desk.run("plugin sign hello.json --key ada.key").await.good();
    let told = desk.run("plugin inspect hello.json").await.good();
    for words in [
        "id           hello",
        "publisher    Me",
        "signed       with key ",
        "  talks to everything under example.com\n  knows the time\n",
        "  hello (23 bytes of code): Greets  [2J\n    {\"type\":\"object\"",
        "audit: 1 error, 3 warnings, 0 notes",
        "  error: tools[0].executorCode, line 1: `eval`: compiles text to code",
        "  warning: permissions.clock: requested, but no code uses `Date`",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let json = desk.run("plugin inspect hello.json --json").await.json();
    assert_eq!(
        (&json["audit"]["passes"], &json["audit"]["findings"][0]["code"]),
        (&json!(false), &json!("eval"))
    );
    assert_eq!(
        (&json["signature"]["alg"], &json["inWords"][1]),
        (&json!("Ed25519"), &json!("knows the time"))
    );
    let warned = desk.run("plugin sign hello.json --key ada.key").await;
    assert!(warned.code == 0 && warned.err.contains("a server would refuse to sign this"), "{warned:?}");
    let older = desk.run(&format!("plugin inspect {OLDER}")).await.good();
    assert!(older.contains("older format") && older.contains("with key curator-1 (RS256)"), "{older}");
}

#[tokio::test]
async fn packing_errors_are_reported() {
    let desk = Desk::new();
    desk.run("plugin new hello").await.good();
    let again = desk.run("plugin new hello").await;
    assert!(again.code == 2 && again.err.contains("hello already exists"), "{again:?}");
    assert_eq!(desk.run("plugin new ../hello").await.code, 2);
    let pack = async |name: &str, file: Value| {
        desk.edit("hello/plugin.json", |manifest| manifest["tools"][0][name] = file);
        desk.run("plugin pack hello").await.bad()
    };
    desk.write("secret.js", "return 1;");
    for (file, why) in [
        ("../secret.js", "expected a file below the folder"),
        ("/etc/hostname", "expected a file below the folder"),
        ("tools/none.js", "No such file"),
    ] {
        let told = pack("executorFile", json!(file)).await;
        assert!(told.contains("tools[0].executorFile: ") && told.contains(why), "{told}");
    }
    assert!(pack("executorFile", json!(5)).await.contains("expected a file name"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../../secret.js", desk.path().join("hello/tools/link.js")).unwrap();
        assert!(pack("executorFile", json!("tools/link.js")).await.contains("leads out of the folder"));
    }
    desk.write("hello/tools/large.js", "x".repeat(256 * 1024 + 1));
    assert!(pack("executorFile", json!("tools/large.js")).await.contains("is larger than 262144 bytes"));
    desk.edit("hello/plugin.json", |manifest| {
        manifest["tools"][0]["executorFile"] = json!("./tools/hello.js")
    });
    desk.run("plugin pack hello").await.good();
    let lost = desk.run("plugin pack hello -o hello/plugin.json").await;
    assert!(lost.code == 2 && lost.err.contains("would overwrite the source"), "{lost:?}");
    assert!(pack("executorCode", json!("return 1")).await.contains("remove one of the two"));
    desk.edit("hello/plugin.json", |manifest| {
        manifest["tools"][0].as_object_mut().unwrap().remove("executorFile");
        manifest["name"] = json!("");
        manifest["version"] = json!("one");
    });
    let all = desk.run("plugin pack hello").await.bad();
    assert!(
        all.contains("- version: expected a semantic") && all.contains("- name: expected one line"),
        "{all}"
    );
    desk.write("hello/plugin.json", r#"{"id":"a","id":"b"}"#);
    assert!(desk.run("plugin pack hello").await.bad().contains("id: duplicate name"));
}

#[tokio::test]
async fn wrong_key_and_manifest_files_are_reported() {
    let desk = Desk::packed().await;
    let public = desk.run("plugin sign hello.json --key ada.key.pub").await.bad();
    assert!(public.contains("cannot use ada.key.pub") && public.contains("no secret key"), "{public}");
    let secret = desk.run("plugin verify hello.json --key ada.key").await.bad();
    assert!(secret.contains("this is a secret key"), "{secret}");
    let no_manifest = desk.run("plugin inspect ada.key").await.bad();
    assert!(no_manifest.contains("not JSON"), "{no_manifest}");
    desk.write("large.json", " ".repeat(1024 * 1024 + 1));
    assert!(desk.run("plugin inspect large.json").await.bad().contains("larger than 1048576 bytes"));
    let told = desk.run("plugin verify none.json --json").await;
    assert_eq!((told.code, &told.json_lines()[0]["error"]["code"]), (1, &json!("UNREADABLE_FILE")));
}

#[tokio::test]
async fn help_has_examples() {
    let desk = Desk::new();
    for command in ["", "new ", "pack ", "sign ", "verify ", "inspect "] {
        let help = desk.run(&format!("plugin {command}--help")).await.good();
        assert!(help.contains("Examples:\n  toolyard plugin "), "{command}: {help}");
    }
}

#[tokio::test]
async fn a_tool_is_tried_without_a_server() {
    let desk = Desk::packed().await;
    let mut broken = desk.json("hello.json");
    let tool = broken["tools"][0]["name"].as_str().unwrap().to_owned();
    broken["tools"][0]["name"] = json!("hello");
    broken["tools"][0]["executorCode"] = json!("throw new Error('broken on purpose')");
    desk.write("broken.json", broken.to_string());
    let refused = desk.run(&format!("plugin run hello.json {tool}")).await;
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("add `--allow-unsigned hello.json`"), "{refused:?}");
    let ran = desk
        .run(&format!("plugin run hello.json {tool} name=Ada --allow-unsigned hello.json --yes"))
        .await
        .good();
    assert!(ran.contains("Ada"), "{ran}");
    desk.run("plugin sign hello.json --key ada.key").await.good();
    let ran = desk
        .run(&format!("plugin run hello.json {tool} name=Ada --keys ada.key.pub --yes --json"))
        .await
        .json();
    assert!(ran["result"].to_string().contains("Ada"), "{ran}");
    let unknown = desk.run("plugin run hello.json fly --keys ada.key.pub --yes").await;
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("no tool `fly`") && unknown.err.contains(&tool), "{unknown:?}");
    let failed =
        desk.run("plugin run broken.json hello name=Ada --allow-unsigned broken.json --yes").await.bad();
    assert!(failed.contains("the tool failed: ") && failed.contains("broken on purpose"), "{failed}");
}
