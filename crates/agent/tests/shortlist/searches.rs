//! What a search finds.

use toolyard_agent::shortlist::{Mention, ToolDocument, ToolIndex, ToolQuery};

use crate::{document, sample};

fn found(text: &str) -> Vec<usize> {
    sample().search(&ToolQuery::new(text), 5).iter().map(|hit| hit.key).collect()
}

#[test]
fn words_meet_by_their_stems() {
    assert_eq!(found("switching the light"), [20]);
    assert_eq!(found("tasks"), [0]);
    assert!(found("entirely unrelated").is_empty());
    assert!(found("").is_empty());
}

#[test]
fn phrases_are_met_in_their_language() {
    assert_eq!(found("Mach das Licht bitte aus"), [20]);
    assert_eq!(found("erinnere mich an Brot"), [0]);
    assert_eq!(found("明日の天気はどうですか"), [10]);
    assert_eq!(found("東京の天気"), [10], "one pair in common");
}

#[test]
fn a_hit_says_why() {
    let hit = sample().search(&ToolQuery::new("use get user info v2"), 1)[0];
    assert_eq!((hit.key, hit.parts.mention, hit.parts.meaning), (30, Some(Mention::Tool), 0.0));
    assert!(hit.parts.words > 0.0 && hit.score >= hit.parts.words);
    let hit = sample().search(&ToolQuery::new("remind me to eat"), 1)[0];
    assert_eq!(hit.parts.mention, Some(Mention::Phrase));
    let hit = sample().search(&ToolQuery::new("hearth home: lock it"), 1)[0];
    assert_eq!((hit.key, hit.parts.mention), (40, Some(Mention::App)));
}

#[test]
fn what_came_before_counts_less() {
    let index = sample();
    let first = |text, recent| index.search(&ToolQuery { text, recent }, 5).first().map(|hit| hit.key);
    assert_eq!(first("yes, do it", vec!["Shall I lock the door?"]), Some(40));
    assert_eq!(first("add a task", vec!["lock the door, lock the door", "lights"]), Some(0));
    assert_eq!(first("yes", vec!["weather", "task"]), Some(10), "the newest first");
    let long = "door lock unlock ".repeat(100);
    assert_eq!(first("add a task", vec![&long]), Some(0), "however long it is");
}

#[test]
fn equals_keep_the_order_of_the_view() {
    let twins = (0..3).map(|key| document(key, ("same", "App", "Does the same.", &[])));
    let index = ToolIndex::build(twins, None);
    let keys: Vec<_> =
        index.search(&ToolQuery::new("does something same"), 2).iter().map(|hit| hit.key).collect();
    assert_eq!(keys, [0, 1]);
}

#[test]
fn an_empty_view_has_nothing() {
    let index = ToolIndex::build(std::iter::empty::<ToolDocument<'_>>(), None);
    assert!(index.is_empty());
    assert!(index.search(&ToolQuery::new("anything"), 5).is_empty());
}

#[test]
fn parameters_and_titles_are_searched() {
    let tool = ToolDocument {
        name: "x1",
        title: "Split the bill",
        parameters: vec![("tip_percent", "Gratuity")],
        ..ToolDocument::default()
    };
    let other = ToolDocument { key: 1, name: "other", ..ToolDocument::default() };
    let index = ToolIndex::build([tool, other], None);
    for text in ["bills", "tip", "gratuity"] {
        assert_eq!(index.search(&ToolQuery::new(text), 5).len(), 1, "{text}");
    }
}
