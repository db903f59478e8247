//! `toolyard upstreams`

use serde_json::{Value, json};
use toolyard_testkit::{
    authorization::{FakeAuthorization, FakeResource},
    upstream::{FakeUpstream, OfferListKind, UpstreamOptions, quirks},
};

use crate::fixture::{Yard, serve};

fn binary() -> String {
    FakeUpstream::binary_path().to_str().unwrap().to_owned()
}

/// The stdout of a command that exited with 1.
#[track_caller]
fn failed(ran: crate::fixture::Ran) -> String {
    assert_eq!(ran.code, 1, "{ran:?}");
    ran.out
}

#[tokio::test]
async fn an_upstream_over_http_from_its_beginning_to_its_end() {
    let (yard, upstream) = (Yard::start().await, FakeUpstream::start().await);
    assert!(yard.run(&["upstreams", "ls"]).await.good().contains("toolyard upstreams add"));
    let url = upstream.url();
    let added = yard
        .run(&[
            "upstreams",
            "add",
            "echo",
            "--url",
            &url,
            "--header",
            "X-Key: s3cret",
            "--name",
            "Echo",
            "--exclude",
            "fail",
            "--rename",
            "add=sum",
            "--category",
            "utility",
            "--timeout-ms",
            "5000",
            "--description",
            "For tests",
        ])
        .await;
    assert!(
        added.err.contains(&format!("the server will connect to: {url}\n  with the headers X-Key")),
        "{added:?}"
    );
    let added = added.good();
    let expected = "added echo\necho is up: 3 tools, 0 prompts, 0 resources\n  set aside: fail: the operator excludes it\nnext: toolyard apps install mcp.echo --user NAME\n";
    assert_eq!(added, expected);

    let shown = yard.run(&["upstreams", "show", "echo", "--json"]).await.json();
    let details = json!({
        "name": "Echo", "description": "For tests", "url": url, "headers": { "X-Key": "(sealed)" }, "auth": "headers",
        "perUser": false, "forAll": false, "exclude": ["fail"], "rename": { "add": "sum" }, "category": "utility",
        "callTimeoutMs": 5000,
    });
    assert_eq!(
        (&shown["id"], &shown["packageName"], &shown["details"]),
        (&json!("echo"), &json!("mcp.echo"), &details)
    );
    let text = yard.run(&["upstreams", "show", "echo"]).await.good();
    for words in ["X-Key: (sealed)", "add to sum", "users who install it", "5000 ms", "2026-07-28", &url] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let listed = yard.run(&["upstreams", "ls"]).await.good();
    let row: Vec<&str> = listed.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..4], ["echo", &url, "up", "3"], "{listed}");
    assert!(row[4].ends_with('Z'), "{listed}");

    // Once installed, its tools are like those of an app.
    yard.ada(&["apps", "install", "mcp.echo"]).await.good();
    let _glasses = yard.glasses(&[]).await;
    assert_eq!(yard.ada(&["tools", "call", "mcp.echo:echo", "text=hello"]).await.good(), "hello\n");
    assert_eq!(upstream.messages("tools/call")[0].header("x-key"), Some("s3cret"));

    let again = yard.run(&["upstreams", "add", "echo", "--url", &url]).await.bad();
    assert!(again.contains("there is an upstream echo already"), "{again}");
    let unsure = yard.run(&["upstreams", "rm", "echo"]).await;
    assert_eq!(unsure.code, 2);
    assert!(unsure.err.contains("--yes"), "{}", unsure.err);
    assert_eq!(yard.run(&["upstreams", "rm", "echo", "--yes"]).await.good(), "removed echo\n");
    for command in ["show", "test"] {
        let gone = yard.run(&["upstreams", command, "echo"]).await.bad();
        assert!(
            gone.contains("there is no upstream echo") && gone.contains("`toolyard upstreams ls`"),
            "{gone}"
        );
    }
}

