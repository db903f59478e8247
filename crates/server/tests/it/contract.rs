//! The contract: generated documents match the committed ones and are well formed.

use std::{collections::BTreeSet, path::PathBuf};

use serde_json::{Map, Value};
use toolyard_server::{config, openapi, routes};

use crate::platform::Platform;

/// Compares with the committed file; with `UPDATE_CONTRACT=1` it writes the file instead.
fn is_committed(name: &str, made: &Value) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contract").join(name);
    let made = serde_json::to_string_pretty(made).unwrap() + "\n";
    #[expect(clippy::disallowed_methods, reason = "how a test is told to write and not to compare")]
    if std::env::var("UPDATE_CONTRACT").is_ok_and(|update| update == "1") {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, made).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    let first = committed.lines().zip(made.lines()).find(|(was, is)| was != is);
    assert!(
        committed == made,
        "contract/{name} is out of date: run `make contract` and look at what changed; first difference: {first:?}"
    );
}

/// Calls `visit` with every object in the document.
fn each_object(value: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            visit(members);
            members.values().for_each(|member| each_object(member, visit));
        }
        Value::Array(items) => items.iter().for_each(|item| each_object(item, visit)),
        _ => {}
    }
}

fn references_resolve(document: &Value) -> usize {
    let mut count = 0;
    each_object(document, &mut |members| {
        if let Some(Value::String(reference)) = members.get("$ref") {
            let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} leads outside"));
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
            count += 1;
        }
    });
    count
}

#[test]
fn the_openapi_document_is_the_committed_one() {
    is_committed("openapi.json", &openapi::openapi_document());
}

#[test]
fn the_schema_of_the_configuration_is_the_committed_one() {
    is_committed("config.schema.json", &config::config_schema());
}

#[tokio::test]
async fn the_document_is_served() {
    let p = Platform::start().await;
    let answer = p.nobody().get("/api/openapi.json").await.expect(200);
    assert_eq!(
        (answer.header("content-type"), answer.json()),
        ("application/json", openapi::openapi_document())
    );
}

#[test]
fn the_openapi_document_is_well_formed() {
    let document = openapi::openapi_document();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    assert!(references_resolve(&document) > 10);
    let (mut ids, mut operations) = (BTreeSet::new(), BTreeSet::new());
    for (path, methods) in document["paths"].as_object().unwrap() {
        assert!(path.starts_with('/'), "{path}");
        let named: BTreeSet<&str> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        for (method, operation) in methods.as_object().unwrap() {
            let place = format!("{} {path}", method.to_uppercase());
            assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{place}");
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{place}");
            let none = Vec::new();
            let parameters = operation["parameters"].as_array().unwrap_or(&none);
            let places: BTreeSet<_> = parameters
                .iter()
                .map(|one| (&one["in"], &one["name"]))
                .map(|(a, b)| (a.to_string(), b.to_string()))
                .collect();
            assert_eq!(places.len(), parameters.len(), "{place}: a parameter twice");
            let in_path = parameters.iter().filter(|one| one["in"] == "path");
            assert!(
                in_path.clone().all(|one| one["required"] == true && one["schema"].is_object()),
                "{place}"
            );
            let declared: BTreeSet<&str> = in_path.map(|one| one["name"].as_str().unwrap()).collect();
            assert_eq!(declared, named, "{place}");
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.values().all(|response| response["description"].is_string()), "{place}");
            assert!(responses.keys().any(|status| status.starts_with('2')), "{place}");
            for scheme in operation["security"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|one| one.as_object().unwrap().keys())
            {
                assert!(document["components"]["securitySchemes"].get(scheme).is_some(), "{place}: {scheme}");
            }
            operations.insert(place);
        }
    }
    let routes = routes::route_table()
        .into_iter()
        .filter(|route| route.documented && route.access != routes::RouteAccess::Socket);
    let routes: BTreeSet<_> = routes.map(|route| format!("{} {}", route.method, route.path)).collect();
    assert_eq!(operations, routes, "every route that is neither a socket nor a file of the console");
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)), "{name}");
    }
}

#[test]
fn every_setting_is_described() {
    let schema = config::config_schema();
    references_resolve(&schema);
    let (mut settings, mut silent) = (0, Vec::new());
    each_object(&schema, &mut |members| {
        for (name, setting) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
            settings += 1;
            if setting["description"].as_str().is_none_or(|text| text.trim().is_empty()) {
                silent.push(name.clone());
            }
        }
    });
    assert!(settings > 50, "{settings}");
    assert!(silent.is_empty(), "without a description: {silent:?}");
}
