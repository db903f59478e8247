use std::time::Duration;

use serde_json::json;
use toolyard_net::Guard;
use toolyard_toolbox::ToolboxOutput;
use toolyard_toolbox::page::{
    DEFAULT_LIMIT, FetchPageArguments, FetchPageError, MAX_BODY_BYTES, MAX_LINKS, MAX_REDIRECTS, PAGE_CHARS,
    fetch_page,
};

use crate::server::{Server, answer, client, ok};

fn url(url: impl Into<String>) -> FetchPageArguments {
    FetchPageArguments { url: url.into(), ..Default::default() }
}

async fn fetch_all(
    server: &Server,
    arguments: FetchPageArguments,
    answers: Vec<Vec<u8>>,
) -> (Result<ToolboxOutput, FetchPageError>, Vec<String>) {
    let guard = Guard::dev();
    let client = client(&guard);
    server.during(fetch_page(arguments, &client, &guard, DEFAULT_LIMIT), answers).await
}

/// The output for one response.
async fn fetch(answer: Vec<u8>) -> Result<ToolboxOutput, FetchPageError> {
    let server = Server::start().await;
    let arguments = url(format!("{}/a/b", server.url));
    fetch_all(&server, arguments, vec![answer]).await.0
}

fn redirect(to: &str) -> Vec<u8> {
    answer("302 Found", &format!("location: {to}\r\n"), "")
}

#[tokio::test]
async fn a_page_is_text_with_title_and_address() {
    let server = Server::start().await;
    let html = "<title>Hello</title><h1>Top</h1><p>Text <a href='/x'>link</a></p>";
    let arguments = url(format!("{}/a?b=c#d", server.url));
    let (output, requests) = fetch_all(&server, arguments, vec![ok("text/html; charset=utf-8", html)]).await;
    let output = output.unwrap();
    assert_eq!(output.text, format!("URL: {}/a?b=c\nTitle: Hello\n\n# Top\n\nText link", server.url));
    assert_eq!(
        output.structured.unwrap(),
        json!({
            "url": format!("{}/a?b=c", server.url),
            "title": "Hello",
            "text": "# Top\n\nText link",
            "start": 0,
            "length": 16,
            "next_start": null,
        })
    );
    assert!(requests[0].starts_with("GET /a?b=c HTTP/1.1\r\n"), "{requests:?}");
    assert!(requests[0].contains("accept-encoding: identity\r\n"), "{requests:?}");
}

#[tokio::test]
async fn json_and_plain_text_stay_as_they_are() {
    for (kind, body) in [
        ("application/json", "{\"a\": \"<b>\"}"),
        ("text/plain", "a  <b>\n c"),
        ("application/feed+json", "{}"),
    ] {
        let output = fetch(ok(kind, body)).await.unwrap();
        assert_eq!(output.structured.unwrap()["text"], body, "{kind}");
    }
    let untyped = fetch(answer("200 OK", "", "<p>a</p>")).await.unwrap();
    assert_eq!(untyped.structured.unwrap()["text"], "a");
    let empty = fetch(ok("text/html", "")).await.unwrap();
    assert!(empty.text.ends_with("(the page has no text)"), "{}", empty.text);
}

#[tokio::test]
async fn what_is_not_text_is_refused_with_its_type() {
    for kind in ["application/pdf", "image/png", "application/octet-stream"] {
        assert_eq!(fetch(ok(kind, "x")).await, Err(FetchPageError::NotText(kind.to_owned())));
    }
    assert_eq!(fetch(ok("text/plain", b"a\0b")).await, Err(FetchPageError::NotText("text/plain".into())));
    let compressed = answer("200 OK", "content-type: text/html\r\ncontent-encoding: gzip\r\n", "x");
    assert_eq!(fetch(compressed).await, Err(FetchPageError::Compressed("gzip".into())));
}

#[tokio::test]
async fn the_encoding_is_heeded() {
    let output = fetch(ok("text/html; charset=iso-8859-1", b"caf\xe9")).await.unwrap();
    assert_eq!(output.structured.unwrap()["text"], "café");
    let output = fetch(ok("text/html", b"<meta charset=windows-1251>\xe4\xe0")).await.unwrap();
    assert_eq!(output.structured.unwrap()["text"], "да");
}

#[tokio::test]
async fn long_pages_come_in_parts() {
    let whole: String = (0..PAGE_CHARS + 500).map(|n| if n % 2 == 0 { 'ä' } else { 'b' }).collect();
    let output = fetch(ok("text/plain; charset=utf-8", &whole)).await.unwrap();
    let end = format!(
        "\n(cut: characters 0 to {PAGE_CHARS} of {}; continue with start={PAGE_CHARS})",
        PAGE_CHARS + 500
    );
    assert!(output.text.ends_with(&end), "{}", &output.text[output.text.len() - 200..]);
    let first = output.structured.unwrap();
    assert_eq!(first["next_start"], PAGE_CHARS);

    let server = Server::start().await;
    let rest = FetchPageArguments { start: Some(PAGE_CHARS), ..url(&server.url) };
    let (output, _) = fetch_all(&server, rest, vec![ok("text/plain; charset=utf-8", &whole)]).await;
    let second = output.unwrap().structured.unwrap();
    assert_eq!(second["next_start"], json!(null));
    assert_eq!(format!("{}{}", first["text"].as_str().unwrap(), second["text"].as_str().unwrap()), whole);

    let past = FetchPageArguments { start: Some(4), ..url(&server.url) };
    let (output, _) = fetch_all(&server, past, vec![ok("text/plain", "four")]).await;
    assert_eq!(output, Err(FetchPageError::PastEnd { start: 4, length: 4 }));
}

