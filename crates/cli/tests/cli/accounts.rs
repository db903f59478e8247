//! `toolyard users` and `toolyard whoami`

use serde_json::{Value, json};

use crate::fixture::{ADA, Yard, ended, serve, toolyard};

const BOB: &str = "bob@example.com";

/// A server with accounts for Ada and Bob.
async fn yard_with_accounts() -> Yard {
    let yard = Yard::start().await;
    let add =
        ["users", "add", ADA, "--name", "Ada Lovelace", "--email", ADA, "--group", "math", "--group", "a b"];
    yard.run(&add).await.good();
    yard.run(&["users", "add", BOB, "--role", "developer"]).await.good();
    yard
}

#[tokio::test]
async fn accounts_are_added_listed_and_shown() {
    let yard = Yard::start().await;
    let none = yard.run(&["users"]).await.good();
    assert!(none.starts_with("No users match."), "{none}");
    let added = yard.run(&["users", "add", ADA, "--name", "Ada Lovelace", "--invite"]).await.good();
    assert!(
        added.starts_with("added ada@example.com (user)\nsign-in link, shown once, until 2")
            && added.contains("/console/sign-in#code="),
        "{added}"
    );
    let added = yard.run(&["users", "add", BOB, "--role", "developer", "--json"]).await.json();
    assert_eq!((&added["user"]["role"], &added["link"]), (&json!("developer"), &Value::Null));
    let twice = yard.run(&["users", "add", BOB, "--json"]).await;
    assert_eq!((twice.code, &twice.json_lines()[0]["error"]["code"]), (1, &json!("CONFLICT")));
    assert_eq!(yard.run(&["users", "add", BOB, "--role", "king"]).await.code, 2);

    let listed = yard.run(&["users"]).await.good();
    assert!(
        listed.starts_with("USER ") && listed.contains("Ada Lovelace") && listed.contains(BOB),
        "{listed}"
    );
    let found = yard.run(&["users", "ls", "--query", "lovelace", "--json"]).await.json();
    assert_eq!((found["users"].as_array().unwrap().len(), &found["users"][0]["userId"]), (1, &json!(ADA)));
    let first = yard.run(&["users", "ls", "--limit", "1"]).await;
    assert!(first.err.contains("raise --limit") && !first.out.contains(BOB), "{first:?}");
    let first = yard.run(&["users", "ls", "--limit", "1", "--json"]).await.json();
    assert_eq!((&first["next"], first["users"].as_array().unwrap().len()), (&json!(ADA), 1));

    let shown = yard.run(&["users", "show", ADA]).await.good();
    assert!(shown.contains("Ada Lovelace") && shown.contains("nothing yet; create a link"), "{shown}");
    let missing = yard.run(&["users", "show", "nobody"]).await.bad();
    assert!(missing.contains("next: `toolyard users` lists the users"), "{missing}");
}

#[tokio::test]
async fn accounts_are_changed_and_disabled() {
    let yard = yard_with_accounts().await;
    let set = ["users", "set", ADA, "--name", "", "--group", "research", "--role", "curator", "--json"];
    let changed = yard.run(&set).await.json();
    assert_eq!(
        (&changed["name"], &changed["email"], &changed["groups"], &changed["role"]),
        (&Value::Null, &json!(ADA), &json!(["research"]), &json!("curator"))
    );
    let changed = yard.run(&["users", "set", ADA, "--group", "", "--email", "", "--json"]).await.json();
    assert_eq!((&changed["groups"], &changed["email"]), (&json!([]), &Value::Null));
    let nothing = yard.run(&["users", "set", ADA]).await;
    assert_eq!(nothing.code, 2);
    assert!(nothing.err.contains("--email, --name, --role or --group"), "{}", nothing.err);

    assert_eq!(yard.run(&["users", "disable", ADA]).await.good(), "disabled ada@example.com\n");
    assert!(yard.run(&["users", "show", ADA]).await.good().contains("disabled since 2"));
    assert!(yard.run(&["users", "ls"]).await.good().contains("disabled"));
    let refused = yard.run(&["users", "link", ADA]).await.bad();
    assert!(refused.contains("disabled"), "{refused}");
    assert_eq!(yard.run(&["users", "enable", ADA]).await.good(), "enabled ada@example.com\n");
    let link = yard.run(&["users", "link", ADA]).await;
    assert!(link.err.contains("works once") && link.err.contains(ADA), "{}", link.err);
    let link = link.good();
    assert!(link.lines().count() == 1 && link.contains("/console/sign-in#code="), "{link}");
    let out = yard.run(&["users", "sign-out", ADA, "--tokens", "--clients"]).await.good();
    assert_eq!(
        out,
        "signed out ada@example.com in all browsers, revoked the tokens, disconnected the clients\n"
    );
}

