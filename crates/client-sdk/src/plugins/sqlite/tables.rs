//! `sqlite_list_tables`: lists tables with their columns.

use rusqlite::Row;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    authorizer::StatementPurpose,
    error::QueryError,
    open::{OpenDatabase, SqliteDatabase},
    work::QueryDeadline,
};

/// Most tables of one result.
pub(super) const MAX_TABLES: usize = 200;
/// Most columns of a table that are listed.
pub(super) const MAX_COLUMNS: usize = 200;
/// Rows are counted up to this number.
pub(super) const MAX_COUNTED: i64 = 10_000;

/// The arguments.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListArguments {
    /// Only tables with this in their name, for example `order`. All of them if left out.
    #[serde(default)]
    #[schemars(with = "String")]
    name: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct TableList {
    tables: Vec<TableSummary>,
    /// What was cut, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<String>,
}

#[derive(Debug, Serialize)]
struct TableSummary {
    name: String,
    kind: String,
    /// Name, type and constraints.
    columns: Vec<String>,
    /// The number, or that there are more. Only tables are counted: counting a view may take long.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Value>,
}

pub(super) fn list_tables(
    database: &SqliteDatabase,
    arguments: &ListArguments,
    stop: &QueryDeadline,
) -> Result<TableList, QueryError> {
    let open = database.open_for(StatementPurpose::Schema, stop)?;
    let wanted = arguments.name.as_deref().unwrap_or_default().to_lowercase();
    let mut found = table_names(&open).map_err(|error| open.query_error(error))?;
    found.retain(|(name, _)| name.to_lowercase().contains(&wanted));
    found.sort();

    let mut answer = TableList { tables: Vec::new(), cut: None };
    let (total, mut bytes) = (found.len(), 0);
    for (name, kind) in found {
        let table = describe_table(&open, name, kind).map_err(|error| open.query_error(error))?;
        bytes += summary_size(&table);
        if answer.tables.len() == MAX_TABLES || bytes > database.options.max_output_bytes {
            let count = answer.tables.len();
            answer.cut =
                Some(format!("the first {count} of {total} tables; find others by a part of their name"));
            break;
        }
        answer.tables.push(table);
    }
    Ok(answer)
}

fn summary_size(table: &TableSummary) -> usize {
    table.name.len()
        + table.kind.len()
        + table.columns.iter().map(|column| column.len() + 3).sum::<usize>()
        + 50
}

/// Tables and views, without SQLite's internal ones.
fn table_names(open: &OpenDatabase) -> rusqlite::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    open.connection.pragma_query(None, "table_list", |row| {
        let (schema, name, kind): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if schema == "main" && kind != "shadow" && !name.starts_with("sqlite_") {
            found.push((name, kind));
        }
        Ok(())
    })?;
    Ok(found)
}

fn describe_table(open: &OpenDatabase, name: String, kind: String) -> rusqlite::Result<TableSummary> {
    let mut columns = Vec::new();
    let mut left_out = 0;
    let read = open.connection.pragma(None, "table_xinfo", &name, |row| {
        // Hidden columns, which are arguments of virtual tables.
        if row.get::<_, i64>("hidden")? == 1 {
            return Ok(());
        }
        if columns.len() < MAX_COLUMNS {
            columns.push(describe_column(row)?)
        } else {
            left_out += 1
        }
        Ok(())
    });
    if let Err(error) = read {
        // A view on a missing table does not hide the others.
        tracing::debug!(%error, "cannot read the columns of a SQLite table");
    }
    if left_out > 0 {
        columns.push(format!("… and {left_out} more"));
    }
    let rows = if kind == "table" { Some(count_rows(open, &name)?) } else { None };
    Ok(TableSummary { name, kind, columns, rows })
}

fn describe_column(row: &Row<'_>) -> rusqlite::Result<String> {
    let mut text: String = row.get("name")?;
    let kind: String = row.get("type")?;
    if !kind.is_empty() {
        text = format!("{text} {kind}");
    }
    if row.get::<_, i64>("pk")? > 0 {
        text.push_str(" PRIMARY KEY");
    }
    if row.get::<_, bool>("notnull")? {
        text.push_str(" NOT NULL");
    }
    Ok(text)
}

fn count_rows(open: &OpenDatabase, name: &str) -> rusqlite::Result<Value> {
    let name = name.replace('"', "\"\"");
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM main.\"{name}\" LIMIT {})", MAX_COUNTED + 1);
    let counted: i64 = open.connection.query_row(&sql, [], |row| row.get(0))?;
    Ok(if counted > MAX_COUNTED { format!("more than {MAX_COUNTED}").into() } else { counted.into() })
}
