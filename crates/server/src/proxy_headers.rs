//! Requests that came through a proxy. In dev mode every caller of this machine is trusted, so a proxy on this machine
//! would hand that trust to everyone it serves. Nothing a proxy leaves out can be noticed here; what it adds is.

use http::HeaderMap;

/// Headers that only proxies, tunnels and content delivery networks add.
const NAMES: [&str; 16] = [
    "forwarded",
    "via",
    "cdn-loop",
    "client-ip",
    "true-client-ip",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-originating-ip",
    "x-remote-ip",
    "x-remote-addr",
    "x-proxyuser-ip",
    "x-amzn-trace-id",
    "x-arr-ssl",
    "x-scheme",
    "x-original-host",
];

/// Beginnings of names of such headers.
const PREFIXES: [&str; 14] = [
    "x-forwarded",
    "x-original-forwarded",
    "x-envoy-",
    "x-azure-",
    "x-amz-cf-",
    "x-vercel-",
    "x-appengine-",
    "x-akamai-",
    "akamai-",
    "cf-",
    "cloudfront-",
    "fastly-",
    "fly-",
    "tailscale-",
];

/// A header that says that the request came through a proxy.
pub(crate) fn proxy_header(headers: &HeaderMap) -> Option<&str> {
    headers
        .keys()
        .map(http::HeaderName::as_str)
        .find(|name| NAMES.contains(name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// What to tell someone whose request has such a header, in dev mode.
pub(crate) fn proxy_refusal_message(header: &str) -> String {
    format!(
        "this server is in dev mode, which trusts every caller on this machine, and this request came through a proxy \
         (header `{header}`). To serve others, set auth.mode = \"token\" and server.public_url to the address of the \
         proxy, then make tokens with `toolyard token`; to stay in dev mode, call this server directly"
    )
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    #[test]
    fn proxies_are_known_by_what_they_add() {
        for name in [
            "Forwarded",
            "Via",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "X-Forwarded-Proto",
            "X-Real-IP",
            "CF-Connecting-IP",
            "CF-Ray",
            "True-Client-IP",
            "Fastly-Client-IP",
            "Fly-Client-IP",
            "CDN-Loop",
            "X-Amz-Cf-Id",
            "CloudFront-Viewer-Address",
            "X-Envoy-External-Address",
            "Tailscale-User-Login",
        ] {
            let name: HeaderName = name.parse().unwrap();
            let headers = HeaderMap::from_iter([(name.clone(), http::HeaderValue::from_static("x"))]);
            assert_eq!(proxy_header(&headers), Some(name.as_str()));
        }
        for name in
            ["host", "origin", "user-agent", "accept", "authorization", "x-user-id", "traceparent", "cookie"]
        {
            let headers =
                HeaderMap::from_iter([(HeaderName::from_static(name), http::HeaderValue::from_static("x"))]);
            assert_eq!(proxy_header(&headers), None);
        }
    }
}