#[tokio::test]
async fn data_is_exported_and_deleted() {
    let yard = yard_with_accounts().await;
    yard.run(&["users", "export", ADA, "-o", "ada.json"]).await.good();
    let file = yard.folder.path().join("ada.json");
    let exported = std::fs::read_to_string(&file).unwrap();
    assert!(exported.contains("Ada Lovelace"), "{exported}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let again = yard.run(&["users", "export", BOB, "-o", "ada.json"]).await;
    assert_eq!((again.code, std::fs::read_to_string(&file).unwrap()), (2, exported));
    let printed = yard.run(&["users", "export", ADA]).await;
    assert!(printed.out.lines().count() > 1, "readable for people: {}", printed.out);
    printed.json();

    let asked = yard.run(&["users", "delete", ADA]).await;
    assert_eq!(asked.code, 2);
    assert!(
        asked.err.contains("Delete ada@example.com: their account with 0 browser sessions")
            && asked.err.contains("next: add --yes to confirm"),
        "{}",
        asked.err
    );
    yard.run(&["users", "show", ADA]).await.good();
    let deleted = yard.run(&["users", "delete", ADA, "--yes", "--json"]).await.json();
    assert_eq!(deleted["deleted"], ADA);
    yard.run(&["users", "show", ADA]).await.bad();
}

#[tokio::test]
async fn only_operators_manage_users() {
    let folder = tempfile::tempdir().unwrap();
    let made = toolyard(folder.path(), &["token", "developer", ADA, "--data", "data"]);
    let token = ended(made).await.good();
    let (_server, url) = serve(folder.path(), "127.0.0.1:0", &["--auth", "token"]).await;
    for args in [&["users"][..], &["users", "show", BOB], &["users", "delete", BOB, "--yes"]] {
        let mut command = toolyard(folder.path(), args);
        command.env("TOOLYARD_URL", &url).env("TOOLYARD_TOKEN", token.trim());
        let refused = ended(command).await.bad();
        assert!(refused.contains("next: sign in with an account that has the required role"), "{refused}");
    }
}

#[tokio::test]
async fn whoami_in_dev_mode_and_with_a_token() {
    let yard = yard_with_accounts().await;
    let text = yard.ada(&["whoami"]).await.good();
    assert!(text.contains("Ada Lovelace") && text.contains("dev mode, without a token"), "{text}");
    let json = yard.ada(&["whoami", "--json"]).await.json();
    assert_eq!(
        (&json["authentication"], &json["server"], &json["account"]["groups"]),
        (&json!("dev"), &json!(yard.url), &json!(["a b", "math"]))
    );

    let folder = tempfile::tempdir().unwrap();
    let made = toolyard(folder.path(), &["token", "operator", "admin", "--data", "data"]);
    let token = ended(made).await.good();
    let (_server, url) = serve(folder.path(), "127.0.0.1:0", &["--auth", "token"]).await;
    let run = async |token: &str, args: &[&str]| {
        let mut command = toolyard(folder.path(), args);
        command.env("TOOLYARD_URL", &url).env("TOOLYARD_TOKEN", token);
        ended(command).await
    };
    let json = run(token.trim(), &["whoami", "--json"]).await.json();
    assert_eq!(
        (&json["authentication"], &json["name"], &json["role"], &json["profile"]),
        (&json!("token"), &json!("admin"), &json!("operator"), &Value::Null)
    );
    assert!(json["expiresAt"].as_str().unwrap().ends_with('Z'));
    for args in [&["whoami"][..], &["tools", "ls"], &["users"]] {
        let nobody = run("", args).await.bad();
        assert!(nobody.contains("next: run `toolyard login`, or set TOOLYARD_TOKEN"), "{args:?}: {nobody}");
    }
}
