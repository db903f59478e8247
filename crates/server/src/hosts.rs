//! Host and Origin are checked on the whole router, sockets included: a web page must not reach a server on loopback by
//! a name of its own (DNS rebinding), nor use a user's network position from another origin.

use std::{
    collections::HashSet,
    convert::Infallible,
    future::{Ready, ready},
    sync::Arc,
};

use axum::{
    Router,
    response::{IntoResponse as _, Response},
    routing::future::RouteFuture,
};
use futures_util::future::Either;
use http::{HeaderMap, Request, header, uri::Authority};
use hyper::body::Incoming;
use toolyard_protocol::api::ApiErrorCode;

use crate::{config::ServerConfig, error::Failure};

/// Who may be talked to, and from where.
#[derive(Debug)]
pub(crate) struct Hosts {
    hosts: HashSet<String>,
    origins: HashSet<String>,
}

impl Hosts {
    pub(crate) fn new(config: &ServerConfig) -> Self {
        let mut hosts: HashSet<String> = config.hosts.iter().map(|host| host.to_lowercase()).collect();
        if config.listen.ip().is_loopback() {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        } else if !config.listen.ip().is_unspecified() {
            hosts.insert(match config.listen.ip() {
                std::net::IpAddr::V4(ip) => ip.to_string(),
                std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        let public = config.public_url.as_deref().and_then(|url| url.parse::<http::Uri>().ok());
        hosts.extend(public.as_ref().and_then(|url| url.host()).map(str::to_lowercase));
        let mut origins: HashSet<String> = config.origins.iter().map(|origin| tidy(origin)).collect();
        origins.extend(config.public_url.as_deref().map(tidy));
        Self { hosts, origins }
    }

    /// Whether the request names one of our hosts, and comes from one of our origins, if it names any.
    pub(crate) fn check(
        &self,
        headers: &HeaderMap,
        authority: Option<&Authority>,
    ) -> Result<(), &'static str> {
        let named = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = match (named, authority) {
            (Some(host), _) => host.parse::<Authority>().map_err(|_| "the Host header is malformed")?,
            (None, Some(authority)) => authority.clone(),
            (None, None) => return Err("the Host header is missing"),
        };
        if !self.hosts.contains(&host.host().to_lowercase()) {
            return Err(
                "this server does not answer under that Host; the operator can add it to server.hosts",
            );
        }
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().map(tidy).unwrap_or_default();
        // A page of this very server; which scheme a proxy in front of us uses, only the public URL says.
        let own = origin == format!("http://{}", host.as_str().to_lowercase());
        if own || self.origins.contains(&origin) {
            return Ok(());
        }
        Err("this Origin may not use the server; the operator can add it to server.origins")
    }
}

fn tidy(origin: &str) -> String {
    origin.trim_end_matches('/').to_lowercase()
}

/// The router behind the check. A plain service and no layer: it stands before every request, so it costs no box.
#[derive(Clone)]
pub(crate) struct Checked {
    hosts: Arc<Hosts>,
    router: Router,
}

impl Checked {
    pub(crate) fn new(hosts: Hosts, router: Router) -> Self {
        Self { hosts: Arc::new(hosts), router }
    }
}

impl hyper::service::Service<Request<Incoming>> for Checked {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Ready<Result<Response, Infallible>>, RouteFuture<Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        match self.hosts.check(request.headers(), request.uri().authority()) {
            Ok(()) => Either::Right(tower_service::Service::call(&mut self.router.clone(), request)),
            Err(why) => Either::Left(ready(Ok(Failure::new(ApiErrorCode::Forbidden, why).into_response()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: &ServerConfig, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        Hosts::new(config).check(&headers, None).is_ok()
    }

    #[test]
    fn only_our_own_names_and_origins() {
        let config = ServerConfig {
            public_url: Some("https://tools.example.com".into()),
            origins: vec!["https://console.example.com/".into()],
            ..ServerConfig::default()
        };
        assert!(check(&config, "127.0.0.1:8787", None));
        assert!(check(&config, "LOCALHOST:1", None));
        assert!(check(&config, "[::1]:8787", None));
        assert!(check(&config, "tools.example.com", Some("https://tools.example.com")));
        assert!(check(&config, "localhost:8787", Some("http://localhost:8787")));
        assert!(check(&config, "localhost:8787", Some("https://console.example.com")));
        assert!(!check(&config, "evil.example", None));
        assert!(!check(&config, "localhost:8787", Some("https://evil.example")));
        assert!(!check(&config, "localhost:8787", Some("http://localhost:9999")));
        assert!(!check(&config, "localhost:8787", Some("null")));
        assert!(!check(&config, "localhost@evil.example", None));
    }
}
