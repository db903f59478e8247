//! Notifications about changed lists: every kind of change, once to every listener.

use serde_json::json;

use super::ears::{Ears, platform};
use crate::platform::{ECHO, Platform, echo_tool};

/// An app with one tool that needs a camera.
async fn app(p: &Platform) {
    let camera = json!([{ "type": "CAMERA", "level": "REQUIRED" }]);
    let body = json!({ "packageName": ECHO, "tools": [echo_tool()], "hardwareRequirements": camera });
    p.nobody().post("/api/apps", &body).await.expect(201);
}

async fn install(p: &Platform) {
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
}

#[tokio::test]
async fn an_install_and_its_removal_notify_listeners() {
    let p = platform(1).await;
    app(&p).await;
    let mut ears = Ears::open(&p).await;
    ears.quiet(&p).await;
    install(&p).await;
    ears.told(&p, "installed").await;
    p.user("ada").delete(&format!("/api/installs/{ECHO}")).await.expect(204);
    ears.told(&p, "removed by the user").await;
    install(&p).await;
    ears.told(&p, "installed again").await;
    p.nobody().delete(&format!("/api/apps/{ECHO}")).await.expect(204);
    ears.told(&p, "the app is gone").await;
}

#[tokio::test]
async fn disabling_and_enabling_a_tool_notifies_listeners() {
    let p = platform(1).await;
    app(&p).await;
    install(&p).await;
    let mut ears = Ears::open(&p).await;
    for enabled in [false, true] {
        let path = format!("/api/settings/tools/{ECHO}:echo");
        p.user("ada").put(&path, &json!({ "enabled": enabled })).await.expect(204);
        ears.told(&p, "switched").await;
    }
}

#[tokio::test]
async fn another_device_notifies_listeners() {
    let p = platform(1).await;
    app(&p).await;
    install(&p).await;
    let mut device = p.device("ada").await;
    let mut ears = Ears::open(&p).await;
    device.wears("Even Realities G1").await;
    ears.told(&p, "no camera").await;
    device.wears("Mentra Live").await;
    ears.told(&p, "a camera").await;
    device.wears("Even Realities G1").await;
    ears.told(&p, "no camera").await;
    // Without a session there is no device, and nothing is hidden.
    p.user("ada").delete("/api/session").await.expect(204);
    ears.told(&p, "no session").await;
}

#[tokio::test]
async fn another_version_of_an_app_notifies_listeners() {
    let p = platform(1).await;
    app(&p).await;
    install(&p).await;
    let mut ears = Ears::open(&p).await;
    let tools = format!("/api/apps/{ECHO}/tools");
    let mut described = echo_tool();
    described["description"] = "Says it once more".into();
    let mut second = echo_tool();
    second["name"] = "second".into();
    for set in [json!([described]), json!([described, second]), json!([second, described]), json!([])] {
        p.nobody().post(&tools, &json!({ "tools": set })).await.expect(200);
        ears.told(&p, "other tools").await;
    }
    p.nobody().post(&format!("/api/apps/{ECHO}/versions/1/activate"), &json!({})).await.expect(200);
    ears.told(&p, "the first version again").await;
}

#[tokio::test]
async fn a_change_of_hardware_requirements_notifies_listeners() {
    let p = platform(1).await;
    app(&p).await;
    install(&p).await;
    let mut device = p.device("ada").await;
    device.wears("Even Realities G1").await;
    let mut ears = Ears::open(&p).await;
    let path = format!("/api/apps/{ECHO}");
    p.nobody().patch(&path, &json!({ "hardwareRequirements": [] })).await.expect(200);
    ears.told(&p, "needs nothing any more").await;
}

#[tokio::test]
async fn many_concurrent_changes_are_one_notification() {
    // Long enough for all of it on a busy machine.
    let p = platform(1_500).await;
    let mut ears = Ears::open(&p).await;
    app(&p).await;
    install(&p).await;
    for _ in 0..5 {
        p.user("ada").modern("tools/list", json!({})).await.result();
    }
    let mut second = echo_tool();
    second["name"] = "second".into();
    let set = json!({ "tools": [echo_tool(), second] });
    p.nobody().post(&format!("/api/apps/{ECHO}/tools"), &set).await.expect(200);
    ears.told(&p, "all of it").await;
}
