//! What a view shows, hides and finds.

use jiff::Timestamp;
use serde_json::{Value, json, value::RawValue};
use toolyard_protocol::{app::AppDetails, items::AppItems};

use super::*;
use crate::ports::{AppRecord, PackageOrigin, StoredToolSet};

fn app(package: &str, tools: &[Value], resources: &[&str]) -> Arc<AppEntry> {
    let record = AppRecord {
        package: package.parse().unwrap(),
        details: AppDetails::default(),
        owner: "dev".to_owned(),
        origin: PackageOrigin::Builtin,
        assistant: false,
        tools_version: 1,
        tool_count: tools.len() as u64,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let raws = |values: Vec<Value>| values.iter().map(to_raw).collect::<Vec<Box<RawValue>>>();
    let resources = resources.iter().map(|uri| json!({ "uri": uri, "name": uri })).collect();
    let items = AppItems { resources: raws(resources), ..AppItems::default() };
    let tools = raws(tools.to_vec());
    let set = StoredToolSet { items, hash: String::new(), by: String::new(), tools };
    Arc::new(AppEntry::from_app(record, 1, Arc::default(), Some(&set)))
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "x", "inputSchema": { "type": "object" } })
}

fn view(limits: ViewLimits, apps: &[Arc<AppEntry>]) -> CatalogView {
    let mut builder = ViewBuilder::new("ada".parse().unwrap(), Arc::default(), limits);
    for app in apps {
        builder.depends_on(app, true);
        app.tools.iter().for_each(|tool| builder.show_tool(tool));
        builder.show_items(app);
    }
    CatalogView::new(Arc::new(builder.build()), ViewScope::Everything)
}

fn names(view: &CatalogView) -> Vec<&str> {
    view.tools().map(|tool| tool.name.as_str()).collect()
}

fn hidden(view: &CatalogView) -> Vec<(&str, HiddenKind)> {
    view.hidden_tools().map(|hidden| (hidden.name.as_str(), hidden.kind)).collect()
}

fn code(view: &CatalogView, name: &str) -> Option<ErrorCode> {
    view.find_tool(&name.parse().unwrap()).err().map(|error| error.code)
}

#[test]
fn a_tool_is_found_by_both_names_and_a_missing_one_is_not() {
    let view = view(ViewLimits::default(), &[app("com.a", &[tool("add")], &[])]);
    let shown = view.tools().next().unwrap();
    for name in ["com.a:add", shown.alias.as_str()] {
        assert_eq!(code(&view, name), None, "{name}");
    }
    assert_eq!(code(&view, "com.a:sub"), Some(ErrorCode::ToolNotFound));
}

#[test]
fn the_earlier_tool_keeps_an_alias_and_the_later_one_is_hidden() {
    let first = app("com.a", &[tool("add")], &[]);
    let view = view(ViewLimits::default(), &[first.clone(), first]);
    assert_eq!(names(&view), ["com.a:add"]);
    assert_eq!(hidden(&view), [("com.a:add", HiddenKind::AliasTaken)]);
}

#[test]
fn a_full_view_hides_the_tools_beyond_its_limit_and_keeps_the_order() {
    let apps = [app("com.b", &[tool("x"), tool("y")], &[]), app("com.a", &[tool("z")], &[])];
    let view = view(ViewLimits { tools: 2, ..ViewLimits::default() }, &apps);
    assert_eq!(names(&view), ["com.b:x", "com.b:y"]);
    assert_eq!(hidden(&view), [("com.a:z", HiddenKind::ViewFull)]);
    assert_eq!(code(&view, "com.a:z"), Some(ErrorCode::ToolNotFound), "hidden is not found");
}

#[test]
fn the_size_of_all_definitions_is_bounded_and_a_smaller_tool_still_fits() {
    let long =
        json!({ "name": "long", "description": "x".repeat(1000), "inputSchema": { "type": "object" } });
    let apps = [app("com.a", &[tool("one"), long, tool("two")], &[])];
    let small: usize =
        view(ViewLimits::default(), &apps).tools().filter(|tool| tool.listed.len() < 1000).count();
    assert_eq!(small, 2);
    let view = view(ViewLimits { bytes: 1000, ..ViewLimits::default() }, &apps);
    assert_eq!(names(&view), ["com.a:one", "com.a:two"]);
    assert_eq!(hidden(&view), [("com.a:long", HiddenKind::ViewFull)]);
    assert!(view.definition_bytes() <= 1000);
}

#[test]
fn an_app_without_the_grant_sees_its_own_package_only() {
    let apps = [app("com.a", &[tool("x")], &["file:///a"]), app("com.b", &[tool("y")], &["file:///b"])];
    let all = view(ViewLimits::default(), &apps);
    let own = CatalogView::new(all.all.clone(), ViewScope::Package("com.b".parse().unwrap()));
    assert_eq!(names(&own), ["com.b:y"]);
    assert_eq!(code(&own, "com.a:x"), Some(ErrorCode::ToolNotFound));
    let found = |view: &CatalogView, uri| view.find_resource(uri).map(|(app, _)| app.head.package().clone());
    assert_eq!(found(&own, "file:///a"), None);
    assert_eq!(found(&own, "file:///b"), Some("com.b".parse().unwrap()));
    assert_eq!(found(&all, "file:///a"), Some("com.a".parse().unwrap()));
    let listed = String::from_utf8(own.listing(None).body.to_vec()).unwrap();
    assert!(listed.contains("com.b:y") && !listed.contains("com.a:x"), "{listed}");
}

#[test]
fn a_restricted_view_neither_lists_nor_finds_the_other_tools_and_caches_nothing() {
    let all = view(ViewLimits::default(), &[app("com.a", &[tool("x"), tool("y")], &[])]);
    let whole = all.listing(None);
    let one = all.restrict_to(HashSet::from(["com.a:y".parse().unwrap()]));
    assert_eq!(names(&one), ["com.a:y"]);
    assert_eq!(code(&one, "com.a:x"), Some(ErrorCode::ToolNotFound));
    assert_ne!(one.listing(None).etag, whole.etag);
    assert_ne!(one.list_fingerprint(McpListKind::Tools), all.list_fingerprint(McpListKind::Tools));
    assert_eq!(all.listing(None).etag, whole.etag);
    assert_eq!(names(&one.without_restriction()), names(&all));
}

#[test]
fn a_resource_that_two_packages_list_belongs_to_neither() {
    let apps = [app("com.a", &[], &["file:///same"]), app("com.b", &[], &["file:///same"])];
    let view = view(ViewLimits::default(), &apps);
    assert!(view.find_resource("file:///same").is_none());
    let mapped = uri::map_uri(apps[1].head.package(), "file:///same").unwrap();
    let (owner, remote) = view.find_resource(&mapped).unwrap();
    assert_eq!((owner.head.package().as_str(), remote.as_str()), ("com.b", "file:///same"));
}
