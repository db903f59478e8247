//! `toolyard tools`

use serde_json::json;

use crate::{
    app::{self, App},
    fixture::Yard,
};

/// A server with the app registered and installed for Ada, who wears glasses.
async fn yard_with(app: &App) -> (Yard, crate::fixture::Running) {
    let yard = Yard::start().await;
    let tools = yard.file("tools.json", &app::tools().to_string());
    let tools = tools.to_str().unwrap();
    let add = [
        "apps",
        "add",
        "--package",
        "com.example.echo",
        "--url",
        &app.url,
        "--kind",
        "tools-only",
        "--tools",
        tools,
    ];
    yard.run(&add).await.good();
    yard.ada(&["apps", "install", "com.example.echo"]).await.good();
    let glasses = yard.glasses(&[]).await;
    (yard, glasses)
}

#[tokio::test]
async fn tools_are_listed_with_what_hides_the_others() {
    let app = App::start().await;
    let (yard, _glasses) = yard_with(&app).await;
    let tools = yard.file("see.json", r#"[{"name":"see","inputSchema":{"type":"object"}}]"#);
    let tools = tools.to_str().unwrap();
    yard.run(&["apps", "add", "--package", "com.example.eyes", "--requires", "CAMERA", "--tools", tools])
        .await
        .good();
    yard.ada(&["apps", "install", "com.example.eyes"]).await.good();

    let listed = yard.ada(&["tools", "ls", "--hidden"]).await.good();
    assert!(listed.contains("com.example.echo:say    Say it again\n"), "{listed}");
    assert!(listed.contains("com.example.echo:count  Counts.\n"), "{listed}");
    let hidden = "Hidden:\ncom.example.eyes:see  needs a camera; Even Realities G1 has none\n";
    assert!(listed.ends_with(hidden), "{listed}");
    let utility = yard.ada(&["tools", "ls", "--category", "utility", "--json"]).await.json();
    assert_eq!(utility["tools"].as_array().unwrap().len(), 1);
    assert_eq!(utility["tools"][0]["name"], "com.example.echo:count");
    let wrong = yard.ada(&["tools", "ls", "--category", "fun"]).await;
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("productivity, media"), "{}", wrong.err);
}

/// Control characters: clear the screen, a one-byte colour, delete, and line breaks inside a line.
const HOSTILE: &str = "a\u{1b}[2J\u{9b}31m\u{7f}\r\u{7}b";

fn obeys_nothing(text: &str) {
    assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
}

#[tokio::test]
async fn text_of_servers_and_apps_does_not_control_the_terminal() {
    let app = App::start().await;
    let (yard, _glasses) = yard_with(&app).await;
    let tool = json!([{ "name": "see", "title": HOSTILE, "description": HOSTILE,
        "inputSchema": { "type": "object", "properties": { "x": { "const": HOSTILE } } } }]);
    let tools = yard.file("hostile.json", &tool.to_string());
    let add = ["apps", "add", "--package", "com.example.hostile", "--tools"];
    yard.run(&[&add[..], &[tools.to_str().unwrap()]].concat()).await.good();
    yard.ada(&["apps", "install", "com.example.hostile"]).await.good();
    let text = format!("text={HOSTILE}");
    for args in [
        &["tools", "ls"][..],
        &["apps", "ls"],
        &["apps", "show", "com.example.hostile"],
        &["tools", "call", "com.example.echo:say", &text],
        &["tools", "call", "com.example.hostile:see", "x=1"],
        &["tools", "call", HOSTILE, "x=1"],
    ] {
        let ran = yard.ada(args).await;
        obeys_nothing(&ran.out);
        obeys_nothing(&ran.err);
        let mut json = args.to_vec();
        json.push("--json");
        let ran = yard.ada(&json).await;
        obeys_nothing(&ran.out);
        assert_eq!(ran.json_lines().len(), 1, "one line: {}", ran.out);
    }
    let said = yard.ada(&["tools", "call", "com.example.echo:say", &text, "--json"]).await.json();
    assert_eq!(said["content"], format!("you said {}", json!(HOSTILE)), "nothing is lost for programs");
}

