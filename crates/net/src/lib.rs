//! Every outbound request goes through this crate, except those to models. It knows nothing about tools, users or apps.
//!
//! | module | what it does |
//! | --- | --- |
//! | `range` | address ranges such as `10.1.0.0/16` |
//! | `address` | the kind of an address, in any notation |
//! | `guard` | which addresses may be called |
//! | `outside_url` | checked URLs and their endpoints |
//! | `connect` | resolves a name, checks each address, dials exactly a checked address |
//! | `tcp` | the dialed stream for hyper |
//! | `client` | sends one request over a kept-alive connection |
//! | `referral` | which client may call a URL that another server names |
//! | `response` | reads a response within a limit: whole, in pieces or line by line |
//! | `lines` | splits bytes into bounded lines, for everything in the workspace that reads lines |
//! | `events` | reads a response as server-sent events |
//! | `error` | whether a request was rejected, not sent, or possibly sent |
//! | `sign` | signs requests to apps |
//! | `testing` | a local server in place of a host: only with that feature, for tests |
//!
//! Deliberately not supported: redirects, proxies from the environment, retries after a request was written,
//! a total timeout (the caller has a deadline), and HTTP/2.

mod address;
mod client;
mod connect;
mod dial;
mod error;
mod events;
mod guard;
mod lines;
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
pub use lines::{LineEnding, LineReadError, LineReader, LineSplitter, LongLine};
pub use outside_url::{MAX_URL_LENGTH, OutsideUrl, UrlRefused, url_host, url_origin};
pub use range::{IpRange, IpRangeError};
pub use referral::ReferralClients;
pub use response::{HttpResponse, ResponseChunks, ResponseLines};
pub use sign::{MAX_SIGNATURES, SIGNATURE_HEADER, SignatureError, SigningKey, TIMESTAMP_HEADER, sign_all};
#[cfg(feature = "testing")]
pub use testing::StandIn;
