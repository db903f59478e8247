//! The console's files: which are served, with which headers, and that nothing else is.

use http::Method;
use toolyard_server::{ConsoleFile, ConsoleFiles};

use crate::platform::{Answer, Platform, tokens_only};

const PAGE: &str = "<!doctype html><title>Console</title>";
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; \
     connect-src 'self'; media-src 'self' blob:; frame-src 'self'; worker-src 'self'; manifest-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn file(path: &'static str, kind: &'static str, etag: &'static str, text: &'static str) -> ConsoleFile {
    ConsoleFile { path, kind, etag, bytes: text.as_bytes(), brotli: None }
}

/// A console in five files.
pub(crate) fn files() -> ConsoleFiles {
    let script = "text/javascript; charset=utf-8";
    ConsoleFiles::new(vec![
        file("index.html", "text/html; charset=utf-8", "i1", PAGE),
        ConsoleFile { brotli: Some(b"packed"), ..file("assets/app.js", script, "a1", "let app;") },
        file("favicon.svg", "image/svg+xml", "f1", "<svg/>"),
        file(
            "sandbox/frame.html",
            "text/html; charset=utf-8",
            "s1",
            "<script src=\"/sandbox/frame.js\"></script>",
        ),
        file("sandbox/frame.js", script, "s2", "let frame;"),
    ])
}

async fn platform() -> Platform {
    Platform::with_console(files(), tokens_only).await
}

fn is_guarded(answer: &Answer) {
    for (name, value) in [
        ("content-security-policy", CSP),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=(self)"),
    ] {
        assert_eq!(answer.header(name), value, "{name}");
    }
}

#[tokio::test]
async fn the_consent_page_can_return_to_the_window_that_opened_it() {
    let p = platform().await;
    let page = p.nobody().get("/console/authorize?request=x").await.expect(200);
    assert_eq!(page.header("cross-origin-opener-policy"), "unsafe-none");
    assert_eq!(page.header("content-security-policy"), CSP, "it cannot be framed");
    assert_eq!(p.nobody().get("/console/tools").await.header("cross-origin-opener-policy"), "same-origin");
}

#[tokio::test]
async fn the_root_redirects_to_the_console() {
    let p = platform().await;
    for path in ["/", "/console"] {
        let answer = p.nobody().get(path).await.expect(303);
        assert_eq!(answer.header("location"), "/console/");
        is_guarded(&answer);
    }
}

