//! Near-misses of registered redirect URIs. All end on a page: nothing is ever sent to the address.

use toolyard_authorization::{
    authorize::{AuthorizePageError, AuthorizeRefusal},
    redirect::{RedirectError, RedirectError as E},
};

use crate::authorize::validate;

/// Registered: `https://client.example/cb`, `https://client.example/Path?fixed=1`, `http://localhost/cb`, `cursor://app/cb`.
pub(crate) const ATTACKS: &[(&str, &str, RedirectError)] = &[
    ("prefix of a registered URI", "https://client.example/c", E::NotRegistered),
    ("suffix after a registered URI", "https://client.example/cb2", E::NotRegistered),
    ("deeper path", "https://client.example/cb/evil", E::NotRegistered),
    ("trailing slash", "https://client.example/cb/", E::NotRegistered),
    ("extra query", "https://client.example/cb?next=https://evil.example", E::NotRegistered),
    ("empty query", "https://client.example/cb?", E::NotRegistered),
    ("other value of a fixed query", "https://client.example/Path?fixed=2", E::NotRegistered),
    ("appended to a fixed query", "https://client.example/Path?fixed=1&next=x", E::NotRegistered),
    ("missing fixed query", "https://client.example/Path", E::NotRegistered),
    ("case of the path", "https://client.example/CB", E::NotRegistered),
    ("case of the host", "https://CLIENT.example/cb", E::Host),
    ("case of the scheme", "HTTPS://client.example/cb", E::Host),
    ("encoded path character", "https://client.example/%63b", E::NotRegistered),
    ("encoded host character", "https://%63lient.example/cb", E::Host),
    ("path traversal", "https://client.example/cb/../evil", E::DotSegment),
    ("encoded path traversal", "https://client.example/cb/%2e%2e/evil", E::DotSegment),
    ("traversal with an encoded slash", "https://client.example/cb%2f..%2fevil", E::DotSegment),
    ("traversal with an encoded backslash", "https://client.example/cb%5c..%5cevil", E::DotSegment),
    ("double slash", "https://client.example//cb", E::NotRegistered),
    ("default port", "https://client.example:443/cb", E::NotRegistered),
    ("other port", "https://client.example:8443/cb", E::NotRegistered),
    ("subdomain", "https://evil.client.example/cb", E::NotRegistered),
    ("host as a prefix", "https://client.example.evil.example/cb", E::NotRegistered),
    ("host as a user name", "https://client.example@evil.example/cb", E::UserInfo),
    ("host as a password", "https://x:client.example@evil.example/cb", E::UserInfo),
    ("backslash before an @", "https://client.example\\@evil.example/cb", E::Character),
    ("backslash as a slash", "https:\\\\client.example\\cb", E::Character),
    ("fragment", "https://client.example/cb#evil", E::Fragment),
    ("punycode look-alike", "https://xn--clint-dta.example/cb", E::NotRegistered),
    ("Unicode look-alike", "https://cli\u{435}nt.example/cb", E::Character),
    ("full-width dot", "https://client\u{ff0e}example/cb", E::Character),
    ("zero-width character", "https://client.example/cb\u{200b}", E::Character),
    ("right-to-left override", "https://client.example/\u{202e}cb", E::Character),
    ("line break", "https://client.example/cb\r\nSet-Cookie: a=b", E::Character),
    ("tab inside of the scheme", "java\tscript:alert(1)", E::Character),
    ("trailing dot of the host", "https://client.example./cb", E::NotRegistered),
    ("without slashes", "https:client.example/cb", E::NotAbsolute),
    ("relative to the scheme", "//evil.example/cb", E::NotAbsolute),
    ("downgrade to http", "http://client.example/cb", E::Insecure),
    ("downgrade to a web socket", "ws://client.example/cb", E::Scheme),
    ("script", "javascript:alert(document.domain)//https://client.example/cb", E::Scheme),
    ("data", "data:text/html,<script>alert(1)</script>", E::Character),
    ("file", "file:///client.example/cb", E::Scheme),
    ("blob", "blob:https://client.example/cb", E::Scheme),
    ("view-source", "view-source:https://client.example/cb", E::Scheme),
    ("search of Windows", "search-ms:/query", E::Scheme),
    ("Word of Office", "ms-word:/client.example/x", E::Scheme),
    ("tools of Windows", "ms-msdt:/id", E::Scheme),
    ("loopback by address instead of name", "http://127.0.0.1:5000/cb", E::NotRegistered),
    ("loopback with another path", "http://localhost:5000/cb/evil", E::NotRegistered),
    ("loopback over https", "https://localhost:5000/cb", E::NotRegistered),
    ("loopback as a subdomain", "http://localhost.evil.example/cb", E::Insecure),
    ("loopback with a user name", "http://localhost:5000@evil.example/cb", E::UserInfo),
    ("loopback by another spelling", "http://127.1:5000/cb", E::Host),
    ("all interfaces", "http://0.0.0.0:5000/cb", E::Insecure),
    ("loopback with a long port", "http://localhost:99999/cb", E::NotAbsolute),
    ("app scheme with another host", "cursor://evil/cb", E::NotRegistered),
    ("app scheme with a port", "cursor://app:1/cb", E::NotRegistered),
    ("app scheme in upper case", "CURSOR://app/cb", E::Host),
    ("out of band", "urn:ietf:wg:oauth:2.0:oob", E::NotAbsolute),
    ("own code in the query", "https://client.example/cb?code=attacker", E::ResponseParameter),
    ("own issuer in the query", "https://client.example/cb?iss=https://evil.example", E::ResponseParameter),
];

#[test]
fn near_misses_are_shown_and_never_redirected() {
    for (name, uri, expected) in ATTACKS {
        let refused = validate(&[("redirect_uri", uri)]).unwrap_err();
        assert_eq!(refused, AuthorizeRefusal::Page(AuthorizePageError::Redirect(*expected)), "{name}: {uri}");
    }
    let long = format!("https://client.example/cb?{}", "x".repeat(5_000));
    let refused = validate(&[("redirect_uri", &long)]).unwrap_err();
    assert!(matches!(refused, AuthorizeRefusal::Page(AuthorizePageError::Parameter(_))));
}

#[test]
fn what_is_registered_still_works() {
    for uri in [
        "https://client.example/cb",
        "https://client.example/Path?fixed=1",
        "http://localhost:5000/cb",
        "cursor://app/cb",
    ] {
        assert_eq!(validate(&[("redirect_uri", uri)]).unwrap().redirect_uri.as_str(), uri);
    }
}
