//! `sqlite_query`: runs one reading statement.

use rusqlite::{Batch, Statement, fallible_iterator::FallibleIterator as _};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    authorizer::StatementPurpose,
    cell::{to_json, to_sql},
    error::QueryError,
    open::{OpenDatabase, SqliteDatabase},
    work::QueryDeadline,
};

/// Longest statement, in bytes.
const MAX_SQL_BYTES: usize = 32 * 1024;
/// Most parameters of one statement.
pub(super) const MAX_PARAMETERS: usize = 100;
/// Rows if the call sets no limit.
const DEFAULT_ROWS: usize = 100;

/// The arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryArguments {
    /// One SELECT statement, for example `SELECT name FROM users WHERE age > ? LIMIT 10`.
    sql: String,
    /// The values of the `?` in the statement, in order. Use them for values that come from a person or a page.
    #[serde(default)]
    #[schemars(schema_with = "parameters_schema")]
    parameters: Option<Vec<Value>>,
    /// Most rows to show; 100 if left out.
    #[serde(default)]
    #[schemars(with = "usize", extend("minimum" = 1))]
    max_rows: Option<usize>,
}

fn parameters_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": ["string", "number", "boolean", "null"] } })
}

/// The result of a query.
#[derive(Debug, Serialize)]
pub(super) struct QueryResult {
    columns: Vec<String>,
    /// The values, in the order of the columns.
    rows: Vec<Vec<Value>>,
    /// What was cut, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<String>,
}

pub(super) fn run_query(
    database: &SqliteDatabase,
    arguments: &QueryArguments,
    stop: &QueryDeadline,
) -> Result<QueryResult, QueryError> {
    let size = arguments.sql.len();
    if size > MAX_SQL_BYTES {
        return Err(QueryError::TooLong { size, limit: MAX_SQL_BYTES });
    }
    let open = database.open_for(StatementPurpose::Query, stop)?;
    let mut statement = single_statement(&open, &arguments.sql)?;
    bind_parameters(&open, &mut statement, arguments.parameters.as_deref().unwrap_or_default())?;
    let max_rows = arguments.max_rows.unwrap_or(DEFAULT_ROWS).clamp(1, database.options.max_rows.max(1));
    read_rows(&open, &mut statement, database, max_rows)
}

/// The statement, if there is exactly one and it only reads.
fn single_statement<'open>(open: &'open OpenDatabase, sql: &str) -> Result<Statement<'open>, QueryError> {
    let mut batch = Batch::new(&open.connection, sql);
    let first = batch.next().map_err(|error| open.query_error(error))?.ok_or(QueryError::Empty)?;
    // A second statement is refused even if it is invalid.
    if !matches!(batch.next(), Ok(None)) {
        return Err(QueryError::Several);
    }
    if first.readonly() { Ok(first) } else { Err(QueryError::Refused("writing".to_owned())) }
}

fn bind_parameters(
    open: &OpenDatabase,
    statement: &mut Statement<'_>,
    values: &[Value],
) -> Result<(), QueryError> {
    if values.len() > MAX_PARAMETERS {
        return Err(QueryError::TooManyParameters { size: values.len(), limit: MAX_PARAMETERS });
    }
    let wanted = statement.parameter_count();
    if wanted != values.len() {
        return Err(QueryError::Parameters { wanted, given: values.len() });
    }
    for (index, value) in values.iter().enumerate() {
        let value = to_sql(value).ok_or(QueryError::Parameter(index))?;
        statement.raw_bind_parameter(index + 1, value).map_err(|error| open.query_error(error))?;
    }
    Ok(())
}

fn read_rows(
    open: &OpenDatabase,
    statement: &mut Statement<'_>,
    database: &SqliteDatabase,
    max_rows: usize,
) -> Result<QueryResult, QueryError> {
    let options = &database.options;
    let columns: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let mut answer = QueryResult { columns, rows: Vec::new(), cut: None };
    let mut bytes: usize = answer.columns.iter().map(String::len).sum();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(|error| open.query_error(error))? {
        if answer.rows.len() == max_rows {
            answer.cut = Some(format!(
                "only the first {max_rows} rows are shown and there are more; narrow it with WHERE, aggregate, or go \
                 on with LIMIT and OFFSET"
            ));
            break;
        }
        let mut shown = Vec::with_capacity(answer.columns.len());
        for index in 0..answer.columns.len() {
            let value = row.get_ref(index).map_err(|error| open.query_error(error))?;
            let value = to_json(value, options.max_cell_chars);
            bytes += value.to_string().len() + 1;
            shown.push(value);
            if bytes > options.max_output_bytes {
                break;
            }
        }
        if bytes > options.max_output_bytes {
            let count = answer.rows.len();
            answer.cut = Some(format!(
                "only the first {count} rows are shown: more would be over {} bytes; select fewer columns or rows, \
                 or cut long texts with substr()",
                options.max_output_bytes
            ));
            break;
        }
        answer.rows.push(shown);
    }
    Ok(answer)
}
