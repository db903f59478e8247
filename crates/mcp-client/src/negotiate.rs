//! Determines the era and the revision of a server.
//!
//! A modern server answers `server/discover`, or refuses it with an error that only modern servers use. Any other
//! response, or none, means that the server needs a handshake.

use std::pin::pin;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::timeout;
use toolyard_protocol::{
    mcp::{McpRevision, RpcError, method},
    raw::to_raw,
};

use crate::{
    error::McpClientError,
    limits::ClientLimits,
    options::ProtocolEra,
    request::{AbandonPolicy, ClientIdentity, RequestOptions},
    server::ServerDescription,
    wire::McpConnection,
};

/// Negotiates the protocol revision with a server.
pub(crate) async fn negotiate_revision(
    wire: &McpConnection,
    era: ProtocolEra,
    limits: &ClientLimits,
) -> Result<ServerDescription, McpClientError> {
    match era {
        ProtocolEra::Handshake => perform_handshake(wire, McpRevision::NEWEST_HANDSHAKE).await,
        ProtocolEra::Modern => match discover_server(wire).await? {
            ProbeOutcome::Modern(server) => Ok(server),
            ProbeOutcome::Handshake(revision) => {
                Err(McpClientError::NoCommonRevision { offered: vec![revision.to_string()] })
            }
        },
        ProtocolEra::Either => probe_era(wire, limits).await,
    }
}

async fn probe_era(wire: &McpConnection, limits: &ClientLimits) -> Result<ServerDescription, McpClientError> {
    let mut discovering = pin!(discover_server(wire));
    if let Ok(found) = timeout(limits.probe, &mut discovering).await {
        return finish_probe(wire, found).await;
    }
    tracing::debug!("server did not answer `server/discover`, trying the handshake");
    // It may also be a modern server that starts slowly: the first good response decides.
    let mut handshake = pin!(perform_handshake(wire, McpRevision::NEWEST_HANDSHAKE));
    let refused = tokio::select! {
        biased;
        found = &mut discovering => match found {
            Ok(ProbeOutcome::Modern(server)) => return Ok(server),
            _ => return handshake.await,
        },
        server = &mut handshake => match server {
            Ok(server) => return Ok(server),
            Err(error) => error,
        },
    };
    match timeout(limits.probe, discovering).await {
        Ok(Ok(ProbeOutcome::Modern(server))) => Ok(server),
        _ => Err(refused),
    }
}

/// Continues after the response to the probe.
async fn finish_probe(
    wire: &McpConnection,
    found: Result<ProbeOutcome, McpClientError>,
) -> Result<ServerDescription, McpClientError> {
    match found {
        Ok(ProbeOutcome::Modern(server)) => Ok(server),
        Ok(ProbeOutcome::Handshake(revision)) => perform_handshake(wire, revision).await,
        Err(error) if means_handshake(&error) => {
            tracing::debug!(%error, "server does not know `server/discover`, trying the handshake");
            perform_handshake(wire, McpRevision::NEWEST_HANDSHAKE).await
        }
        Err(error) => Err(error),
    }
}

/// Whether a refusal of the probe may come from a server that needs a handshake.
fn means_handshake(error: &McpClientError) -> bool {
    match error {
        McpClientError::Rpc(error) => !matches!(
            error.code,
            RpcError::HEADER_MISMATCH | RpcError::MISSING_CAPABILITY | RpcError::UNSUPPORTED_VERSION
        ),
        McpClientError::Status { .. }
        | McpClientError::Malformed(_)
        | McpClientError::PerhapsSent(_)
        | McpClientError::Timeout(_) => true,
        McpClientError::NotSent(_)
        | McpClientError::AuthorizationNeeded { .. }
        | McpClientError::Credentials(_)
        | McpClientError::Closed(_)
        | McpClientError::SessionLost(_)
        | McpClientError::NoCommonRevision { .. }
        | McpClientError::Invalid(_) => false,
    }
}

/// Result of the probe.
enum ProbeOutcome {
    Modern(ServerDescription),
    /// The server names its revisions, and all common ones need a handshake.
    Handshake(McpRevision),
}

