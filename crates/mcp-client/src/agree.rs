//! Finds out which era and which revision a server speaks.
//!
//! A server of the modern era answers `server/discover`, or refuses it in words that only a modern server knows. Anything
//! else, silence included, is a server that wants a handshake.

use std::pin::pin;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::timeout;
use toolyard_protocol::{
    mcp::{Revision, RpcError, method},
    raw::to_raw,
};

use crate::{
    error::ClientError,
    limits::Limits,
    options::Era,
    request::{Hello, Leave, RequestOptions},
    server::Server,
    wire::Wire,
};

/// Agrees on a revision with a server.
pub(crate) async fn agree(wire: &Wire, era: Era, limits: &Limits) -> Result<Server, ClientError> {
    match era {
        Era::Handshake => handshake(wire, Revision::NEWEST_HANDSHAKE).await,
        Era::Modern => match discover(wire).await? {
            Found::Modern(server) => Ok(server),
            Found::Handshake(revision) => {
                Err(ClientError::NoCommonRevision { offered: vec![revision.to_string()] })
            }
        },
        Era::Either => probe(wire, limits).await,
    }
}

async fn probe(wire: &Wire, limits: &Limits) -> Result<Server, ClientError> {
    let mut discovering = pin!(discover(wire));
    if let Ok(found) = timeout(limits.probe, &mut discovering).await {
        return settle(wire, found).await;
    }
    tracing::debug!("the server is silent on `server/discover`; trying the handshake");
    // It may as well be a modern server that starts slowly: whoever answers well first decides.
    let mut handshake = pin!(handshake(wire, Revision::NEWEST_HANDSHAKE));
    let refused = tokio::select! {
        biased;
        found = &mut discovering => match found {
            Ok(Found::Modern(server)) => return Ok(server),
            _ => return handshake.await,
        },
        server = &mut handshake => match server {
            Ok(server) => return Ok(server),
            Err(error) => error,
        },
    };
    match timeout(limits.probe, discovering).await {
        Ok(Ok(Found::Modern(server))) => Ok(server),
        _ => Err(refused),
    }
}

/// Goes on after an answer to the probe.
async fn settle(wire: &Wire, found: Result<Found, ClientError>) -> Result<Server, ClientError> {
    match found {
        Ok(Found::Modern(server)) => Ok(server),
        Ok(Found::Handshake(revision)) => handshake(wire, revision).await,
        Err(error) if means_handshake(&error) => {
            tracing::debug!(%error, "the server does not know `server/discover`; trying the handshake");
            handshake(wire, Revision::NEWEST_HANDSHAKE).await
        }
        Err(error) => Err(error),
    }
}

/// Whether a refusal of the probe may come from a server that wants a handshake.
fn means_handshake(error: &ClientError) -> bool {
    match error {
        ClientError::Rpc(error) => !matches!(
            error.code,
            RpcError::HEADER_MISMATCH | RpcError::MISSING_CAPABILITY | RpcError::UNSUPPORTED_VERSION
        ),
        ClientError::Status { .. }
        | ClientError::Malformed(_)
        | ClientError::PerhapsSent(_)
        | ClientError::Timeout(_) => true,
        ClientError::NotSent(_)
        | ClientError::AuthorizationNeeded { .. }
        | ClientError::Credentials(_)
        | ClientError::Closed(_)
        | ClientError::SessionLost(_)
        | ClientError::NoCommonRevision { .. }
        | ClientError::Invalid(_) => false,
    }
}

/// What the probe found.
enum Found {
    Modern(Server),
    /// It names revisions, and only those with a handshake are ours as well.
    Handshake(Revision),
}

async fn discover(wire: &Wire) -> Result<Found, ClientError> {
    let first = Revision::NEWEST;
    let result = match ask(wire, Some(first), method::DISCOVER, None).await {
        Err(ClientError::Rpc(error)) if error.code == RpcError::UNSUPPORTED_VERSION => {
            // Once more also where it names the one that was just refused: then it was not the version.
            match pick(&supported(&error))? {
                revision if revision.is_modern() => ask(wire, Some(revision), method::DISCOVER, None).await?,
                revision => return Ok(Found::Handshake(revision)),
            }
        }
        other => other?,
    };
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered {
        supported_versions: Vec<String>,
    }
    let discovered: Discovered = serde_json::from_str(result.get())
        .map_err(|error| ClientError::Malformed(format!("the answer to `server/discover`: {error}")))?;
    match pick(&discovered.supported_versions)? {
        revision if revision.is_modern() => {
            if let Some(http) = wire.http() {
                http.agreed(revision);
            }
            Ok(Found::Modern(Server::read(revision, result)?))
        }
        revision => Ok(Found::Handshake(revision)),
    }
}

/// The newest revision that both sides speak.
fn pick(offered: &[String]) -> Result<Revision, ClientError> {
    let known = offered.iter().filter_map(|text| text.parse::<Revision>().ok());
    known.max().ok_or_else(|| ClientError::NoCommonRevision { offered: offered.to_vec() })
}

fn supported(error: &RpcError) -> Vec<String> {
    #[derive(Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    let data = error.data.as_ref().and_then(|data| serde_json::from_str::<Data>(data.get()).ok());
    data.map(|data| data.supported).unwrap_or_default()
}

/// Opens a session: `initialize`, its answer, `notifications/initialized`.
pub(crate) async fn handshake(wire: &Wire, newest: Revision) -> Result<Server, ClientError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialize<'a> {
        protocol_version: &'a str,
        capabilities: &'a RawValue,
        client_info: &'a RawValue,
    }
    let Hello { info, capabilities } = wire.hello();
    let params = to_raw(&Initialize { protocol_version: newest.as_str(), capabilities, client_info: info });
    let result = ask(wire, None, method::INITIALIZE, Some(&params)).await?;
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: String,
    }
    let agreed: Initialized = serde_json::from_str(result.get())
        .map_err(|error| ClientError::Malformed(format!("the answer to `initialize`: {error}")))?;
    let revision = agreed.protocol_version.parse().ok().filter(|revision: &Revision| !revision.is_modern());
    let revision =
        revision.ok_or_else(|| ClientError::NoCommonRevision { offered: vec![agreed.protocol_version] })?;
    let server = Server::read(revision, result)?;
    if let Some(http) = wire.http() {
        http.agreed(revision);
    }
    wire.hub().allow_asks();
    wire.notify(method::INITIALIZED, None).await?;
    Ok(server)
}

async fn ask(
    wire: &Wire,
    revision: Option<Revision>,
    method: &str,
    params: Option<&RawValue>,
) -> Result<Box<RawValue>, ClientError> {
    let mut call = wire.make(revision, method, params, RequestOptions::default())?;
    call.leave = Leave::Silent;
    wire.exchange(call).await.map_err(|failed| failed.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_revision_of_both_is_picked() {
        let pick = |offered: &[&str]| pick(&offered.iter().map(|&o| o.to_owned()).collect::<Vec<_>>());
        assert_eq!(pick(&["2025-06-18", "2026-07-28", "2099-01-01"]).unwrap(), Revision::V2026_07_28);
        assert_eq!(pick(&["2025-06-18", "2024-11-05"]).unwrap(), Revision::V2025_06_18);
        let none = pick(&["2099-01-01", "2098-01-01"]).unwrap_err().to_string();
        assert_eq!(none, "the server speaks 2099-01-01, 2098-01-01, and this client none of these");
        assert!(pick(&[]).is_err());
    }
}
