//! Calculator, time, files, pages and web search as plain functions with schemas.

#![warn(missing_docs)]