async fn discover_server(wire: &McpConnection) -> Result<ProbeOutcome, McpClientError> {
    let first = McpRevision::NEWEST;
    let result = match send_uncancellable(wire, Some(first), method::DISCOVER, None).await {
        Err(McpClientError::Rpc(error)) if error.code == RpcError::UNSUPPORTED_VERSION => {
            // Also retried if it names the revision that it just refused: then the version was not the problem.
            match newest_common_revision(&supported_revisions(&error))? {
                revision if revision.is_modern() => {
                    send_uncancellable(wire, Some(revision), method::DISCOVER, None).await?
                }
                revision => return Ok(ProbeOutcome::Handshake(revision)),
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
        .map_err(|error| McpClientError::Malformed(format!("the response to `server/discover`: {error}")))?;
    match newest_common_revision(&discovered.supported_versions)? {
        revision if revision.is_modern() => {
            if let Some(http) = wire.http() {
                http.commit_session(revision);
            }
            Ok(ProbeOutcome::Modern(ServerDescription::from_result(revision, result)?))
        }
        revision => Ok(ProbeOutcome::Handshake(revision)),
    }
}

/// The newest revision that both sides support.
fn newest_common_revision(offered: &[String]) -> Result<McpRevision, McpClientError> {
    let known = offered.iter().filter_map(|text| text.parse::<McpRevision>().ok());
    known.max().ok_or_else(|| McpClientError::NoCommonRevision { offered: offered.to_vec() })
}

fn supported_revisions(error: &RpcError) -> Vec<String> {
    #[derive(Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    let data = error.data.as_ref().and_then(|data| serde_json::from_str::<Data>(data.get()).ok());
    data.map(|data| data.supported).unwrap_or_default()
}

/// Opens a session: `initialize`, its response, `notifications/initialized`.
pub(crate) async fn perform_handshake(
    wire: &McpConnection,
    newest: McpRevision,
) -> Result<ServerDescription, McpClientError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialize<'a> {
        protocol_version: &'a str,
        capabilities: &'a RawValue,
        client_info: &'a RawValue,
    }
    let ClientIdentity { info, capabilities } = wire.identity();
    let params = to_raw(&Initialize { protocol_version: newest.as_str(), capabilities, client_info: info });
    let result = send_uncancellable(wire, None, method::INITIALIZE, Some(&params)).await?;
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: String,
    }
    let agreed: Initialized = serde_json::from_str(result.get())
        .map_err(|error| McpClientError::Malformed(format!("the response to `initialize`: {error}")))?;
    let revision =
        agreed.protocol_version.parse().ok().filter(|revision: &McpRevision| !revision.is_modern());
    let revision = revision
        .ok_or_else(|| McpClientError::NoCommonRevision { offered: vec![agreed.protocol_version] })?;
    let server = ServerDescription::from_result(revision, result)?;
    if let Some(http) = wire.http() {
        http.commit_session(revision);
    }
    wire.hub().allow_server_requests();
    wire.notify(method::INITIALIZED, None).await?;
    Ok(server)
}

async fn send_uncancellable(
    wire: &McpConnection,
    revision: Option<McpRevision>,
    method: &str,
    params: Option<&RawValue>,
) -> Result<Box<RawValue>, McpClientError> {
    let mut call = wire.prepare_request(revision, method, params, RequestOptions::default())?;
    call.on_abandon = AbandonPolicy::Silent;
    wire.exchange(call).await.map_err(|failed| failed.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_revision_of_both_is_picked() {
        let pick = |offered: &[&str]| {
            newest_common_revision(&offered.iter().map(|&o| o.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(pick(&["2025-06-18", "2026-07-28", "2099-01-01"]).unwrap(), McpRevision::V2026_07_28);
        assert_eq!(pick(&["2025-06-18", "2024-11-05"]).unwrap(), McpRevision::V2025_06_18);
        let none = pick(&["2099-01-01", "2098-01-01"]).unwrap_err().to_string();
        assert_eq!(none, "no common protocol revision: the server offers 2099-01-01, 2098-01-01");
        assert!(pick(&[]).is_err());
    }
}