#[tokio::test]
async fn a_command_is_shown_and_run() {
    let yard = Yard::start().await;
    let binary = binary();
    let added = yard
        .run(&[
            "upstreams",
            "add",
            "files",
            "--for-all",
            "--env",
            "LOG=two words",
            "--env",
            "PATH",
            "--cwd",
            "/",
            "--json",
            "--",
            &binary,
            "--stdio",
            "--fixtures",
            "echo",
        ])
        .await;
    let announced = format!(
        "the server will run: {binary} --stdio --fixtures echo\n  in /\n  with the variables LOG, PATH\n"
    );
    assert_eq!(added.err, announced);
    // The server of this test has no environment at all.
    let added = added.json();
    assert_eq!(added["status"]["state"], "down");
    assert!(added["status"]["problem"].as_str().unwrap().contains("no variable PATH"), "{added}");
    let test = failed(yard.run(&["upstreams", "test", "files"]).await);
    assert!(test.contains("files is down") && test.contains("run the command manually"), "{test}");
    yard.run(&["upstreams", "rm", "files", "--yes"]).await.good();

    let add = [
        "upstreams",
        "add",
        "files",
        "--for-all",
        "--per-user",
        "--",
        &binary,
        "--stdio",
        "--fixtures",
        "echo",
    ];
    let added = yard.run(&add).await.good();
    assert_eq!(added, "added files\nfiles is up: 4 tools, 0 prompts, 0 resources\n");
    let _glasses = yard.glasses(&[]).await;
    assert_eq!(yard.ada(&["tools", "call", "mcp.files:echo", "text=hello"]).await.good(), "hello\n");
}

#[tokio::test]
async fn the_status_of_an_upstream_is_printed() {
    let (yard, upstream) = (Yard::start().await, FakeUpstream::start().await);
    let good = upstream.list_items(OfferListKind::Tools);
    upstream.set_list(OfferListKind::Tools, [good, quirks::bad_tools()].concat());
    let added = yard.run(&["upstreams", "add", "odd", "--url", &upstream.url(), "--for-all"]).await.good();
    assert!(added.contains("odd is up: ") && added.contains("\n  set aside: no_schema: "), "{added}");
    let test = yard.run(&["upstreams", "test", "odd", "--json"]).await.json();
    assert!(test["status"]["setAside"].as_array().unwrap().len() > 5, "{test}");

    upstream.take_down().await;
    let down = failed(yard.run(&["upstreams", "test", "odd"]).await);
    let next = format!("next: check that it responds at {}", upstream.url());
    assert!(down.starts_with("odd is down: ") && down.contains(&next), "{down}");
    let down = yard.run(&["upstreams", "test", "odd", "--json"]).await;
    assert_eq!((down.code, &down.json_lines()[0]["status"]["state"]), (1, &json!("down")));
    upstream.bring_up().await;
    yard.run(&["upstreams", "test", "odd"]).await.good();

    let locked = FakeUpstream::start_with(UpstreamOptions {
        bearer: Some("t0k".to_owned()),
        ..UpstreamOptions::default()
    })
    .await;
    let added = yard.run(&["upstreams", "add", "locked", "--url", &locked.url()]).await.good();
    assert!(
        added.contains("locked is needs-authorization: ") && added.contains("or with --oauth"),
        "{added}"
    );
    let refused = yard.run(&["upstreams", "add", "far", "--url", "http://10.0.0.1/mcp"]).await.bad();
    assert!(refused.contains("  - url: "), "{refused}");
}

#[tokio::test]
async fn only_operators_may_use_commands_and_the_environment() {
    let yard = Yard::start_with(&["--auth", "token"]).await;
    let token =
        async |role: &str| yard.run(&["token", role, "bob", "--data", "data"]).await.good().trim().to_owned();
    let (developer, operator) = (token("developer").await, token("operator").await);
    let binary = binary();
    let add = ["upstreams", "add", "x", "--token"];
    let refused = yard.run(&[&add[..], &[&developer, "--", &binary, "--stdio"]].concat()).await.bad();
    assert!(refused.contains("only an operator") && refused.contains("or use such a token"), "{refused}");
    let refused = yard.run(&[&add[..], &[&operator, "--", &binary, "--stdio"]].concat()).await.bad();
    assert!(refused.contains("upstream_settings.allow_commands"), "{refused}");
}

#[tokio::test]
async fn a_user_gets_a_link_to_authorize() {
    let authorization = FakeAuthorization::start().await;
    let (yard, resource) = (Yard::start().await, FakeResource::start(&authorization).await);
    let add = ["upstreams", "add", "mail", "--url", &resource.url(), "--oauth", "--scope", "read"];
    let added = yard.run(&add).await.good();
    assert!(added.contains("toolyard upstreams authorize mail --user NAME"), "{added}");
    let stranger = yard.ada(&["upstreams", "authorize", "mail"]).await.bad();
    assert!(stranger.contains("toolyard apps install mcp.ID"), "{stranger}");
    yard.ada(&["apps", "install", "mcp.mail"]).await.good();
    let link = yard.ada(&["upstreams", "authorize", "mail"]).await;
    assert_eq!(link.err, "open this link in a browser:\n");
    let link = link.good();
    assert!(link.starts_with(&authorization.url()) && link.lines().count() == 1, "{link}");
    let same = yard.ada(&["upstreams", "authorize", "mail", "--json"]).await.json();
    assert_eq!(same["link"], link.trim());
    let forgot = yard.ada(&["upstreams", "authorize", "mail", "--forget"]).await.good();
    assert_eq!(forgot, "forgot the authorization for mail\n");
}

