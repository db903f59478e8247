//! Texts that are redirect URIs, and texts that are not.

use super::*;

#[test]
fn redirects_of_real_clients_are_allowed() {
    for good in [
        "https://claude.ai/api/mcp/auth_callback",
        "https://chatgpt.com/connector/oauth/abc_DEF-1",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418",
        "http://localhost:8787/callback",
        "http://[::1]:3000/cb",
        "cursor://anysphere.cursor-deeplink/mcp/oauth/callback",
        "vscode://vscode.mcp/callback?windowId=1",
        "com.example.app:/oauth2redirect",
        "myapp:///cb",
        "https://a.example:8443/cb?tenant=a%20b",
        "https://xn--bcher-kva.example/cb",
    ] {
        assert_eq!(check_redirect(good), Ok(()), "{good}");
    }
}

#[test]
fn everything_else_is_refused_with_the_reason() {
    use RedirectError as E;
    let long = format!("https://a.example/{}", "x".repeat(MAX_REDIRECT_BYTES));
    for (bad, expected) in [
        ("", E::Length),
        (long.as_str(), E::Length),
        ("https://a.example/cb#", E::Fragment),
        ("https://a.example/c b", E::Character),
        ("https://a.example\\@b.example/", E::Character),
        ("https://bücher.example/cb", E::Character),
        ("https://a.example/%zz", E::Character),
        ("https://a.example/cb\u{202e}", E::Character),
        ("/cb", E::NotAbsolute),
        ("https:a.example/cb", E::NotAbsolute),
        ("https:/a.example/cb", E::NotAbsolute),
        ("https:///a.example/cb", E::Host),
        ("https://a%2eexample/cb", E::Host),
        ("https://A.example/cb", E::Host),
        ("HTTPS://a.example/cb", E::Host),
        ("https://*", E::Host),
        ("https://*.a.example/cb", E::Host),
        ("myapp://*/cb", E::Host),
        ("https://a.example:/cb", E::Host),
        ("https://a.example:0443/cb", E::Host),
        ("https://a.example:0/cb", E::Host),
        ("https://ada@a.example/cb", E::UserInfo),
        ("https://@a.example/cb", E::UserInfo),
        ("https://a.example:80@b.example/cb", E::UserInfo),
        ("http://a.example/cb", E::Insecure),
        ("http://127.0.0.2/cb", E::Insecure),
        ("http://localhost.a.example/cb", E::Insecure),
        ("http://localhost./cb", E::Insecure),
        ("http://0.0.0.0/cb", E::Insecure),
        ("http://0x7f000001/cb", E::Host),
        ("http://127.1/cb", E::Host),
        ("http://[0:0:0:0:0:0:0:1]/cb", E::Host),
        ("http://LOCALHOST/cb", E::Host),
        ("javascript:alert(1)", E::Scheme),
        ("JavaScript:alert(1)", E::Scheme),
        ("data:text/html,x", E::Scheme),
        ("file:///etc/passwd", E::Scheme),
        ("blob:https://a.example/x", E::Scheme),
        ("about:blank", E::Scheme),
        ("vbscript:x", E::Scheme),
        ("ws://localhost/cb", E::Scheme),
        ("wss://a.example/cb", E::Scheme),
        ("ftp://a.example/cb", E::Scheme),
        ("intent://scan/#Intent", E::Fragment),
        ("c:/windows", E::Scheme),
        ("Cursor://a/cb", E::Host),
        ("urn:ietf:wg:oauth:2.0:oob", E::NotAbsolute),
        ("myapp:cb", E::NotAbsolute),
        ("myapp://", E::NotAbsolute),
        ("https://a.example/x/../cb", E::DotSegment),
        ("https://a.example/x/%2E%2e/cb", E::DotSegment),
        ("https://a.example/x%2f..%2Fcb", E::DotSegment),
        ("https://a.example/./cb", E::DotSegment),
        ("https://a.example/cb?code=mine", E::ResponseParameter),
        ("https://a.example/cb?x=1&%73tate=mine", E::ResponseParameter),
    ] {
        assert_eq!(check_redirect(bad), Err(expected), "{bad}");
    }
}

#[test]
fn a_uri_is_split_as_text() {
    let parts = split_redirect("http://[::1]:80/a?b");
    let expected = RedirectParts { scheme: "http", host: Some("[::1]"), port: Some("80"), rest: "/a?b" };
    assert_eq!(parts, expected);
    let parts = split_redirect("com.example:/a");
    assert_eq!(parts, RedirectParts { scheme: "com.example", host: None, port: None, rest: "/a" });
}