#[tokio::test]
async fn links_are_listed_on_request() {
    let server = Server::start().await;
    let html: String = (0..=MAX_LINKS).map(|n| format!("<a href='/{n}'>Link {n}</a> ")).collect();
    let arguments = FetchPageArguments { links: Some(true), ..url(&server.url) };
    let (output, _) = fetch_all(&server, arguments, vec![ok("text/html", &html)]).await;
    let output = output.unwrap();
    assert!(
        output.text.contains(&format!("\n\nLinks:\n- Link 0: {}/0\n- Link 1:", server.url)),
        "{}",
        output.text
    );
    assert!(output.text.ends_with("\n(cut: the first 100 of 101 links)"), "{}", output.text);
    let structured = output.structured.unwrap();
    assert_eq!(structured["links"].as_array().unwrap().len(), MAX_LINKS);
    assert_eq!(structured["links"][7], json!({ "text": "Link 7", "url": format!("{}/7", server.url) }));
}

#[tokio::test]
async fn redirects_are_followed_up_to_the_limit() {
    let server = Server::start().await;
    let mut answers = vec![redirect("/1"); MAX_REDIRECTS];
    answers.push(ok("text/plain", "there"));
    let (output, requests) = fetch_all(&server, url(format!("{}/a/b", server.url)), answers).await;
    assert_eq!(output.unwrap().structured.unwrap()["url"], format!("{}/1", server.url));
    assert_eq!(requests.len(), MAX_REDIRECTS + 1);

    let answers = vec![redirect("x"); MAX_REDIRECTS + 1];
    let (output, requests) = fetch_all(&server, url(format!("{}/a/b", server.url)), answers).await;
    assert_eq!(output, Err(FetchPageError::TooManyRedirects));
    assert!(requests[1].starts_with("GET /a/x HTTP/1.1\r\n"), "{requests:?}");
}

#[tokio::test]
async fn every_redirect_is_judged() {
    for to in
        ["http://169.254.169.254/latest", "http://10.0.0.1/", "file:///etc/passwd", "http://u:p@example.com/"]
    {
        let outcome = fetch(redirect(to)).await;
        assert!(matches!(outcome, Err(FetchPageError::RedirectRefused { .. })), "{to}: {outcome:?}");
    }
    assert_eq!(fetch(answer("302 Found", "", "")).await, Err(FetchPageError::BadRedirect));
    assert_eq!(fetch(redirect("http://[")).await, Err(FetchPageError::BadRedirect));
}

#[tokio::test]
async fn inner_addresses_are_refused() {
    let server = Server::start().await;
    let guard = Guard::strict();
    let client = client(&guard);
    for address in
        [server.url.as_str(), "http://localhost/", "http://10.0.0.1/", "ftp://example.com/", "nothing"]
    {
        let outcome = fetch_page(url(address), &client, &guard, DEFAULT_LIMIT).await;
        assert!(matches!(outcome, Err(FetchPageError::Refused(_))), "{address}: {outcome:?}");
    }
}

#[tokio::test]
async fn the_body_is_bounded() {
    let full = fetch(ok("text/plain", vec![b'x'; MAX_BODY_BYTES])).await.unwrap();
    assert_eq!(full.structured.unwrap()["length"], MAX_BODY_BYTES);
    assert_eq!(fetch(ok("text/plain", vec![b'x'; MAX_BODY_BYTES + 1])).await, Err(FetchPageError::TooLarge));
}

#[tokio::test]
async fn server_errors_are_reported() {
    let outcome = fetch(answer("404 Not Found", "content-type: text/html\r\n", "gone")).await;
    assert_eq!(
        outcome.unwrap_err().to_string(),
        "the server answered 404 Not Found; check the URL or try another"
    );
    let server = Server::start().await;
    let address = server.url.clone();
    drop(server);
    let guard = Guard::dev();
    let outcome = fetch_page(url(address), &client(&guard), &guard, DEFAULT_LIMIT).await;
    assert!(matches!(outcome, Err(FetchPageError::Net(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_left() {
    let server = Server::start().await;
    let guard = Guard::dev();
    let client = client(&guard);
    let call = fetch_page(url(&server.url), &client, &guard, Duration::from_millis(20));
    let (outcome, _) = server.during(call, [b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"]).await;
    assert_eq!(outcome, Err(FetchPageError::TooSlow));
}
