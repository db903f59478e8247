//! Which tools a model is offered.

use toolyard_agent::shortlist::{ToolDocument, ToolIndex, ToolQuery, pick_tools};

use crate::sample;

/// Ten apps with ten tools each. The key is app times ten plus tool.
fn hundred() -> ToolIndex {
    let names: Vec<String> =
        (0..100).map(|key| format!("do_{}_{}", word(key / 10), word(key % 10))).collect();
    let apps: Vec<String> = (0..10).map(|app| format!("App {}", word(app))).collect();
    let tool = |key: usize| ToolDocument {
        key,
        name: &names[key],
        app_name: &apps[key / 10],
        description: "Frobnicates things.",
        ..ToolDocument::default()
    };
    ToolIndex::build((0..100).map(tool), None)
}

fn word(number: usize) -> &'static str {
    ["nil", "uno", "duo", "tri", "quad", "pent", "hex", "sept", "oct", "non"][number]
}

#[test]
fn below_the_limit_nothing_is_dropped() {
    assert_eq!(pick_tools(&sample(), &ToolQuery::new("unrelated"), &[], 5), [0, 10, 20, 30, 40]);
    assert_eq!(pick_tools(&sample(), &ToolQuery::new("unrelated"), &[], 4).len(), 4);
}

#[test]
fn what_fits_is_picked_in_the_order_of_the_view() {
    assert_eq!(pick_tools(&sample(), &ToolQuery::new("door, then the weather"), &[], 2), [10, 40]);
}

#[test]
fn a_tool_that_is_named_has_a_place() {
    let index = hundred();
    let noise = "frobnicates things app uno ".repeat(20);
    for name in ["do_sept_tri", "DoSeptTri", "do sept tri"] {
        assert!(
            pick_tools(&index, &ToolQuery::new(&format!("{noise} {name}")), &[], 4).contains(&73),
            "{name}"
        );
    }
}

#[test]
fn an_alias_and_a_phrase_win_a_place_against_better_words() {
    let crowd = (0..9).map(|key| ToolDocument { key, name: "sort_photos", ..ToolDocument::default() });
    let named = ToolDocument {
        key: 9,
        name: "x1",
        aliases: vec!["misc__old_gadget"],
        phrases: vec![("how about this", None)],
        ..ToolDocument::default()
    };
    let index = ToolIndex::build(crowd.chain([named]), None);
    let picked = |text| pick_tools(&index, &ToolQuery::new(text), &[], 2);
    assert_eq!(picked("sort photos"), [0, 1]);
    assert_eq!(picked("sort photos with misc:oldGadget"), [0, 9]);
    assert_eq!(picked("sort photos, how about this?"), [0, 9]);
}

#[test]
fn an_app_that_is_named_has_a_third_of_the_places() {
    let index = hundred();
    let picked = pick_tools(&index, &ToolQuery::new("things in app-hex, app sept"), &[], 6);
    assert!(picked.iter().filter(|key| **key / 10 == 6).count() >= 2, "{picked:?}");
    assert!(picked.iter().filter(|key| **key / 10 == 7).count() >= 2, "{picked:?}");
}

#[test]
fn what_was_used_stays() {
    let index = hundred();
    let picked = pick_tools(&index, &ToolQuery::new("do uno tri"), &[99, 42, 1_000], 4);
    assert!([13, 42, 99].iter().all(|key| picked.contains(key)), "{picked:?}");
    assert_eq!(picked.len(), 4);
    assert!(picked.is_sorted());
}

#[test]
fn much_use_does_not_crowd_out_the_rest() {
    let index = hundred();
    let used: Vec<usize> = (20..40).chain([20]).collect();
    let picked = pick_tools(&index, &ToolQuery::new("do uno tri"), &used, 8);
    assert_eq!(picked.len(), 12, "one and a half times the limit");
    assert!(picked.contains(&13) && picked.contains(&20) && picked.contains(&39), "{picked:?}");
    assert!(!picked.contains(&21), "used longest ago: {picked:?}");
}

#[test]
fn without_a_clue_each_app_is_shown() {
    let picked = pick_tools(&hundred(), &ToolQuery::new("hello"), &[], 20);
    assert_eq!(picked, (0..10).flat_map(|app| [app * 10, app * 10 + 1]).collect::<Vec<_>>());
}

#[test]
fn the_smallest_limits_work() {
    assert_eq!(pick_tools(&hundred(), &ToolQuery::new("do uno tri"), &[], 1), [13]);
    assert!(pick_tools(&hundred(), &ToolQuery::new("do uno tri"), &[], 0).is_empty());
}