#[tokio::test]
async fn files_are_served_and_every_other_path_is_the_page() {
    let p = platform().await;
    for path in ["/console/", "/console/index.html", "/console/apps/com.example.todo", "/console/a/b?c=d"] {
        let answer = p.nobody().get(path).await.expect(200);
        assert_eq!((answer.text.as_str(), answer.header("cache-control")), (PAGE, "no-cache"), "{path}");
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        is_guarded(&answer);
    }
    let script = p.nobody().get("/console/assets/app.js").await.expect(200);
    assert_eq!((script.text.as_str(), script.header("etag")), ("let app;", "\"a1\""));
    assert_eq!(script.header("cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(script.header("content-type"), "text/javascript; charset=utf-8");
    is_guarded(&script);
    let icon = p.nobody().get("/console/favicon.svg").await.expect(200);
    assert_eq!((icon.text.as_str(), icon.header("cache-control")), ("<svg/>", "no-cache"));
    let head = p.nobody().send(Method::HEAD, "/console/", None).await.expect(200);
    assert_eq!((head.text.as_str(), head.header("etag")), ("", "\"i1\""));
    p.nobody().send(Method::POST, "/console/", Some("{}".to_owned())).await.expect(405);
}

#[tokio::test]
async fn only_files_of_the_console_are_served() {
    let p = platform().await;
    for path in [
        "/console/../Cargo.toml",
        "/console/%2e%2e/%2e%2e/etc/passwd",
        "/console/..%2f..%2fetc%2fpasswd",
        "/console//etc/passwd",
        "/console/%00",
        "/console/%ff",
        "/console/assets%2fapp.js",
        "/console/favicon.svg/",
        "/console/FAVICON.svg",
        "/console/C:\\x",
    ] {
        let answer = p.nobody().get(path).await.expect(200);
        assert_eq!(answer.text, PAGE, "{path}");
        is_guarded(&answer);
    }
    // Not the page: a missing script must not become HTML. The sandbox has its own headers.
    for path in [
        "/console/assets/old.js",
        "/console/assets/../index.html",
        "/console/assets/%2e%2e/index.html",
        "/console/sandbox/frame.html",
    ] {
        let answer = p.nobody().get(path).await.expect(404);
        assert_eq!(answer.code(), "NOT_FOUND", "{path}");
        is_guarded(&answer);
    }
}

#[tokio::test]
async fn files_are_cached_and_compressed() {
    let p = platform().await;
    let packed =
        p.nobody().header("accept-encoding", "gzip, br").get("/console/assets/app.js").await.expect(200);
    assert_eq!((packed.text.as_str(), packed.header("content-encoding")), ("packed", "br"));
    assert_eq!((packed.header("etag"), packed.header("vary")), ("\"a1-br\"", "Accept-Encoding"));
    let refused =
        p.nobody().header("accept-encoding", "br;q=0").get("/console/assets/app.js").await.expect(200);
    assert_eq!((refused.text.as_str(), refused.header("content-encoding")), ("let app;", ""));
    // There is no compressed form of the page.
    let page = p.nobody().header("accept-encoding", "br").get("/console/").await.expect(200);
    assert_eq!((page.text.as_str(), page.header("content-encoding")), (PAGE, ""));

    let same = p.nobody().header("if-none-match", "\"i1\"").get("/console/").await.expect(304);
    assert_eq!(
        (same.text.as_str(), same.header("etag"), same.header("cache-control")),
        ("", "\"i1\"", "no-cache")
    );
    is_guarded(&same);
    p.nobody().header("if-none-match", "\"i0\"").get("/console/").await.expect(200);
    // The plain form has another ETag than the compressed one.
    let plain =
        p.nobody().header("if-none-match", "\"a1-br\"").get("/console/assets/app.js").await.expect(200);
    assert_eq!(plain.text, "let app;");
}

#[tokio::test]
async fn without_a_built_console_a_page_explains_how_to_build_it() {
    let p = Platform::start().await;
    for path in ["/console/", "/console/chat"] {
        let answer = p.nobody().get(path).await.expect(200);
        assert!(answer.text.contains("make run") && answer.text.contains("npm run build"), "{}", answer.text);
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        is_guarded(&answer);
    }
    p.nobody().get("/console/assets/app.js").await.expect(404);
    assert_eq!(p.nobody().get("/sandbox/frame").await.expect(404).code(), "NOT_FOUND");
}

#[tokio::test]
async fn a_frame_reaches_the_hosts_that_are_named_and_no_others() {
    let p = platform().await;
    let policy = async |query: &str| {
        let answer = p.nobody().get(&format!("/sandbox/frame{query}")).await.expect(200);
        assert!(answer.text.contains("/sandbox/frame.js"));
        assert_eq!(
            (answer.header("x-content-type-options"), answer.header("referrer-policy")),
            ("nosniff", "no-referrer")
        );
        answer.header("content-security-policy").to_owned()
    };
    let with = |connect: &str| {
        format!(
            "sandbox allow-scripts; default-src 'none'; script-src 'self' 'unsafe-eval' blob:; worker-src blob:; \
             connect-src {connect}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
        )
    };
    assert_eq!(policy("").await, with("'none'"));
    assert_eq!(policy("?connect=").await, with("'none'"));
    assert_eq!(
        policy("?connect=api.example.com,*.example.org").await,
        with("https://api.example.com https://*.example.org")
    );
    for bad in [
        "*",
        "a;script-src%20*",
        "https://a.example",
        "127.0.0.1",
        "a.example,",
        "a%0d%0aset-cookie:x",
        "%ff",
    ] {
        let answer = p.nobody().get(&format!("/sandbox/frame?connect={bad}")).await.expect(400);
        assert_eq!(
            (answer.code().as_str(), answer.header("content-security-policy")),
            ("INVALID_REQUEST", ""),
            "{bad}"
        );
    }
    let many = vec!["a.example"; 17].join(",");
    p.nobody().get(&format!("/sandbox/frame?connect={many}")).await.expect(400);
    p.nobody().get("/sandbox/frame?connect=a.example&connect=b.example").await.expect(400);

    let program = p.nobody().get("/sandbox/frame.js").await.expect(200);
    assert_eq!(
        (program.text.as_str(), program.header("content-type")),
        ("let frame;", "text/javascript; charset=utf-8")
    );
    assert_eq!(program.header("cross-origin-resource-policy"), "cross-origin");
    assert_eq!(program.header("cache-control"), "no-cache");
}