/// A file with every format that clients use.
fn client_file(upstream: &FakeUpstream, resource: &FakeResource) -> String {
    let (url, binary) = (upstream.url(), binary());
    let mail = resource.url();
    format!(
        r#"{{
  // As an editor writes it.
  "inputs": [{{ "type": "promptString", "id": "key" }}],
  "mcpServers": {{
    "plain": {{ "url": "{url}", "headers": {{ "X-Key": "s3cret", "Accept-Language": "${{env:LANG_OF_SERVER}}" }} }},
    "Windsurf Style": {{ "serverUrl": "{url}" }},
    "windsurf/style": {{ "url": "{url}" }},
    "off": {{ "command": "x", "disabled": true }},
    "mail": {{ "url": "{mail}" }},
  }},
  "servers": {{
    "child": {{ "type": "stdio", "command": "{binary}", "args": ["--stdio", "--fixtures", "echo"],
               "env": {{ "A": "1" }}, "envFile": "extra.env", "cwd": "/" /* anywhere */ }},
    "old": {{ "type": "sse", "url": "{url}" }},
    "asks": {{ "type": "http", "url": "{url}", "headers": {{ "K": "${{input:key}}" }} }},
    "far": {{ "url": "http://10.0.0.1/mcp" }},
    "there": {{ "url": "{url}" }},
  }},
}}"#
    )
}

#[tokio::test]
async fn servers_of_a_client_are_taken_over_one_by_one() {
    let authorization = FakeAuthorization::start().await;
    let (yard, upstream) = (Yard::start().await, FakeUpstream::start().await);
    let resource = FakeResource::start(&authorization).await;
    yard.run(&["upstreams", "add", "there", "--url", &upstream.url()]).await.good();
    yard.file("extra.env", "B=from the file\n");
    let file = yard.file("mcp.json", &client_file(&upstream, &resource));
    let import = ["upstreams", "import", file.to_str().unwrap(), "--for-all"];

    let dry = yard.run(&[&import[..], &["--dry-run"]].concat()).await;
    assert_eq!((dry.code, dry.out.contains("s3cret")), (1, false));
    assert!(
        dry.out.contains(&format!("Windsurf Style: would be added as windsurf-style ({})\n", upstream.url()))
    );
    assert!(dry.out.ends_with("7 would be added, 1 skipped, 2 failed\n"), "{}", dry.out);
    assert_eq!(
        yard.run(&["upstreams", "ls", "--json"]).await.json()["upstreams"].as_array().unwrap().len(),
        1
    );

    let run = yard.run(&[&import[..], &["--json"]].concat()).await;
    assert_eq!(run.code, 1);
    let lines = run.json_lines();
    let found = |name: &str| lines.iter().find(|line| line["name"] == name).unwrap();
    let outcome = |name: &str| found(name)["outcome"].as_str().unwrap();
    for name in ["plain", "Windsurf Style", "child", "old", "mail"] {
        assert_eq!(outcome(name), "added", "{}", found(name));
    }
    assert_eq!((outcome("off"), outcome("there")), ("skippedDisabled", "skippedExists"));
    for (name, words) in [
        ("windsurf/style", "that of `Windsurf Style`"),
        ("asks", "`headers.K`: `${input:key}` asks"),
        ("far", "url: "),
    ] {
        assert_eq!(outcome(name), "failed");
        assert!(found(name)["reasons"].to_string().contains(words), "{}", found(name));
    }
    assert_eq!(lines.last().unwrap(), &json!({ "added": 5, "skipped": 2, "failed": 3, "dryRun": false }));
    assert!(found("old")["remarks"][0].as_str().unwrap().contains("tried as Streamable HTTP"));

    let child = found("child");
    assert_eq!((&child["status"]["state"], &child["status"]["tools"]), (&json!("up"), &json!(4)));
    assert_eq!(child["details"]["env"], json!({ "A": "(sealed)", "B": "(sealed)" }));
    assert!(lines.iter().filter_map(|line| line.get("details")).all(|details| details["forAll"] == true));
    let plain = found("plain");
    assert_eq!(plain["details"]["headers"]["Accept-Language"], "${LANG_OF_SERVER}");
    assert!(plain["status"]["problem"].as_str().unwrap().contains("no variable LANG_OF_SERVER"));
    // The file does not mention OAuth; clients detect it too.
    assert_eq!(found("mail")["details"]["auth"], "oauth");
    assert!(yard.ada(&["upstreams", "authorize", "mail"]).await.good().starts_with(&authorization.url()));

    let again = yard.run(&import).await;
    assert!(again.out.contains("plain: skipped: an upstream plain already exists\n"), "{}", again.out);
    assert!(again.out.contains("off: skipped: it is disabled in the file\n"), "{}", again.out);
    assert!(again.out.contains("old: warning: SSE is a deprecated transport"), "{}", again.out);
}

