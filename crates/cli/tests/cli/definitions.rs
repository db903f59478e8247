//! `toolyard definitions`

use serde_json::json;
use toolyard_testkit::upstream::{FakeUpstream, OfferListKind};

use crate::fixture::Yard;

fn set_tool(upstream: &FakeUpstream, description: &str) {
    let tool = json!({ "name": "say", "description": description, "inputSchema": { "type": "object" } });
    upstream.set_list(OfferListKind::Tools, vec![tool]);
}

#[tokio::test]
async fn a_changed_definition_is_listed_shown_rejected_and_accepted() {
    let (yard, upstream) = (Yard::start().await, FakeUpstream::start().await);
    set_tool(&upstream, "Says it.");
    yard.run(&["upstreams", "add", "echo", "--url", &upstream.url()]).await.good();
    assert_eq!(yard.run(&["definitions"]).await.good(), "No changed definitions wait.\n");
    let pins = yard.run(&["definitions", "pins", "mcp.echo"]).await.good();
    assert!(pins.contains("say: first-use, 2"), "{pins}");

    set_tool(&upstream, "Says it to everyone in the company.");
    yard.run(&["upstreams", "test", "echo"]).await.good();
    let listed = yard.run(&["definitions", "list", "--json"]).await.json();
    let (id, digest) = (
        listed["changes"][0]["id"].as_str().unwrap().to_owned(),
        listed["changes"][0]["digest"].as_str().unwrap().to_owned(),
    );
    let table = yard.run(&["definitions", "list", "--package", "mcp.echo"]).await.good();
    assert!(table.contains("mcp.echo:say") && table.contains("changed") && table.contains(&id), "{table}");
    let shown = yard.run(&["definitions", "show", &id]).await.good();
    for words in ["the accepted version stays in use", &digest, "@ /description", "+ "] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(yard.run(&["definitions", "reject", &id]).await.good(), "rejected mcp.echo:say\n");
    assert_eq!(yard.run(&["definitions"]).await.good(), "No changed definitions wait.\n");
    assert!(yard.run(&["definitions", "ls", "--all"]).await.good().contains("rejected"));

    set_tool(&upstream, "Says it to everyone in the town.");
    yard.run(&["upstreams", "test", "echo"]).await.good();
    let stale = yard.run(&["definitions", "accept", &id, "--version", &digest]).await.bad();
    assert!(stale.contains("changed again"), "{stale}");
    let accepted = yard.run(&["definitions", "accept", "--package", "mcp.echo", "--json"]).await.json();
    assert_eq!((&accepted["answer"], &accepted["changes"][0]["id"]), (&json!("accept"), &json!(id)));
    let missing = yard.run(&["definitions", "show", &id]).await.bad();
    assert!(missing.contains("toolyard definitions list"), "{missing}");
}
