//! Detects requests that came through a proxy. Dev mode trusts every caller on this machine, so a proxy on this machine would
//! extend that trust to all of its clients. A proxy that adds no header cannot be detected.

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

/// Prefixes of such headers.
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

/// The first header that shows that the request came through a proxy.
pub(crate) fn proxy_header(headers: &HeaderMap) -> Option<&str> {
    headers
        .keys()
        .map(http::HeaderName::as_str)
        .find(|name| NAMES.contains(name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// The error text for such a request in dev mode.
pub(crate) fn proxy_refusal_message(header: &str) -> String {
    format!(
        "this server is in dev mode, which trusts every caller on this machine, and this request came through a proxy \
         (header `{header}`). To serve others, set auth.mode = \"token\" and server.public_url to the address of the \
         proxy, then create tokens with `toolyard token`; to stay in dev mode, call this server directly"
    )
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    #[test]
    fn proxies_are_detected_by_the_headers_they_add() {
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
