//! Read-only access to a SQLite database: `sqlite_list_tables` and `sqlite_query`.
//!
//! Three safeguards prevent changes: the file is opened read-only, an authorizer allows only reading statements with known
//! functions, and statements that write are refused. A query is limited in time, rows, size of a value and size of the result;
//! the result says what was cut. Each call has its own connection and runs on a blocking thread.
//!
//! | look for | in |
//! | --- | --- |
//! | the connection and its limits | `open` |
//! | what a statement may do | `authorizer` |
//! | threads, timeouts, concurrency | `work` |
//! | the two tools | `tables`, `query` |
//! | values as JSON and back | `cell` |
//! | error texts for the model | `error` |

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

/// Default timeout of one call.
pub const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Default limit of rows in one result.
pub const MAX_ROWS: usize = 500;
/// Default limit of one text value in a result, in characters.
pub const MAX_CELL_CHARS: usize = 2_000;
/// Default limit of a result, in bytes of JSON.
pub const MAX_OUTPUT_BYTES: usize = 64 * 1024;
/// Default limit of a value that SQLite may read or create, in bytes.
pub const MAX_VALUE_BYTES: usize = 8 * 1024 * 1024;
/// Calls that run at once. More wait.
pub const MAX_AT_ONCE: usize = 4;

/// Settings of a database.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// Name of the plugin and prefix of its tools: `sqlite` gives `sqlite_query`. Use a different one for each database.
    pub name: String,
    /// Timeout of one call.
    pub time_limit: Duration,
    /// Most rows of one result.
    pub max_rows: usize,
    /// Longest text value in a result, in characters.
    pub max_cell_chars: usize,
    /// Largest result, in bytes of JSON.
    pub max_output_bytes: usize,
    /// Largest value that SQLite may read or create, in bytes.
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

/// Why a database cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the database {} cannot be opened: {reason}", path.display())]
pub struct SqliteError {
    /// The path as given.
    pub path: PathBuf,
    /// The error of the system or of SQLite.
    pub reason: String,
}

/// The plugin `sqlite`, for one database.
///
/// The file is opened once here, so that a wrong path fails now and not in a call of the model.
pub fn sqlite(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Plugin, SqliteError> {
    let plugin = Plugin::new(options.name.clone(), super::VERSION);
    Ok(sqlite_tools(path, options)?.into_iter().fold(plugin, Plugin::tool))
}

/// The tools without the plugin.
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
