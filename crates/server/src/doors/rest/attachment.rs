//! A response that browsers save as a file.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, header};

/// The format of an exported table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExportFormat {
    /// A row per line, for spreadsheets.
    Csv,
    /// A JSON object per line, for programs.
    JsonLines,
}

impl ExportFormat {
    fn content_type(self) -> HeaderValue {
        match self {
            Self::Csv => HeaderValue::from_static("text/csv; charset=utf-8"),
            Self::JsonLines => HeaderValue::from_static("application/x-ndjson"),
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }
}

/// A file with this name, without its extension.
pub(super) fn attachment(name: &str, format: ExportFormat, body: Body) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, format.content_type());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let attachment = format!("attachment; filename=\"{name}.{}\"", format.extension());
    if let Ok(attachment) = HeaderValue::try_from(attachment) {
        headers.insert(header::CONTENT_DISPOSITION, attachment);
    }
    response
}
