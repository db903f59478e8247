//! A SQLite database for models to look into: `sqlite_list_tables` and `sqlite_query`.
//!
//! It cannot be changed, three times over: the file is opened read-only, an authorizer lets only reading statements with
//! known functions through, and statements that would write are refused by name. A query is bounded in time, in rows, in
//! the size of a value and of the whole answer; what was cut is said. Each call has a connection of its own and runs on a
//! thread for such work.
//!
//! | look for | in |
//! | --- | --- |
//! | the connection and its bounds | `open` |
//! | what a statement may do | `allow` |
//! | threads, time, how many at once | `work` |
//! | the two tools | `tables`, `query` |
//! | values as JSON and back | `cell` |
//! | words for the model | `error` |

mod authorizer;
mod cell;
mod error;
mod open;
mod query;
mod tables;
mod work;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use self::{open::SqliteDatabase, work::QueryGate};
use crate::{
    plugin::Plugin,
    tool::{Tool, create_tool},
};

/// How long one call may take, unless the options say otherwise.
pub const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Most rows of one answer, unless the options say otherwise.
pub const MAX_ROWS: usize = 500;
/// Longest text of one value in an answer, in characters, unless the options say otherwise.
pub const MAX_CELL_CHARS: usize = 2_000;
/// Largest answer, in bytes of JSON, unless the options say otherwise.
pub const MAX_OUTPUT_BYTES: usize = 64 * 1024;
/// Largest value that SQLite may read or make, in bytes, unless the options say otherwise.
pub const MAX_VALUE_BYTES: usize = 8 * 1024 * 1024;
/// Calls that run at once; more wait.
pub const MAX_AT_ONCE: usize = 4;

/// How a database may be used.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// Name of the plugin and beginning of its tools' names: `sqlite` makes `sqlite_query`. Give each database its own.
    pub name: String,
    /// How long one call may take.
    pub time_limit: Duration,
    /// Most rows of one answer.
    pub max_rows: usize,
    /// Longest text of one value in an answer, in characters.
    pub max_cell_chars: usize,
    /// Largest answer, in bytes of JSON.
    pub max_output_bytes: usize,
    /// Largest value that SQLite may read or make, in bytes.
    pub max_value_bytes: usize,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            name: "sqlite".to_owned(),
            time_limit: TIME_LIMIT,
            max_rows: MAX_ROWS,
            max_cell_chars: MAX_CELL_CHARS,
            max_output_bytes: MAX_OUTPUT_BYTES,
            max_value_bytes: MAX_VALUE_BYTES,
        }
    }
}

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the database {} cannot be opened: {reason}", path.display())]
pub struct SqliteError {
    /// As it was given.
    pub path: PathBuf,
    /// In the system's or in SQLite's words.
    pub reason: String,
}

/// The plugin `sqlite`, for one database.
///
/// The file is opened once here, so that a wrong path is told now and not to a model.
pub fn sqlite(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Plugin, SqliteError> {
    let plugin = Plugin::new(options.name.clone(), super::VERSION);
    Ok(sqlite_tools(path, options)?.into_iter().fold(plugin, Plugin::tool))
}

/// The tools alone.
pub fn sqlite_tools(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Vec<Tool>, SqliteError> {
    let database = Arc::new(SqliteDatabase::open_file(path.as_ref(), options)?);
    let gate = QueryGate::new(MAX_AT_ONCE);
    let name = |tool: &str| format!("{}_{tool}", database.options.name);
    let (list, query) = (name("list_tables"), name("query"));

    let look = format!(
        "Lists the tables and views of a SQLite database, with their columns and how many rows they have. Call it before \
         {query}."
    );
    let (at, through) = (database.clone(), gate.clone());
    let list = create_tool(list, look, move |arguments, _| {
        let (database, gate) = (at.clone(), through.clone());
        async move {
            let limit = database.options.time_limit;
            gate.run_blocking(limit, move |stop| tables::list_tables(&database, &arguments, stop)).await
        }
    });
    let ask = format!(
        "Runs one SELECT statement (SQLite dialect) and answers with columns and rows. The database can only be read. At \
         most {} rows come back; aggregate or use LIMIT.",
        database.options.max_rows
    );
    let query = create_tool(query, ask, move |arguments, _| {
        let (database, gate) = (database.clone(), gate.clone());
        async move {
            let limit = database.options.time_limit;
            gate.run_blocking(limit, move |stop| query::run_query(&database, &arguments, stop)).await
        }
    });
    Ok(vec![list, query])
}
