//! Unused cache entries are evicted.

use serde_json::json;

use crate::platform::{ECHO, Platform};

#[tokio::test]
async fn unused_views_and_packages_are_evicted() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    p.state.catalog.evict_idle();
    assert_eq!((p.state.catalog.cached_views(), p.state.catalog.cached_apps()), (1, 1), "ada may call again");
    p.user("ada").delete("/api/session").await.expect(204);
    p.state.catalog.evict_idle();
    assert_eq!((p.state.catalog.cached_views(), p.state.catalog.cached_apps()), (0, 0));
    let _device = p.device("ada").await;
    p.call_echo().await.expect(200);
}

#[tokio::test]
async fn the_limit_of_concurrent_calls_survives_eviction() {
    let p = Platform::with(|config| config.calls.in_flight_per_app = 1).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(toolyard_testkit::AppBehavior::Lines(vec![
        json!({ "type": "result", "success": true }),
    ]));
    let (first, second) = tokio::join!(p.call_echo(), async {
        app.wait_requests("/tool", 1).await;
        // A change of the app makes a new entry of it while the old one is still called.
        p.nobody().patch(&format!("/api/apps/{ECHO}"), &json!({ "name": "Again" })).await.expect(200);
        p.state.catalog.evict_idle();
        let second = p.call_echo().await;
        app.let_line_through();
        second
    });
    first.expect(200);
    assert_eq!(second.code(), "OVERLOADED");
}

#[tokio::test]
async fn a_key_whose_outcome_could_not_be_stored_is_not_held_for_ever() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(toolyard_testkit::AppBehavior::Lines(vec![
        json!({ "type": "result", "success": true }),
    ]));
    let (user, tool) = (p.user("ada").header("idempotency-key", "k"), format!("{ECHO}:echo"));
    let (answer, ()) = tokio::join!(user.call(&tool, json!({ "text": "hi" })), async {
        app.wait_requests("/tool", 1).await;
        assert_eq!(p.state.executor.keys_in_flight(), 1);
        p.state.stores.maintenance.close().await;
        app.let_line_through();
    });
    answer.expect(200);
    assert_eq!(p.state.executor.keys_in_flight(), 0);
}
