//! What the two tools answer, and which statements they refuse.

use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolyard_client_sdk::{
    Tool,
    plugins::sqlite::{SqliteOptions, sqlite, sqlite_tools},
};

use crate::world::{call, check_rules, names};

/// A database in a folder of its own.
pub(crate) struct Shop {
    folder: TempDir,
}

impl Shop {
    pub(crate) fn new() -> Self {
        let shop = Self { folder: tempfile::tempdir().unwrap() };
        shop.run(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, note);
             CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers, total REAL);
             CREATE TABLE \"odd \"\" name\" (x);
             CREATE VIEW rich AS SELECT name, upper(name) AS loud FROM customers;
             CREATE VIRTUAL TABLE texts USING fts5(body);
             INSERT INTO customers VALUES (1, 'Ada', NULL), (2, 'Bob', x'00ff'), (3, 'Eve', 'x');
             INSERT INTO orders VALUES (1, 1, 9.5), (2, 1, 0.5), (3, 2, 7);
             INSERT INTO texts VALUES ('the quick brown fox'), ('a lazy dog');",
        );
        shop
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("shop.db")
    }

    pub(crate) fn run(&self, sql: &str) {
        Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }

    pub(crate) fn tools(&self) -> Vec<Tool> {
        sqlite_tools(self.path(), SqliteOptions::default()).unwrap()
    }

    pub(crate) async fn query(&self, sql: &str) -> Result<Value, String> {
        call(&self.tools(), "sqlite_query", json!({ "sql": sql })).await
    }

    /// Everything in it, to see that it stays so.
    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap()
    }
}

