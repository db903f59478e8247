//! Formats of the first generation: tool lists, `tpa_config.json`, and exports of the older platform's database.
//! `docs/legacy-formats.md` lists all of them.

pub(crate) mod import;
pub(crate) mod migrate;
pub(crate) mod tpa_config;
