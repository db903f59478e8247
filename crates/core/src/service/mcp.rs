//! MCP for the tools of one program: the two tool methods, and whole messages of any protocol revision.

use serde_json::{Value, json, value::RawValue};
use toolyard_protocol::{
    ErrorCode,
    mcp::{McpRevision, RpcError, RpcMessage, message, meta, method},
    raw::{RawFields, to_raw},
};

use super::{ToolService, error_result};

impl ToolService {
    /// Handles `tools/list`. All tools fit on one page.
    pub fn handle_tools_list(&self, params: Option<&RawValue>) -> Result<Box<RawValue>, RpcError> {
        if read_params(params)?.get("cursor").is_some() {
            return Err(RpcError::invalid_params("params.cursor: this list has one page only"));
        }
        let list =
            json!({ "tools": self.list(), "ttlMs": 0, "cacheScope": "private", "resultType": "complete" });
        Ok(to_raw(&list))
    }

    /// Handles `tools/call`. A failure of the tool is a result with `isError`.
    pub async fn handle_tools_call(&self, params: Option<&RawValue>) -> Result<Box<RawValue>, RpcError> {
        let params = read_params(params)?;
        let name = match params.parse_field::<String>("name") {
            Some(Ok(name)) => name,
            _ => return Err(RpcError::invalid_params("params.name: expected the name of a tool")),
        };
        let result = match self.execute(&name, params.get("arguments")).await {
            Ok(result) => result.raw().to_owned(),
            Err(error) if error.code == ErrorCode::ToolNotFound => {
                return Err(RpcError::invalid_params(error.for_model));
            }
            Err(error) => error_result(&error),
        };
        let mut fields: RawFields = serde_json::from_str(result.get()).unwrap_or_default();
        fields.set("resultType", to_raw("complete"));
        Ok(fields.to_raw())
    }

    /// Handles one message of a client, as a server over stdio does. None if no response is due.
    pub async fn handle_message(&self, text: &str) -> Option<String> {
        match RpcMessage::parse(text.as_bytes()) {
            Ok(RpcMessage::Request { id, method, params }) => {
                Some(match self.handle_method(&method, params).await {
                    Ok(result) => message::write_result(id, &result),
                    Err(error) => message::write_error(Some(id), &error),
                })
            }
            Ok(RpcMessage::Notification { .. } | RpcMessage::Response { .. }) => None,
            Err(refused) => Some(message::write_error(refused.id.as_deref(), &refused.error)),
        }
    }

    async fn handle_method(
        &self,
        requested: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        match requested {
            method::TOOLS_LIST => self.handle_tools_list(params),
            method::TOOLS_CALL => self.handle_tools_call(params).await,
            method::DISCOVER => Ok(to_raw(&self.discover_result())),
            method::INITIALIZE => self.initialize_result(params),
            method::PING => Ok(to_raw(&json!({}))),
            other => Err(RpcError::method_not_found(other)),
        }
    }

    fn server_info(&self) -> Value {
        json!({ "name": self.name, "version": env!("CARGO_PKG_VERSION") })
    }

    fn discover_result(&self) -> Value {
        let supported: Vec<&str> = McpRevision::SERVED.map(McpRevision::as_str).to_vec();
        json!({ "resultType": "complete", "supportedVersions": supported, "capabilities": { "tools": {} },
            "ttlMs": 0, "cacheScope": "private", "_meta": { meta::SERVER_INFO: self.server_info() } })
    }

    fn initialize_result(&self, params: Option<&RawValue>) -> Result<Box<RawValue>, RpcError> {
        let wished = read_params(params)?.parse_field::<String>("protocolVersion").and_then(Result::ok);
        let wished = wished
            .and_then(|wished| McpRevision::parse_served(&wished))
            .filter(|revision| !revision.is_modern());
        let revision = wished.unwrap_or(McpRevision::NEWEST_HANDSHAKE);
        Ok(to_raw(&json!({ "protocolVersion": revision.as_str(), "capabilities": { "tools": {} },
            "serverInfo": self.server_info() })))
    }
}

fn read_params(params: Option<&RawValue>) -> Result<RawFields, RpcError> {
    let Some(params) = params else { return Ok(RawFields::default()) };
    serde_json::from_str(params.get()).map_err(|_| RpcError::invalid_params("params: expected an object"))
}