#[tokio::test]
async fn tables_are_listed_with_columns_and_rows() {
    let shop = Shop::new();
    let tools = shop.tools();
    check_rules(&tools);
    assert_eq!(names(&tools), ["sqlite_list_tables", "sqlite_query"]);
    let all = call(&tools, "sqlite_list_tables", json!({})).await.unwrap();
    assert_eq!(
        all,
        json!({ "tables": [
            { "name": "customers", "kind": "table", "rows": 3,
              "columns": ["id INTEGER PRIMARY KEY", "name TEXT NOT NULL", "note"] },
            { "name": "odd \" name", "kind": "table", "rows": 0, "columns": ["x"] },
            { "name": "orders", "kind": "table", "rows": 3,
              "columns": ["id INTEGER PRIMARY KEY", "customer INTEGER", "total REAL"] },
            { "name": "rich", "kind": "view", "columns": ["name TEXT", "loud"] },
            { "name": "texts", "kind": "virtual", "columns": ["body"] },
        ] })
    );
    let some = call(&tools, "sqlite_list_tables", json!({ "name": "ORD" })).await.unwrap();
    assert_eq!(some["tables"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn queries_are_answered() {
    let shop = Shop::new();
    let sql = "SELECT name, count(o.id) AS n, sum(total) FROM customers c LEFT JOIN orders o ON o.customer = c.id \
               GROUP BY name ORDER BY name;";
    let answer = shop.query(sql).await.unwrap();
    assert_eq!(
        answer,
        json!({ "columns": ["name", "n", "sum(total)"], "rows": [["Ada", 2, 10.0], ["Bob", 1, 7.0], ["Eve", 0, null]] })
    );
    for (sql, row) in [
        ("SELECT note FROM customers WHERE id = 2", json!(["(blob of 2 bytes: 00ff)"])),
        ("SELECT loud FROM rich LIMIT 1", json!(["ADA"])),
        ("SELECT body FROM texts WHERE texts MATCH 'fox' ORDER BY rank", json!(["the quick brown fox"])),
        (
            "SELECT snippet(texts, 0, '[', ']', '', 3) FROM texts WHERE texts MATCH 'lazy'",
            json!(["a [lazy] dog"]),
        ),
        ("SELECT value FROM json_each('[7]')", json!([7])),
        ("SELECT '{\"a\":5}' ->> 'a', row_number() OVER (), 2 LIKE '2'", json!([5, 1, 1])),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT max(i) FROM n",
            json!([9]),
        ),
        ("VALUES (1, 'x') -- with a word behind it;", json!([1, "x"])),
        ("SELECT name FROM sqlite_schema WHERE name = 'rich'", json!(["rich"])),
    ] {
        let answer = shop.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer["rows"][0], row, "{sql}");
    }
    let plan = shop.query("EXPLAIN QUERY PLAN SELECT * FROM orders").await.unwrap();
    assert!(plan["rows"][0][3].as_str().unwrap().contains("orders"), "{plan}");
}

#[tokio::test]
async fn values_are_passed_beside_the_statement() {
    let shop = Shop::new();
    let tools = shop.tools();
    let ask = |sql: &str, values: Value| {
        let arguments = json!({ "sql": sql, "parameters": values });
        let tools = tools.clone();
        async move { call(&tools, "sqlite_query", arguments).await }
    };
    let found =
        ask("SELECT name FROM customers WHERE name = ?1 OR id = ?2", json!(["x' OR '1'='1", 2])).await;
    assert_eq!(found.unwrap()["rows"], json!([["Bob"]]));
    let types =
        ask("SELECT typeof(?), typeof(?), typeof(?), ?", json!([1.5, null, true, "t"])).await.unwrap();
    assert_eq!(types["rows"], json!([["real", "null", "integer", "t"]]));
    for (sql, values, words) in [
        ("SELECT ?", json!([]), "1 parameters and `parameters` has 0"),
        ("SELECT 1", json!([1]), "0 parameters and `parameters` has 1"),
        ("SELECT ?", json!([[1]]), "parameters[0] is a list"),
        ("SELECT 1", json!(vec![1; 101]), "at most 100"),
    ] {
        let error = ask(sql, values).await.unwrap_err();
        assert!(error.contains(words), "{sql}: {error}");
    }
}

#[tokio::test]
async fn statements_that_write_are_refused_and_the_file_is_unchanged() {
    let shop = Shop::new();
    let before = shop.bytes();
    let other = shop.folder.path().join("other.db");
    let attach = format!("ATTACH '{}' AS other", other.display());
    let into = format!("VACUUM INTO '{}'", other.display());
    for (sql, words) in [
        ("INSERT INTO customers VALUES (9, 'x', NULL)", "INSERT is not possible"),
        ("UPDATE customers SET name = 'x'", "UPDATE is not possible"),
        ("DELETE FROM customers", "DELETE is not possible"),
        ("REPLACE INTO customers VALUES (1, 'x', 1)", "not possible"),
        ("INSERT INTO customers VALUES (9, 'x', 1) RETURNING id", "not possible"),
        ("WITH x AS (SELECT 1) DELETE FROM customers", "DELETE is not possible"),
        ("DROP TABLE customers", "not possible"),
        ("CREATE TABLE x (y)", "not possible"),
        ("CREATE TEMP TABLE x (y)", "not possible"),
        ("CREATE TEMP VIEW x AS SELECT 1", "not possible"),
        ("CREATE VIRTUAL TABLE x USING fts5(y)", "not possible"),
        ("ALTER TABLE customers RENAME TO x", "not possible"),
        ("CREATE TRIGGER t AFTER INSERT ON orders BEGIN SELECT 1; END", "not possible"),
        (&attach, "ATTACH is not possible"),
        ("DETACH main", "DETACH is not possible"),
        (&into, "can only be read"),
        ("VACUUM", "not possible"),
        ("REINDEX", "not possible"),
        ("ANALYZE", "not possible"),
        ("BEGIN", "a transaction is not possible"),
        ("SAVEPOINT x", "a transaction is not possible"),
        ("PRAGMA journal_mode = DELETE", "PRAGMA is not possible"),
        ("PRAGMA user_version", "PRAGMA is not possible"),
        ("PRAGMA writable_schema = ON", "PRAGMA is not possible"),
        ("PRAGMA table_info(customers)", "PRAGMA is not possible"),
        ("SELECT * FROM pragma_user_version", "reading `pragma_user_version` is not possible"),
        ("SELECT * FROM pragma_table_xinfo('customers')", "is not possible"),
        ("SELECT * FROM dbstat", "reading `dbstat` is not possible"),
        ("SELECT load_extension('x.so')", "`load_extension` cannot be used"),
        ("SELECT fts3_tokenizer('simple')", "`fts3_tokenizer` cannot be used"),
        ("SELECT readfile('/etc/passwd')", "readfile"),
        ("SELECT writefile('/tmp/x', 'y')", "writefile"),
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("SELECT 1; DROP TABLE customers", "more than one statement"),
        ("SELECT 1; nonsense", "more than one statement"),
        ("", "no statement"),
        (" -- nothing\n;;", "no statement"),
    ] {
        let error = shop.query(sql).await.map(|answer| panic!("{sql}: {answer}")).unwrap_err();
        assert!(error.contains(words), "{sql}: {error}");
    }
    assert_eq!(shop.bytes(), before);
    assert!(!other.exists());
    let left: Vec<_> =
        std::fs::read_dir(shop.folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["shop.db"], "no file is left beside it");
}

#[tokio::test]
async fn a_view_cannot_do_what_a_query_may_not() {
    let shop = Shop::new();
    shop.run("CREATE VIEW trap AS SELECT load_extension('x.so') AS x; CREATE VIEW peek AS SELECT * FROM pragma_user_version");
    for view in ["trap", "peek"] {
        assert!(shop.query(&format!("SELECT * FROM {view}")).await.is_err(), "{view}");
    }
    assert!(call(&shop.tools(), "sqlite_list_tables", json!({})).await.is_ok());
}

#[tokio::test]
async fn errors_of_a_statement_are_explained() {
    let shop = Shop::new();
    for (sql, words) in [
        ("SELECT * FROM nowhere", "no such table: nowhere"),
        ("SELECT absent FROM customers", "no such column: absent"),
        ("SELEC 1", "syntax error"),
        ("SELECT \"Ada\"", "no such column"),
        ("SELECT 'x", "SQLite says"),
    ] {
        let error = shop.query(sql).await.unwrap_err();
        assert!(error.contains(words), "{sql}: {error}");
    }
}

#[tokio::test]
async fn a_file_that_is_not_a_database_fails_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let missing = sqlite(&path, SqliteOptions::default()).unwrap_err();
    assert!(missing.to_string().contains("x.db cannot be opened: No such file"), "{missing}");
    assert!(!path.exists(), "it is not made");
    std::fs::write(&path, "this is no database, and long enough to be seen as one by its head").unwrap();
    assert!(sqlite(&path, SqliteOptions::default()).unwrap_err().to_string().contains("not a database"));
    assert!(sqlite(folder.path(), SqliteOptions::default()).is_err());
    assert!(sqlite("file:x?mode=memory", SqliteOptions::default()).is_err());
    assert!(sqlite(":memory:", SqliteOptions::default()).is_err());
}

#[tokio::test]
async fn each_database_can_have_its_own_name() {
    let shop = Shop::new();
    let options = SqliteOptions { name: "shop".to_owned(), ..SqliteOptions::default() };
    assert_eq!(
        names(&sqlite_tools(shop.path(), options.clone()).unwrap()),
        ["shop_list_tables", "shop_query"]
    );
    assert_eq!(sqlite(shop.path(), options).unwrap().name(), "shop");
}

#[tokio::test]
async fn a_database_can_be_read_during_writes() {
    let shop = Shop::new();
    let writer = Connection::open(shop.path()).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    let tools = shop.tools();
    writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO customers VALUES (4, 'New', NULL)").unwrap();
    let count = || call(&tools, "sqlite_query", json!({ "sql": "SELECT count(*) FROM customers" }));
    assert_eq!(count().await.unwrap()["rows"], json!([[3]]));
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(count().await.unwrap()["rows"], json!([[4]]));
    writer.pragma_update(None, "journal_mode", "delete").unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert!(count().await.unwrap_err().contains("locked by another program"));
}
