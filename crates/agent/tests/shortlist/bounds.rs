//! Nothing breaks the index, whatever tools and users write.

use proptest::prelude::*;
use toolyard_agent::shortlist::{
    MAX_PARAMETERS, MAX_PHRASES, MAX_QUERY_BYTES, MAX_QUERY_WORDS, MAX_RECENT_WORDS, MAX_TOOL_BYTES,
    MAX_TOOLS, ToolDocument, ToolIndex, ToolQuery, pick_tools,
};

fn finds(tool: ToolDocument<'_>, text: &str) -> bool {
    let other = ToolDocument { key: 1, name: "other", description: "Else.", ..ToolDocument::default() };
    let index = ToolIndex::build([tool, other], None);
    index.search(&ToolQuery::new(text), 2).iter().any(|hit| hit.key == 0)
}

#[test]
fn tools_beyond_the_bound_are_counted() {
    let tool = |key| ToolDocument {
        key,
        name: if key == MAX_TOOLS { "last" } else { "tool" },
        ..Default::default()
    };
    let index = ToolIndex::build((0..=MAX_TOOLS).map(tool), None);
    assert_eq!((index.len(), index.left_out()), (MAX_TOOLS, 1));
    assert!(index.search(&ToolQuery::new("last"), 1).is_empty());
    assert_eq!(index.search(&ToolQuery::new("tool"), 1)[0].key, 0);
}

#[test]
fn the_text_of_a_tool_is_cut() {
    let text = |fill: usize| format!("{} lamp", "x".repeat(fill));
    let (short, long) = (text(MAX_TOOL_BYTES - 5), text(MAX_TOOL_BYTES - 4));
    assert!(finds(ToolDocument { description: &short, ..Default::default() }, "lamp"));
    assert!(!finds(ToolDocument { description: &long, ..Default::default() }, "lamp"));
    let after = ToolDocument { description: &long, parameters: vec![("lamp", "")], ..Default::default() };
    assert!(!finds(after, "lamp"), "all fields share the bound");
}

#[test]
fn parameters_and_phrases_have_bounds() {
    let mut parameters = vec![("a", ""); MAX_PARAMETERS - 1];
    parameters.push(("kettle", ""));
    assert!(finds(ToolDocument { parameters: parameters.clone(), ..Default::default() }, "kettle"));
    parameters.insert(0, ("a", ""));
    assert!(!finds(ToolDocument { parameters, ..Default::default() }, "kettle"));
    let mut phrases = vec![("a", None); MAX_PHRASES - 1];
    phrases.push(("kettle", None));
    assert!(finds(ToolDocument { phrases: phrases.clone(), ..Default::default() }, "kettle"));
    phrases.insert(0, ("a", None));
    assert!(!finds(ToolDocument { phrases, ..Default::default() }, "kettle"));
}

#[test]
fn questions_are_cut() {
    let tool = || ToolDocument { name: "lamp", ..Default::default() };
    let padded = |fill: usize| format!("{} lamp", "x".repeat(fill));
    assert!(finds(tool(), &padded(MAX_QUERY_BYTES - 5)));
    assert!(!finds(tool(), &padded(MAX_QUERY_BYTES - 4)));
    let words = |count: usize| (0..count).map(|at| format!("w{at} ")).collect::<String>();
    assert!(finds(tool(), &(words(MAX_QUERY_WORDS - 1) + "lamps")));
    assert!(!finds(tool(), &(words(MAX_QUERY_WORDS) + "lamps")));
}

#[test]
fn earlier_texts_are_cut() {
    let other = ToolDocument { key: 1, name: "other", ..Default::default() };
    let index = ToolIndex::build([ToolDocument { name: "kettle", ..Default::default() }, other], None);
    let words = |count: usize| (0..count).map(|at| format!("w{at} ")).collect::<String>();
    let found =
        |first: &str| !index.search(&ToolQuery { text: "", recent: vec![first, "kettle"] }, 2).is_empty();
    assert!(found(&words(MAX_RECENT_WORDS - 1)));
    assert!(!found(&words(MAX_RECENT_WORDS)));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-zA-Z0-9_. \\-]{0,40}",
        "[\u{3041}-\u{30ff}一-龥ก-๛ a-z]{0,20}",
        "[äöüßéàñçİıǅς' ]{0,20}"
    ]
}

proptest! {
    #[test]
    fn any_tools_and_any_question(
        tools in proptest::collection::vec((text(), text(), text(), text()), 0..12),
        question in text(),
        recent in proptest::collection::vec(text(), 0..3),
        tag in prop_oneof![Just("en"), Just("de"), Just("ru"), Just("fr"), Just("fi"), Just("hu"), Just("ro"), Just("zz")],
        limit in 0_usize..14,
    ) {
        let document = |(key, (a, b, c, d)): (usize, &'_ (String, String, String, String))| (key, a.clone(), b.clone(), c.clone(), d.clone());
        let owned: Vec<_> = tools.iter().enumerate().map(document).collect();
        let documents = owned.iter().map(|(key, name, title, description, phrase)| ToolDocument {
            key: *key,
            name,
            title,
            app_name: title,
            description,
            aliases: vec![phrase],
            parameters: vec![(title, description)],
            phrases: vec![(phrase, Some(tag)), (description, None)],
        });
        let index = ToolIndex::build(documents, None);
        let query = ToolQuery { text: &question, recent: recent.iter().map(String::as_str).collect() };
        let hits = index.search(&query, limit);
        prop_assert!(hits.len() <= limit);
        prop_assert!(hits.iter().all(|hit| hit.score.is_finite() && hit.key < tools.len()));
        prop_assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
        let picked = pick_tools(&index, &query, &[0, 3], limit);
        prop_assert!(picked.is_sorted_by(|a, b| a < b));
        if tools.len() <= limit {
            prop_assert_eq!(picked.len(), tools.len());
        } else {
            prop_assert!(picked.len() >= limit && picked.len() <= limit + limit.div_ceil(2));
        }
    }
}
