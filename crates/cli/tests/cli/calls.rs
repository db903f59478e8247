//! `toolyard calls`, `tools on|off` and `apps grant`

use serde_json::json;

use crate::{
    app::{self, App},
    fixture::{ADA, Running, Yard},
};

/// A server with the app registered and installed for Ada, who wears glasses.
async fn yard_with(app: &App) -> (Yard, Running) {
    let yard = Yard::start().await;
    let tools = yard.file("tools.json", &app::tools().to_string());
    let line = ["apps", "add", "--package", "com.example.echo", "--url", &app.url, "--kind", "tools-only"];
    yard.run(&[&line[..], &["--tools", tools.to_str().unwrap()]].concat()).await.good();
    yard.ada(&["apps", "install", "com.example.echo"]).await.good();
    let glasses = yard.glasses(&[]).await;
    (yard, glasses)
}

#[tokio::test]
async fn calls_are_listed_shown_and_followed() {
    let app = App::start().await;
    let (yard, _glasses) = yard_with(&app).await;
    let mut follow = Running::start(yard.command(&["calls", "--follow", "--json", "--user", ADA]));
    follow.notes("waiting for calls").await;
    let mut filtered =
        Running::start(yard.command(&["calls", "--follow", "--outcome", "TOOL_NOT_FOUND", "--user", ADA]));
    filtered.notes("waiting for calls").await;
    yard.ada(&["tools", "call", "com.example.echo:say", "text=hello"]).await.good();
    let seen: serde_json::Value = serde_json::from_str(&follow.says("com.example.echo:say").await).unwrap();
    assert_eq!((&seen["outcome"], &seen["userId"]), (&json!("OK"), &json!(ADA)));
    yard.ada(&["tools", "call", "com.example.echo:gone"]).await.bad();
    let line = filtered.says("com.example.echo").await;
    assert!(line.contains("com.example.echo:gone  TOOL_NOT_FOUND  "), "the first that it says: {line}");
    filtered.signal("-INT").await;
    assert_eq!(filtered.end().await, 0);

    let id = seen["id"].as_str().unwrap();
    let shown = yard.ada(&["calls", id]).await.good();
    assert!(shown.contains("outcome   OK\n") && shown.contains("invoke "), "{shown}");
    // Records without a key are written in batches, so the list may be a moment behind.
    let listed = loop {
        let listed = yard.ada(&["calls", "--tool", "com.example.echo:say"]).await.good();
        if listed.contains(id) {
            break listed;
        }
    };
    assert!(listed.starts_with("STARTED  ") && !listed.contains("echo:gone"), "{listed}");
    assert_eq!(yard.ada(&["calls", "--app", "com.example.other"]).await.good(), "No calls match.\n");
    for wrong in
        [&["--limit", "0"][..], &["--limit", "201"], &["--since", "yesterday"], &["--follow", "--limit", "5"]]
    {
        assert_eq!(yard.ada(&[&["calls"], wrong].concat()).await.code, 2, "{wrong:?}");
    }
}

#[tokio::test]
async fn a_tool_is_switched_off_and_on() {
    let app = App::start().await;
    let (yard, _glasses) = yard_with(&app).await;
    let off = yard.ada(&["tools", "off", "com.example.echo:say"]).await.good();
    assert_eq!(off, "com.example.echo:say is off: no assistant can see or call it\n");
    assert!(!yard.ada(&["tools", "ls"]).await.good().contains("com.example.echo:say"));
    yard.ada(&["tools", "call", "com.example.echo:say", "text=x"]).await.bad();
    let on = yard.ada(&["tools", "on", "com.example.echo:say", "--json"]).await.json();
    assert_eq!(on, json!({ "name": "com.example.echo:say", "enabled": true }));
    yard.ada(&["tools", "call", "com.example.echo:say", "text=x"]).await.good();
    assert!(yard.ada(&["tools", "off", "com.example.echo:nothing"]).await.bad().contains("nothing"));
}

#[tokio::test]
async fn an_app_is_granted_the_tools_of_others() {
    let app = App::start().await;
    let (yard, _glasses) = yard_with(&app).await;
    let granted = yard.ada(&["apps", "grant", "com.example.echo", "--json"]).await.json();
    assert_eq!(granted, json!({ "packageName": "com.example.echo", "assistant": true }));
    let revoked = yard.ada(&["apps", "grant", "com.example.echo", "--revoke"]).await.good();
    assert_eq!(revoked, "com.example.echo can call only its own tools\n");
    assert!(yard.ada(&["apps", "grant", "com.example.other"]).await.bad().contains("com.example.other"));
}
