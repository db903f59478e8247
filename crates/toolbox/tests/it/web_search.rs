use std::time::Duration;

use serde_json::{Value, json};
use toolyard_net::Guard;
use toolyard_toolbox::ToolboxOutput;
use toolyard_toolbox::web_search::{
    DEFAULT_LIMIT, MAX_ANSWER_BYTES, MAX_QUERY_CHARS, MAX_RESULTS, MAX_SNIPPET_CHARS, MAX_TITLE_CHARS,
    SearchError, SearchKey, SearchSettings, WebSearchArguments, web_search,
};

use crate::server::{Server, answer, client, ok};

const KEY: &str = "the-key-of-the-operator";

fn query(query: impl Into<String>) -> WebSearchArguments {
    WebSearchArguments { query: query.into(), count: None }
}

fn searxng(server: &Server) -> SearchSettings {
    SearchSettings::searxng(&format!("{}/sub/", server.url), &Guard::dev()).unwrap()
}

fn brave(server: &Server) -> SearchSettings {
    SearchSettings::brave(SearchKey::new(KEY), Some(&server.url), &Guard::dev()).unwrap()
}

fn tavily(server: &Server) -> SearchSettings {
    SearchSettings::tavily(SearchKey::new(KEY), Some(&server.url), &Guard::dev()).unwrap()
}

async fn search(
    server: &Server,
    settings: &SearchSettings,
    arguments: WebSearchArguments,
    answer: Vec<u8>,
) -> (Result<ToolboxOutput, SearchError>, String) {
    let client = client(&Guard::dev());
    let call = web_search(arguments, settings, &client, DEFAULT_LIMIT);
    let (outcome, requests) = server.during(call, [answer]).await;
    (outcome, requests.into_iter().next().unwrap_or_default())
}

fn found(body: Value) -> Vec<u8> {
    ok("application/json", body.to_string())
}

#[tokio::test]
async fn searxng_is_requested_as_json() {
    let server = Server::start().await;
    let body = json!({ "query": "x", "results": [
        { "url": "https://a.example/", "title": "A", "content": "About\na", "engine": "x" },
        { "url": "https://b.example/", "title": "B" },
        { "title": "leads nowhere" },
        { "url": "javascript:alert(1)", "title": "no page" },
    ]});
    let (outcome, request) = search(&server, &searxng(&server), query("rust & cats"), found(body)).await;
    let output = outcome.unwrap();
    assert_eq!(
        output.text,
        "2 results for `rust & cats`:\n\n1. A\nhttps://a.example/\nAbout a\n\n2. B\nhttps://b.example/"
    );
    assert_eq!(
        output.structured.unwrap(),
        json!({ "query": "rust & cats", "results": [
            { "title": "A", "url": "https://a.example/", "snippet": "About a" },
            { "title": "B", "url": "https://b.example/", "snippet": "" },
        ]})
    );
    assert!(request.starts_with("GET /sub/search?q=rust+%26+cats&format=json HTTP/1.1\r\n"), "{request}");
}

