//! Users who sign in at an upstream behind OAuth.

use http::{Request, header};
use http_body_util::Full;
use serde_json::json;
use toolyard_net::{ClientSettings, Guard, HttpClient};

use crate::{
    mcp::client::soon,
    platform::{Answer, Person, Platform},
};

/// Acts as a browser: follows the link to the authorization server, which approves and returns the callback URL.
pub(crate) async fn says_yes(p: &Platform, link: &str) -> String {
    let browser = HttpClient::new(Guard::unrestricted(), ClientSettings::default());
    let request = Request::get(link).body(Full::default()).unwrap();
    let answer = soon(browser.send(request)).await.unwrap();
    assert_eq!(answer.status, 302);
    let back = answer.headers[header::LOCATION].to_str().unwrap();
    back.strip_prefix(&p.url).unwrap_or_else(|| panic!("{back} leads elsewhere")).to_owned()
}

/// Requests an authorization link: its URL and the cookie that comes with it.
pub(crate) async fn link(who: &Person<'_>, id: &str) -> (String, String) {
    let answer = soon(who.post(&format!("/api/upstreams/{id}/authorize"), &json!({}))).await.expect(200);
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    (answer.json()["link"].as_str().unwrap().to_owned(), cookie)
}

/// The whole OAuth flow in one browser.
pub(crate) async fn authorize(p: &Platform, user: &str, id: &str) -> Answer {
    let (link, cookie) = link(&p.user(user), id).await;
    let back = says_yes(p, &link).await;
    soon(p.as_with(&[("cookie", &cookie)]).get(&back)).await
}
