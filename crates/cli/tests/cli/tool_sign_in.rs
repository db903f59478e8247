//! `toolyard tools call` for a tool whose upstream needs the user's sign-in.

use serde_json::json;
use toolyard_testkit::{
    authorization::{GuardedUpstream, sign_in_at_upstream},
    upstream::UpstreamEra,
};

use crate::fixture::{ADA, Yard};

const CALL: [&str; 4] = ["tools", "call", "mcp.up:echo", "text=hi"];

#[tokio::test]
async fn a_call_prints_the_page_and_waits_for_the_sign_in() {
    let yard = Yard::start().await;
    let upstream = GuardedUpstream::start(UpstreamEra::Modern).await;
    let add = ["upstreams", "add", "up", "--url", &upstream.url(), "--oauth", "--for-all"];
    yard.run(&add).await.good();
    let _glasses = yard.glasses(&[]).await;
    sign_in_at_upstream(&yard.url, ADA, "up").await;
    yard.ada(&["upstreams", "authorize", "up", "--forget"]).await.good();

    let page = format!("{}/console/upstreams/up/sign-in", yard.url);
    let ran = yard.ada(&CALL).await;
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{ran:?}");
    assert!(ran.err.contains(&format!("mcp.up needs you to sign in: {page}")), "{}", ran.err);
    let ran = yard.ada(&[&CALL[..], &["--json"]].concat()).await;
    let pending = json!({ "kind": "sign-in", "id": "up", "name": "mcp.up", "url": page });
    assert_eq!((ran.code, &ran.json_lines()[0]["pending"]), (3, &pending), "{ran:?}");

    let waits = [&CALL[..], &["--wait"]].concat();
    let (ran, ()) = tokio::join!(yard.ada(&waits), sign_in_at_upstream(&yard.url, ADA, "up"));
    assert_eq!(ran.good(), "hi\n");
}