#[tokio::test]
async fn brave_gets_the_key_in_its_header() {
    let server = Server::start().await;
    let body = json!({ "type": "search", "web": { "results": [
        { "url": "https://a.example/", "title": "A &amp; B", "description": "The <strong>best</strong> one" },
    ]}});
    let arguments = WebSearchArguments { count: Some(3), ..query("cats") };
    let (outcome, request) = search(&server, &brave(&server), arguments, found(body)).await;
    assert_eq!(outcome.unwrap().text, "1 result for `cats`:\n\n1. A & B\nhttps://a.example/\nThe best one");
    assert!(request.starts_with("GET /res/v1/web/search?q=cats&count=3 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("x-subscription-token: {KEY}\r\n")), "{request}");
    let (nothing, _) =
        search(&server, &brave(&server), query("cats"), found(json!({ "type": "search" }))).await;
    assert_eq!(nothing.unwrap().text, "Nothing was found for `cats`; try other words.");
}

#[tokio::test]
async fn tavily_gets_the_key_as_a_token() {
    let server = Server::start().await;
    let body = json!({ "results": [
        { "url": "https://a.example/", "title": "A", "content": "About a", "score": 0.9 },
    ]});
    let (outcome, request) = search(&server, &tavily(&server), query("cats"), found(body)).await;
    assert_eq!(outcome.unwrap().text, "1 result for `cats`:\n\n1. A\nhttps://a.example/\nAbout a");
    let (head, sent) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /search HTTP/1.1\r\n"), "{request}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}\r\n")), "{request}");
    let sent: Value = serde_json::from_str(sent).unwrap();
    assert_eq!(sent, json!({ "query": "cats", "max_results": 5 }));
}

#[tokio::test]
async fn results_are_bounded_in_number_and_length() {
    let server = Server::start().await;
    let result = |n: usize| json!({ "url": format!("https://a.example/{n}"), "title": "t".repeat(1_000), "content": "s".repeat(5_000) });
    let many: Vec<_> = (0..50).map(result).collect();
    for (count, expected) in [(None, 5), (Some(1), 1), (Some(MAX_RESULTS), MAX_RESULTS)] {
        let arguments = WebSearchArguments { count, ..query("x") };
        let answer = found(json!({ "results": many }));
        let (outcome, _) = search(&server, &searxng(&server), arguments, answer).await;
        let structured = outcome.unwrap().structured.unwrap();
        let results = structured["results"].as_array().unwrap();
        assert_eq!(results.len(), expected);
        assert_eq!(results[0]["title"].as_str().unwrap().chars().count(), MAX_TITLE_CHARS + 1);
        assert_eq!(results[0]["snippet"].as_str().unwrap().chars().count(), MAX_SNIPPET_CHARS + 1);
    }
}

#[tokio::test]
async fn arguments_are_checked_before_anything_is_sent() {
    let server = Server::start().await;
    let client = client(&Guard::dev());
    for (arguments, error) in [
        (query(" \n"), SearchError::Empty),
        (query("ä".repeat(MAX_QUERY_CHARS + 1)), SearchError::TooLong(MAX_QUERY_CHARS + 1)),
        (WebSearchArguments { count: Some(0), ..query("x") }, SearchError::Count),
        (WebSearchArguments { count: Some(MAX_RESULTS + 1), ..query("x") }, SearchError::Count),
    ] {
        let call = web_search(arguments, &brave(&server), &client, DEFAULT_LIMIT).await;
        assert_eq!(call, Err(error));
    }
}

#[tokio::test]
async fn errors_say_what_to_do_and_never_hold_the_key() {
    let server = Server::start().await;
    let echo = format!("{{\"error\": \"bad key {KEY}\"}}");
    for (status, error) in [
        ("401 Unauthorized", SearchError::Access(http::StatusCode::UNAUTHORIZED)),
        ("403 Forbidden", SearchError::Access(http::StatusCode::FORBIDDEN)),
        ("429 Too Many Requests", SearchError::RateLimited),
        ("500 Internal Server Error", SearchError::Status(http::StatusCode::INTERNAL_SERVER_ERROR)),
        ("302 Found", SearchError::Status(http::StatusCode::FOUND)),
        ("200 OK", SearchError::BadAnswer),
    ] {
        for settings in [brave(&server), tavily(&server)] {
            let headers = "location: /elsewhere\r\n";
            let body = if status == "200 OK" { "<html>" } else { echo.as_str() };
            let (outcome, _) = search(&server, &settings, query("x"), answer(status, headers, body)).await;
            let told = outcome.unwrap_err();
            assert_eq!(told, error);
            assert!(!format!("{told} {told:?} {settings:?}").contains(KEY), "{told:?} {settings:?}");
        }
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_is_not_revealed() {
    let server = Server::start().await;
    let client = client(&Guard::dev());
    let key = "two\nlines";
    let settings = SearchSettings::brave(SearchKey::new(key), Some(&server.url), &Guard::dev()).unwrap();
    let error = web_search(query("x"), &settings, &client, DEFAULT_LIMIT).await.unwrap_err();
    assert_eq!(error, SearchError::Settings);
    assert!(!format!("{error:?}{:?}", SearchKey::new(key)).contains("lines"));
}

#[tokio::test]
async fn the_answer_and_the_time_are_bounded() {
    let server = Server::start().await;
    let large = ok("application/json", vec![b' '; MAX_ANSWER_BYTES + 1]);
    let (outcome, _) = search(&server, &searxng(&server), query("x"), large).await;
    assert!(matches!(outcome, Err(SearchError::Net(_))), "{outcome:?}");

    let client = client(&Guard::dev());
    let settings = searxng(&server);
    let call = web_search(query("x"), &settings, &client, Duration::from_millis(20));
    let (outcome, _) = server.during(call, [b"HTTP/1.1 200 OK\r\n"]).await;
    assert_eq!(outcome, Err(SearchError::TooSlow));
}

#[tokio::test]
async fn the_guard_decides_about_the_provider() {
    let server = Server::start().await;
    assert!(SearchSettings::searxng(&server.url, &Guard::strict()).is_err());
    assert!(SearchSettings::brave(SearchKey::new(KEY), None, &Guard::strict()).is_ok());
    assert!(SearchSettings::tavily(SearchKey::new(KEY), None, &Guard::strict()).is_ok());
    let outcome = web_search(query("x"), &searxng(&server), &client(&Guard::strict()), DEFAULT_LIMIT).await;
    assert!(matches!(outcome, Err(SearchError::Net(_))), "{outcome:?}");
}
