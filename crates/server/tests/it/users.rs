//! The list of users for operators.

use serde_json::{Value, json};
use toolyard_server::auth::Role;

use crate::{
    identity::app_of,
    platform::{ECHO, Platform, tokens_only},
};

fn ids(answer: &Value) -> Vec<&str> {
    answer["users"].as_array().unwrap().iter().map(|user| user["userId"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn users_have_installs_or_a_session() {
    let p = Platform::start().await;
    let (_app, mut ada) = p.echo().await;
    ada.wears("Mentra Live").await;
    p.user("zoe").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let _bob = p.device("bob").await;
    let users = p.nobody().get("/api/users").await.expect(200).json();
    let user = |id: &str, live: bool, model: Option<&str>, apps: u32| {
        json!({ "userId": id, "live": live, "deviceModel": model, "apps": apps, "hasAccount": false,
            "email": null, "name": null, "role": null, "groups": [], "createdAt": null, "lastSeenAt": null,
            "disabled": false })
    };
    let expected =
        [user("ada", true, Some("Mentra Live"), 1), user("bob", true, None, 0), user("zoe", false, None, 1)];
    assert_eq!(users, json!({ "users": expected, "next": null }));
    assert_eq!(ids(&p.nobody().get("/api/users?q=O").await.expect(200).json()), ["bob", "zoe"]);
    assert_eq!(ids(&p.nobody().get("/api/users?q=%25").await.expect(200).json()), [""; 0], "no pattern");
    assert_eq!(ids(&p.nobody().get("/api/users?limit=2").await.expect(200).json()), ["ada", "bob"]);
    p.nobody().get("/api/users?limit=x").await.expect(400);
    p.nobody().get(&format!("/api/users?q={}", "x".repeat(201))).await.expect(400);
}

#[tokio::test]
async fn the_list_of_users_is_limited() {
    let p = Platform::start().await;
    let (_app, _ada) = p.echo().await;
    for number in 0..210 {
        p.state
            .stores
            .installs
            .install_app(
                &format!("u{number:03}").parse().unwrap(),
                &ECHO.parse().unwrap(),
                jiff::Timestamp::UNIX_EPOCH,
            )
            .await
            .unwrap();
    }
    let _late = p.device("z-late").await;
    assert_eq!(ids(&p.nobody().get("/api/users").await.expect(200).json()).len(), 50);
    let most = p.nobody().get("/api/users?limit=1000").await.expect(200).json();
    let most = ids(&most);
    assert_eq!((most.len(), most[0], most[199]), (200, "ada", "u198"));
    assert_eq!(ids(&p.nobody().get("/api/users?q=z-").await.expect(200).json()), ["z-late"]);
}

#[tokio::test]
async fn only_operators_see_the_list_of_users() {
    let p = Platform::with(tokens_only).await;
    let (_app, key) = app_of(&p, "dora", ECHO).await;
    for token in
        [p.token("ada", Role::User), p.token("dora", Role::Developer), p.token("cleo", Role::Curator), key]
    {
        assert_eq!(p.bearer(&token).get("/api/users").await.expect(403).code(), "FORBIDDEN");
    }
    p.bearer(&p.token("root", Role::Operator)).get("/api/users").await.expect(200);
}
