//! Authorizes statements: they may read tables and views, and call functions that only compute.

use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::error::QueryError;

/// Where a statement comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementPurpose {
    /// From the model.
    Query,
    /// From this plugin, to list tables and their columns.
    Schema,
}

/// The functions that may be called. They only compute. All others are refused: loading extensions, tokenizers, functions of
/// later SQLite versions.
const FUNCTIONS: &str = "-> ->> abs acos acosh asin asinh atan atan2 atanh avg bm25 ceil ceiling char coalesce concat concat_ws cos cosh count \
    cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor format \
    glob group_concat hex highlight if ifnull iif instr json json_array json_array_insert json_array_length json_each \
    json_error_position json_extract json_group_array json_group_object json_insert json_object json_patch json_pretty \
    json_quote json_remove json_replace json_set json_tree json_type json_valid jsonb jsonb_array jsonb_array_insert \
    jsonb_each jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove \
    jsonb_replace jsonb_set jsonb_tree julianday lag last_value lead length like likelihood likely ln log log10 log2 lower \
    ltrim match matchinfo max median min mod nth_value ntile nullif octet_length offsets percent_rank percentile \
    percentile_cont percentile_disc pi pow power printf quote radians random randomblob rank replace round row_number rtrim \
    sign sin sinh snippet soundex sqlite_version sqrt strftime string_agg substr substring sum tan tanh time timediff total \
    trim trunc typeof unhex unicode unistr unistr_quote unixepoch unlikely upper zeroblob";

/// Decides, and keeps the first refusal: SQLite itself only reports that something was not authorized.
#[derive(Debug, Clone, Default)]
pub(super) struct SqlAuthorizer(Arc<Mutex<Option<QueryError>>>);

impl SqlAuthorizer {
    /// Takes the first refusal since the last call.
    pub(super) fn take_refusal(&self) -> Option<QueryError> {
        self.0.lock().take()
    }

    pub(super) fn authorize(&self, purpose: StatementPurpose, context: &AuthContext<'_>) -> Authorization {
        match refusal_reason(purpose, context.action) {
            None => Authorization::Allow,
            Some(problem) => {
                self.0.lock().get_or_insert(problem);
                Authorization::Deny
            }
        }
    }
}

fn refusal_reason(purpose: StatementPurpose, action: AuthAction<'_>) -> Option<QueryError> {
    let refused = |what: &str| Some(QueryError::Refused(what.to_owned()));
    match action {
        AuthAction::Select | AuthAction::Recursive => None,
        // Pragmas as table-valued functions, and tables about the file rather than its content.
        AuthAction::Read { table_name, .. }
            if table_name.starts_with("pragma_") || matches!(table_name, "dbstat" | "sqlite_dbpage") =>
        {
            refused(&format!("reading `{table_name}`"))
        }
        AuthAction::Read { .. } => None,
        AuthAction::Function { function_name } => {
            let known = FUNCTIONS.split(' ').any(|known| known.eq_ignore_ascii_case(function_name));
            (!known).then(|| QueryError::Function(function_name.to_owned()))
        }
        // The full-text search reads it to detect writes. It returns a number.
        AuthAction::Pragma { pragma_name: "data_version", pragma_value: None } => None,
        AuthAction::Pragma { pragma_name: "table_list" | "table_xinfo", .. }
            if purpose == StatementPurpose::Schema =>
        {
            None
        }
        AuthAction::Pragma { .. } => refused("PRAGMA"),
        AuthAction::Attach { .. } => refused("ATTACH"),
        AuthAction::Detach { .. } => refused("DETACH"),
        AuthAction::Insert { .. } => refused("INSERT"),
        AuthAction::Update { .. } => refused("UPDATE"),
        AuthAction::Delete { .. } => refused("DELETE"),
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => refused("a transaction"),
        AuthAction::Analyze { .. } => refused("ANALYZE"),
        AuthAction::Reindex { .. } => refused("REINDEX"),
        // CREATE, DROP, ALTER, and anything that later versions add.
        _ => refused("this statement"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reading_is_allowed() {
        let refusal = |action| refusal_reason(StatementPurpose::Query, action);
        assert_eq!(refusal(AuthAction::Select), None);
        assert_eq!(refusal(AuthAction::Read { table_name: "t", column_name: "c" }), None);
        assert_eq!(refusal(AuthAction::Function { function_name: "COUNT" }), None);
        for refused in [
            AuthAction::Function { function_name: "load_extension" },
            AuthAction::Function { function_name: "readfile" },
            AuthAction::Function { function_name: "fts3_tokenizer" },
            AuthAction::Read { table_name: "pragma_user_version", column_name: "c" },
            AuthAction::Read { table_name: "sqlite_dbpage", column_name: "c" },
            AuthAction::Pragma { pragma_name: "data_version", pragma_value: Some("1") },
            AuthAction::Pragma { pragma_name: "table_xinfo", pragma_value: Some("t") },
            AuthAction::CreateVtable { table_name: "t", module_name: "csv" },
            AuthAction::Unknown { code: 999, arg1: None, arg2: None },
        ] {
            assert!(refusal(refused).is_some(), "{refused:?}");
        }
    }

    #[test]
    fn schema_statements_may_use_schema_pragmas() {
        let columns = AuthAction::Pragma { pragma_name: "table_xinfo", pragma_value: Some("t") };
        assert_eq!(refusal_reason(StatementPurpose::Schema, columns), None);
        let writes = AuthAction::Pragma { pragma_name: "journal_mode", pragma_value: Some("wal") };
        assert!(refusal_reason(StatementPurpose::Schema, writes).is_some());
    }

    #[test]
    fn the_first_refusal_is_returned_once() {
        let guard = SqlAuthorizer::default();
        for function_name in ["first", "second"] {
            let context = AuthContext {
                action: AuthAction::Function { function_name },
                database_name: None,
                accessor: None,
            };
            assert_eq!(guard.authorize(StatementPurpose::Query, &context), Authorization::Deny);
        }
        assert_eq!(guard.take_refusal(), Some(QueryError::Function("first".to_owned())));
        assert_eq!(guard.take_refusal(), None);
    }
}
