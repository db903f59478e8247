//! axum's path and query extractors, with errors in the API's JSON format instead of plain text.

use axum::{extract::FromRequestParts, http::request::Parts, response::Response};
use serde::de::DeserializeOwned;

use crate::{error::RequestError, state::ServerState};

/// The parameters of the path.
pub(crate) struct PathParams<T>(pub(crate) T);

/// The parameters of the query string.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<ServerState> for PathParams<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, Response> {
        let read = axum::extract::Path::from_request_parts(parts, state).await;
        let axum::extract::Path(path) =
            read.map_err(|error| RequestError::invalid_request(error.body_text()))?;
        Ok(Self(path))
    }
}

impl<T: DeserializeOwned> FromRequestParts<ServerState> for QueryParams<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, Response> {
        let read = axum::extract::Query::from_request_parts(parts, state).await;
        let axum::extract::Query(query) =
            read.map_err(|error| RequestError::invalid_request(error.body_text()))?;
        Ok(Self(query))
    }
}
