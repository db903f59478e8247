//! The OpenAPI 3.1 document, built from the table of routes. It is committed under `contract/` and compared by a test.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use toolyard_protocol::api::ApiErrorBody;

use crate::routes::{Route, RouteAccess, route_table};

/// The document.
pub fn openapi_document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|s| s.definitions_path = "/components/schemas".into());
    let mut schemas = settings.into_generator();
    let error = schemas.subschema_for::<ApiErrorBody>();
    let mut paths = Map::new();
    for route in route_table().iter().filter(|route| route.documented && route.access != RouteAccess::Socket)
    {
        let operation = operation_object(route, &mut schemas, &error.clone().to_value());
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = path {
            methods.insert(route.method.as_str().to_lowercase(), operation);
        }
    }
    let definitions = schemas.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Toolyard",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Apps provide tools. Any assistant calls them for a user, on the device that the user wears.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "A token of this server or of its identity provider." },
                "appKey": { "type": "http", "scheme": "bearer", "description": "The key of an app, as `package:key`." },
            },
        },
    })
}

fn operation_object(route: &Route, schemas: &mut SchemaGenerator, error: &Value) -> Value {
    let error = match route.failure {
        Some(own) => json!({ "anyOf": [own(schemas).to_value(), error] }),
        None => error.clone(),
    };
    let mut operation = json!({
        "summary": route.summary,
        "operationId": operation_id(route),
        "responses": {
            route.success.to_string(): success_response(route, schemas),
            "default": { "description": "The error, and what to do about it.", "content": { "application/json": { "schema": error } } },
        },
    });
    let parameters: Vec<Value> = operation_parameters(route).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(request) = route.request {
        let schema = request(schemas).to_value();
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    }
    let security = match route.access {
        RouteAccess::Public | RouteAccess::Socket => json!([]),
        RouteAccess::App => json!([{ "appKey": [] }]),
        RouteAccess::Authenticated
        | RouteAccess::Approver
        | RouteAccess::Caller
        | RouteAccess::Chat
        | RouteAccess::Session
        | RouteAccess::Owner
        | RouteAccess::Mcp => {
            json!([{ "token": [] }, { "appKey": [] }])
        }
        RouteAccess::Person
        | RouteAccess::User
        | RouteAccess::Developer
        | RouteAccess::Curator
        | RouteAccess::Operator
        | RouteAccess::Metrics => {
            json!([{ "token": [] }])
        }
    };
    operation["security"] = security;
    if route.deprecated {
        operation["deprecated"] = true.into();
    }
    operation
}

fn success_response(route: &Route, schemas: &mut SchemaGenerator) -> Value {
    match route.response {
        Some(response) => json!({
            "description": "Success.",
            "content": { "application/json": { "schema": response(schemas).to_value() } },
        }),
        None => json!({ "description": "Success." }),
    }
}

fn operation_parameters(route: &Route) -> impl Iterator<Item = Value> {
    let in_path = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let in_query = route.query.iter().map(|(name, text)| {
        json!({ "name": name, "in": "query", "description": text, "schema": { "type": "string" } })
    });
    let in_header = route.headers.iter().map(|(name, text)| {
        json!({ "name": name, "in": "header", "description": text, "schema": { "type": "string" } })
    });
    let user = matches!(
        route.access,
        RouteAccess::User | RouteAccess::Approver | RouteAccess::Caller | RouteAccess::Mcp
    )
    .then(|| {
        let text = "The user, if the credential is an app's key or an operator's token, or in dev mode.";
        json!({ "name": "X-User-Id", "in": "header", "description": text, "schema": { "type": "string" } })
    });
    in_path.chain(in_query).chain(in_header).chain(user)
}

/// `get_api_apps_package`
fn operation_id(route: &Route) -> String {
    let words = route.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(route.method.as_str().to_lowercase())
        .chain(words.map(str::to_lowercase))
        .collect::<Vec<_>>()
        .join("_")
}
