//! Every limit of a query is enforced.

use std::time::Duration;

use serde_json::{Value, json};
use toolyard_client_sdk::plugins::sqlite::{MAX_CELL_CHARS, MAX_VALUE_BYTES, SqliteOptions, sqlite_tools};

use crate::{sqlite::Shop, world::call};

const COUNT: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT";

async fn query(shop: &Shop, options: SqliteOptions, arguments: Value) -> Result<Value, String> {
    call(&sqlite_tools(shop.path(), options).unwrap(), "sqlite_query", arguments).await
}

fn quick() -> SqliteOptions {
    SqliteOptions { time_limit: Duration::from_millis(100), ..SqliteOptions::default() }
}

#[tokio::test]
async fn a_query_without_an_end_is_stopped() {
    let shop = Shop::new();
    for sql in [
        format!("{COUNT} count(*) FROM n"),
        format!("{COUNT} i FROM n WHERE i < 0"),
        "SELECT count(*) FROM customers a, customers b, customers c, customers d, customers e, customers f, customers g, \
         customers h, customers i, customers j, customers k, customers l, customers m, customers n, customers o, \
         customers p, customers q, customers r, customers s, customers t"
            .to_owned(),
    ] {
        let error = query(&shop, quick(), json!({ "sql": sql })).await.unwrap_err();
        assert!(error.contains("took longer than 100ms and was stopped"), "{sql}: {error}");
    }
}

#[tokio::test]
async fn rows_are_limited_and_the_result_says_so() {
    let shop = Shop::new();
    let endless = format!("{COUNT} i FROM n");
    let rows = |answer: &Value| answer["rows"].as_array().unwrap().len();
    let usual = query(&shop, SqliteOptions::default(), json!({ "sql": endless })).await.unwrap();
    assert_eq!(rows(&usual), 100);
    assert!(usual["cut"].as_str().unwrap().contains("only the first 100 rows"), "{usual}");
    let asked =
        query(&shop, SqliteOptions::default(), json!({ "sql": endless, "max_rows": 3 })).await.unwrap();
    assert_eq!(rows(&asked), 3);
    let most = json!({ "sql": endless, "max_rows": 1_000_000 });
    assert_eq!(rows(&query(&shop, SqliteOptions::default(), most.clone()).await.unwrap()), 500);
    let few = SqliteOptions { max_rows: 2, ..SqliteOptions::default() };
    assert_eq!(rows(&query(&shop, few, most).await.unwrap()), 2);
    let exact = format!("{endless} LIMIT 100");
    let exact = query(&shop, SqliteOptions::default(), json!({ "sql": exact })).await.unwrap();
    assert_eq!((rows(&exact), exact.get("cut")), (100, None), "nothing was cut");
}

#[tokio::test]
async fn long_texts_are_cut() {
    let shop = Shop::new();
    let sql = format!("SELECT replace(hex(zeroblob({MAX_CELL_CHARS})), '00', 'ä')");
    let fits = query(&shop, SqliteOptions::default(), json!({ "sql": sql })).await.unwrap();
    assert_eq!(fits["rows"][0][0], "ä".repeat(MAX_CELL_CHARS));
    let sql = format!("SELECT replace(hex(zeroblob({MAX_CELL_CHARS})), '00', 'ä') || '!'");
    let cut = query(&shop, SqliteOptions::default(), json!({ "sql": sql })).await.unwrap();
    let cut = cut["rows"][0][0].as_str().unwrap();
    assert!(cut.ends_with("ä… (cut: the first 2000 of 2001 characters)"), "{cut}");
}

#[tokio::test]
async fn the_whole_result_is_limited() {
    let shop = Shop::new();
    let options = SqliteOptions { max_output_bytes: 10_000, ..SqliteOptions::default() };
    let sql = format!("{COUNT} hex(zeroblob(450)) FROM n LIMIT 50");
    let answer = query(&shop, options.clone(), json!({ "sql": sql })).await.unwrap();
    assert!(answer.to_string().len() < 11_000);
    assert!(answer["cut"].as_str().unwrap().contains("more would be over 10000 bytes"), "{}", answer["cut"]);
    assert!(!answer["rows"].as_array().unwrap().is_empty());
    let wide = vec!["hex(zeroblob(900))"; 20].join(", ");
    let answer = query(&shop, options, json!({ "sql": format!("SELECT {wide}") })).await.unwrap();
    assert_eq!(answer["rows"], json!([]), "not even one row fits");
    assert!(answer["cut"].as_str().unwrap().contains("first 0 rows"));
}

