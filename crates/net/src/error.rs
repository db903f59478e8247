//! Errors of a request, sorted by the question that decides about a retry: can the peer have seen it?

use std::error::Error;
use std::fmt::Write as _;
use std::time::Duration;

use hyper_util::client::legacy;

use crate::connect::DialFailure;
use crate::outside_url::UrlRefused;

/// Why there is no (complete) response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// Rejected by the guard; nothing was sent.
    #[error(transparent)]
    Refused(#[from] UrlRefused),
    /// The peer certainly has not seen the request.
    #[error(transparent)]
    NotSent(#[from] NotSent),
    /// The request was sent, but the response is missing or not HTTP. The peer may have acted on it.
    #[error("the connection broke before the full response arrived ({detail})")]
    Broken { detail: String },
    /// The response exceeds the limit. The peer has acted on the request.
    #[error("the response is larger than {limit} bytes")]
    TooLarge { limit: usize },
}

/// Why a request was never sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    #[error("the name `{host}` was not found ({detail})")]
    NameNotFound { host: String, detail: String },
    #[error("no connection to `{host}` ({detail})")]
    NoConnection { host: String, detail: String },
    #[error("the TLS handshake failed ({detail})")]
    Tls { detail: String },
    #[error("no connection within {0:?}")]
    ConnectTimeout(Duration),
    #[error("the connection closed before the request was written ({detail})")]
    Closed { detail: String },
    #[error("this request cannot be sent ({detail})")]
    BadRequest { detail: String },
}

impl NetError {
    /// Classifies an error of the client, which hides its kind, by where it happened.
    pub(crate) fn from_send(error: &legacy::Error) -> Self {
        let cause = error.source();
        if let Some(refused) = cause.and_then(|cause| cause.downcast_ref::<DialFailure>()) {
            return refused.clone().into();
        }
        let detail = error_chain(error);
        match cause.and_then(|cause| cause.downcast_ref::<hyper::Error>()) {
            // There was no connection to write the request to, or it was returned unwritten.
            _ if error.is_connect() => NotSent::Closed { detail }.into(),
            Some(_) if error.connect_info().is_none() => NotSent::Closed { detail }.into(),
            Some(hyper) if hyper.is_canceled() => NotSent::Closed { detail }.into(),
            Some(_) => Self::Broken { detail },
            // The client checks method, version and URI before it uses a connection.
            None => NotSent::BadRequest { detail }.into(),
        }
    }

    /// The error, and what the developer of the server behind `url` can do about it.
    pub fn advice(&self, url: &str) -> String {
        match self {
            Self::NotSent(reason) => format!(
                "{reason}. Is it running, does it listen on the host and port of that address, and is its publicUrl \
                 right? Test it on the machine of this server with `curl -i -X POST {url}`"
            ),
            Self::Refused(_) | Self::Broken { .. } | Self::TooLarge { .. } => self.to_string(),
        }
    }

    /// An error while reading the response: the request was sent.
    pub(crate) fn from_body(error: &hyper::Error) -> Self {
        Self::Broken { detail: error_chain(error) }
    }
}

impl From<DialFailure> for NetError {
    fn from(error: DialFailure) -> Self {
        match error {
            DialFailure::Refused(refused) => Self::Refused(refused),
            DialFailure::NotSent(reason) => Self::NotSent(reason),
        }
    }
}

/// The error and its causes in one line; hyper's outermost message alone says very little.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let _ = write!(text, ": {cause}");
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_chain_names_every_cause() {
        assert_eq!(error_chain(&Outer(std::io::Error::other("inner"))), "outer: inner");
    }
}
