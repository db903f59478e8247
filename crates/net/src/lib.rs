//! Every request that leaves the platform goes through this crate. It knows nothing about tools, users or apps.
//!
//! | module | what it answers |
//! | --- | --- |
//! | `range` | which addresses does `10.1.0.0/16` mean? |
//! | `address` | what kind of address is this, whatever form it is written in? |
//! | `guard` | may we call this address? |
//! | `outside_url` | is this a URL that we may call, and what is the full address of its endpoints? |
//! | `connect` | resolve a name, check each address, dial exactly the address that was checked |
//! | `tcp` | the dialed stream, as hyper wants it |
//! | `client` | send one request over a kept-alive connection |
//! | `referral` | which client may call an address that another server names? |
//! | `response` | read the answer within a limit, whole or line by line |
//! | `events` | read the answer as server-sent events |
//! | `error` | was the request refused, surely not sent, or perhaps sent? |
//! | `sign` | prove to an app that a request is ours |
//! | `testing` | a server on this machine in place of a host: only with that feature, only for tests |
//!
//! What is deliberately absent: redirects, proxies from the environment, retries after a request was written,
//! a time limit for the whole request (the caller has a deadline), and HTTP/2.

mod address;
mod client;
mod connect;
mod dial;
mod error;
mod events;
mod guard;
mod outside_url;
mod range;
mod referral;
mod response;
mod sign;
mod tcp;
#[cfg(feature = "testing")]
mod testing;

pub use address::AddressKind;
pub use client::{ClientSettings, HttpClient};
pub use dial::{DialedStream, GuardedDialer};
pub use error::{NetError, NotSent};
pub use events::{SseEvent, SseStream};
pub use guard::{Guard, GuardPolicy};
pub use outside_url::{MAX_URL_LENGTH, OutsideUrl, UrlRefused, url_host, url_origin};
pub use range::{IpRange, IpRangeError};
pub use referral::ReferralClients;
pub use response::{HttpResponse, ResponseLines};
pub use sign::{MAX_SIGNATURES, SIGNATURE_HEADER, SignatureError, SigningKey, TIMESTAMP_HEADER, sign_all};
#[cfg(feature = "testing")]
pub use testing::StandIn;
