//! MCP for the tools of one program: the two requests that are about tools, and a whole message of either era.

use serde_json::{Value, json, value::RawValue};
use toolyard_protocol::{
    ErrorCode,
    mcp::{Incoming, Revision, RpcError, message, meta, method},
    raw::{RawFields, to_raw},
};

use super::{ToolService, said};

impl ToolService {
    /// Answers `tools/list`. All tools are one page.
    pub fn handle_tools_list(&self, params: Option<&RawValue>) -> Result<Box<RawValue>, RpcError> {
        if members(params)?.get("cursor").is_some() {
            return Err(RpcError::params("params.cursor: this list has one page only"));
        }
        let list =
            json!({ "tools": self.list(), "ttlMs": 0, "cacheScope": "private", "resultType": "complete" });
        Ok(to_raw(&list))
    }

    /// Answers `tools/call`. What goes wrong with the tool is a result that says so.
    pub async fn handle_tools_call(&self, params: Option<&RawValue>) -> Result<Box<RawValue>, RpcError> {
        let params = members(params)?;
        let name = match params.read::<String>("name") {
            Some(Ok(name)) => name,
            _ => return Err(RpcError::params("params.name: expected the name of a tool")),
        };
        let result = match self.execute(&name, params.get("arguments")).await {
            Ok(result) => result.raw().to_owned(),
            Err(error) if error.code == ErrorCode::ToolNotFound => {
                return Err(RpcError::params(error.for_model));
            }
            Err(error) => said(&error),
        };
        let mut fields: RawFields = serde_json::from_str(result.get()).unwrap_or_default();
        fields.set("resultType", to_raw("complete"));
        Ok(fields.to_raw())
    }

    /// Answers one message of a client of either era, as a server over stdio does. None where there is nothing to say.
    pub async fn handle(&self, text: &str) -> Option<String> {
        match Incoming::read(text.as_bytes()) {
            Ok(Incoming::Request { id, method, params }) => Some(match self.answer(&method, params).await {
                Ok(result) => message::result(id, &result),
                Err(error) => message::error(Some(id), &error),
            }),
            Ok(Incoming::Notification { .. } | Incoming::Response { .. }) => None,
            Err(refused) => Some(message::error(refused.id.as_deref(), &refused.error)),
        }
    }

    async fn answer(&self, asked: &str, params: Option<&RawValue>) -> Result<Box<RawValue>, RpcError> {
        match asked {
            method::TOOLS_LIST => self.handle_tools_list(params),
            method::TOOLS_CALL => self.handle_tools_call(params).await,
            method::DISCOVER => Ok(to_raw(&self.discovered())),
            method::INITIALIZE => self.initialized(params),
            method::PING => Ok(to_raw(&json!({}))),
            other => Err(RpcError::no_method(other)),
        }
    }

    fn info(&self) -> Value {
        json!({ "name": self.name, "version": env!("CARGO_PKG_VERSION") })
    }

    fn discovered(&self) -> Value {
        let supported: Vec<&str> = Revision::SERVED.map(Revision::as_str).to_vec();
        json!({ "resultType": "complete", "supportedVersions": supported, "capabilities": { "tools": {} },
            "ttlMs": 0, "cacheScope": "private", "_meta": { meta::SERVER_INFO: self.info() } })
    }

    fn initialized(&self, params: Option<&RawValue>) -> Result<Box<RawValue>, RpcError> {
        let wished = members(params)?.read::<String>("protocolVersion").and_then(Result::ok);
        let wished =
            wished.and_then(|wished| Revision::served(&wished)).filter(|revision| !revision.is_modern());
        let revision = wished.unwrap_or(Revision::NEWEST_HANDSHAKE);
        Ok(to_raw(&json!({ "protocolVersion": revision.as_str(), "capabilities": { "tools": {} },
            "serverInfo": self.info() })))
    }
}

fn members(params: Option<&RawValue>) -> Result<RawFields, RpcError> {
    let Some(params) = params else { return Ok(RawFields::default()) };
    serde_json::from_str(params.get()).map_err(|_| RpcError::params("params: expected an object"))
}