#[tokio::test]
async fn tools_are_called() {
    let mut app = App::start().await;
    let (yard, _glasses) = yard_with(&app).await;
    let say = "com.example.echo:say";
    assert_eq!(yard.ada(&["tools", "call", say, "text=good day"]).await.good(), "you said \"good day\"\n");
    assert_eq!(
        yard.ada(&["tools", "call", "com_example_echo__say", r#"{"text":"x"}"#]).await.good(),
        "you said \"x\"\n"
    );
    let count = yard.ada(&["tools", "call", "com.example.echo:count", "n=5", "--json"]).await.json();
    assert_eq!(count, json!({ "success": true, "content": { "n": 5 } }));

    // The same key runs the tool once.
    app.calls();
    for _ in 0..2 {
        yard.ada(&["tools", "call", say, "text=once", "--key", "k-1"]).await.good();
    }
    assert_eq!(app.calls(), 1);
    let other = yard.ada(&["tools", "call", say, "text=twice", "--key", "k-1"]).await.bad();
    assert!(other.contains("CONFLICT"), "{other}");

    let work = yard.ada(&["tools", "call", "com.example.echo:work", "--progress"]).await;
    assert_eq!((work.code, work.out.as_str(), work.err.as_str()), (0, "all done\n", "… 50 % half way\n"));
}

#[tokio::test]
async fn failures_have_a_reason_and_exit_with_1() {
    let app = App::start().await;
    let (yard, _glasses) = yard_with(&app).await;
    let fail = "com.example.echo:fail";
    assert!(yard.ada(&["tools", "call", fail]).await.bad().contains("error: EXECUTION_ERROR: no milk left"));
    assert!(yard.ada(&["tools", "call", fail, "--progress"]).await.bad().contains("no milk left"));
    let json = yard.ada(&["tools", "call", fail, "--json"]).await;
    let failed = json!({ "success": false, "error": { "code": "EXECUTION_ERROR", "message": "no milk left", "retryable": false } });
    assert_eq!((json.code, &json.json_lines()[0]), (1, &failed));

    let unknown = yard.ada(&["tools", "call", "com.example.echo:nothing"]).await.bad();
    assert!(
        unknown.contains("TOOL_NOT_FOUND") && unknown.contains("next: `toolyard tools ls --hidden`"),
        "{unknown}"
    );
    let arguments = yard.ada(&["tools", "call", "com.example.echo:count", "n=many"]).await.bad();
    assert!(arguments.contains("INVALID_ARGUMENTS") && arguments.contains('n'), "{arguments}");
    let usage = yard.ada(&["tools", "call", "com.example.echo:count", "{n:1}"]).await;
    assert_eq!(usage.code, 2);
    assert!(usage.err.contains("not a JSON object"), "{}", usage.err);
    // In dev mode no glasses are needed; Eve has installed nothing.
    let eve = yard.run(&["tools", "ls", "--user", "eve@example.com"]).await.good();
    assert!(!eve.contains("com.example.echo"), "{eve}");
}

#[tokio::test]
async fn a_failed_call_is_listed_and_shown_with_the_error_of_the_app() {
    let app = App::start().await;
    let (yard, _glasses) = yard_with(&app).await;
    yard.ada(&["tools", "call", "com.example.echo:say", "text=hi"]).await.good();
    yard.ada(&["tools", "call", "com.example.echo:fail"]).await.bad();
    // Records without a key are written in batches, so the list may be a moment behind.
    let listed = loop {
        let listed = yard.ada(&["calls", "--outcome", "EXECUTION_ERROR", "--json"]).await.json();
        if listed["calls"].as_array().is_some_and(|calls| !calls.is_empty()) {
            break listed;
        }
    };
    let call = &listed["calls"][0];
    assert_eq!(call["tool"], "com.example.echo:fail");
    assert!(call["errorMessage"].as_str().unwrap().contains("no milk left"), "{call}");
    let shown = yard.ada(&["calls", call["id"].as_str().unwrap()]).await.good();
    assert!(shown.contains("EXECUTION_ERROR") && shown.contains("no milk left"), "{shown}");
}