#[tokio::test]
async fn an_invalid_client_file_is_reported() {
    let yard = Yard::start().await;
    for (text, words) in [("{ // half", "not JSON"), ("{}", "`mcpServers` or `servers`")] {
        let file = yard.file("mcp.json", text);
        let refused = yard.run(&["upstreams", "import", file.to_str().unwrap()]).await.bad();
        assert!(refused.contains(words), "{text}: {refused}");
    }
    assert!(
        yard.run(&["upstreams", "import", "missing.json"]).await.bad().contains("cannot read missing.json")
    );
}

/// The checks of upstreams: name, status, next step.
fn checks(ran: &crate::fixture::Ran) -> Vec<(String, String, String)> {
    let text = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let all = ran.json_lines()[0]["checks"].as_array().unwrap().clone();
    let all = all.iter().map(|check| (text(check, "name"), text(check, "status"), text(check, "next")));
    all.filter(|(name, _, _)| name.starts_with("upstream ")).collect()
}

#[tokio::test]
async fn the_doctor_looks_at_each() {
    let (mut yard, upstream) = (Yard::start().await, FakeUpstream::start().await);
    let url = upstream.url();
    yard.server.signal("-TERM").await;
    yard.server.end().await;
    let config = format!("[upstreams.good]\nurl = \"{url}\"\n[upstreams.gone]\nurl = \"{url}\"\n");
    yard.file("toolyard.toml", &config);
    let address = yard.url.trim_start_matches("http://").to_owned();
    let (mut server, _) = serve(yard.folder.path(), &address, &[]).await;
    server.signal("-TERM").await;
    server.end().await;
    yard.file("toolyard.toml", &config.replace("[upstreams.gone]", "[upstreams.other]"));
    let (_server, _) = serve(yard.folder.path(), &address, &[]).await;
    yard.run(&["upstreams", "add", "bad", "--url", "http://127.0.0.1:1/mcp"]).await.good();
    for id in ["good", "other"] {
        yard.run(&["upstreams", "test", id]).await.good();
    }
    let ran = yard.run(&["doctor", "--data", "data", "--json"]).await;
    assert_eq!(ran.code, 1);
    let told = checks(&ran);
    let statuses: Vec<(&str, &str)> =
        told.iter().map(|(name, status, _)| (name.as_str(), status.as_str())).collect();
    let expected = [
        ("upstream bad", "fail"),
        ("upstream gone", "warn"),
        ("upstream good", "ok"),
        ("upstream other", "ok"),
    ];
    assert_eq!(statuses, expected);
    assert!(told[0].2.contains("check that it responds at http://127.0.0.1:1/mcp"), "{told:?}");
    assert!(told[1].2.contains("configuration file"), "{told:?}");
}

#[tokio::test]
async fn the_doctor_says_what_it_may_not_see() {
    let yard = Yard::start_with(&["--auth", "token"]).await;
    let token =
        async |role: &str| yard.run(&["token", role, "bob", "--data", "data"]).await.good().trim().to_owned();
    let (operator, user) = (token("operator").await, token("user").await);
    let add = ["upstreams", "add", "far", "--url", "https://mcp.example.com/mcp", "--token", &operator];
    yard.run(&add).await.good();
    yard.run(&["apps", "install", "mcp.far", "--token", &user]).await.good();
    let told = checks(&yard.run(&["doctor", "--data", "data", "--json", "--token", &user]).await);
    assert_eq!((told.len(), told[0].0.as_str(), told[0].1.as_str()), (1, "upstream far", "warn"));
}