#[tokio::test]
async fn huge_values_are_neither_made_nor_read() {
    let shop = Shop::new();
    let size = MAX_VALUE_BYTES + 1;
    shop.run(&format!("INSERT INTO customers VALUES (9, 'Big', zeroblob({size}))"));
    for sql in [
        "SELECT zeroblob(1000000000)".to_owned(),
        "SELECT randomblob(1000000000)".to_owned(),
        "SELECT hex(zeroblob(5000000))".to_owned(),
        "SELECT group_concat(note) FROM customers".to_owned(),
        "SELECT note FROM customers WHERE id = 9".to_owned(),
    ] {
        let error = query(&shop, SqliteOptions::default(), json!({ "sql": sql })).await.unwrap_err();
        assert!(error.contains("a value is larger than 8388608 bytes"), "{sql}: {error}");
    }
    let told = query(
        &shop,
        SqliteOptions::default(),
        json!({ "sql": "SELECT length(note) FROM customers WHERE id = 9" }),
    );
    assert_eq!(told.await.unwrap()["rows"], json!([[size]]), "what it advises works");
}

#[tokio::test]
async fn statements_are_bounded() {
    let shop = Shop::new();
    let long = format!("SELECT '{}'", "x".repeat(33_000));
    let deep = format!("SELECT {}1{}", "abs(".repeat(600), ")".repeat(600));
    let many = vec!["SELECT 1"; 101].join(" UNION ALL ");
    let pattern = format!("SELECT 'x' LIKE '{}'", "%a".repeat(101));
    let several = "SELECT 1;".repeat(3_000);
    for (sql, words) in [
        (long.as_str(), "at most 32768 are taken"),
        (&deep, "Expression tree is too large"),
        (&many, "too many terms in compound SELECT"),
        (&pattern, "LIKE or GLOB pattern too complex"),
        (&several, "more than one statement"),
        ("SELECT ?101", "variable number must be between"),
    ] {
        let error = query(&shop, SqliteOptions::default(), json!({ "sql": sql })).await.unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[tokio::test]
async fn a_list_of_tables_is_bounded() {
    let shop = Shop::new();
    let columns: Vec<_> = (0..250).map(|n| format!("c{n}")).collect();
    shop.run(&format!("CREATE TABLE wide ({})", columns.join(", ")));
    shop.run("CREATE TABLE long (x); INSERT INTO long SELECT value FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL \
              SELECT value + 1 FROM n LIMIT 10001) SELECT value FROM n)");
    let options = SqliteOptions { max_output_bytes: 1024 * 1024, ..SqliteOptions::default() };
    let list = |options: SqliteOptions, arguments: Value| {
        let tools = sqlite_tools(shop.path(), options).unwrap();
        async move { call(&tools, "sqlite_list_tables", arguments).await.unwrap() }
    };
    let wide = list(options.clone(), json!({ "name": "wide" })).await;
    let named = wide["tables"][0]["columns"].as_array().unwrap();
    assert_eq!((named.len(), &named[200]), (201, &json!("… and 50 more")));
    let long = list(options.clone(), json!({ "name": "long" })).await;
    assert_eq!(long["tables"][0]["rows"], "more than 10000");

    let more: Vec<_> = (0..200).map(|n| format!("CREATE TABLE t{n} (x);")).collect();
    shop.run(&format!("BEGIN; {} COMMIT", more.concat()));
    let all = list(options, json!({})).await;
    assert_eq!(all["tables"].as_array().unwrap().len(), 200);
    assert_eq!(all["cut"], "the first 200 of 207 tables; find others by a part of their name");
    let small = list(SqliteOptions { max_output_bytes: 1_000, ..SqliteOptions::default() }, json!({})).await;
    assert!(small["cut"].is_string() && small.to_string().len() < 1_200, "{small}");
}
