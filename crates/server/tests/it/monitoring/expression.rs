//! What a PromQL expression uses. Enough for our own expressions, not a parser.

use std::collections::BTreeMap;

/// Words that are neither functions nor metrics.
const WORDS: [&str; 4] = ["and", "or", "unless", "bool"];
/// Words that are followed by labels in parentheses.
const GROUPING: [&str; 4] = ["by", "without", "on", "ignoring"];

/// A metric in an expression, with the values that its labels must have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UsedMetric {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, Vec<String>>,
}

/// The metrics of an expression.
pub(super) fn used_metrics(expression: &str) -> Vec<UsedMetric> {
    let mut metrics = Vec::new();
    let mut rest = without_groupings(expression);
    while let Some((word, after)) = next_word(&rest) {
        let is_function = after.trim_start().starts_with('(');
        let (selector, after) = match after.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
            Some((selector, after)) => (selector.to_owned(), after.to_owned()),
            None => (String::new(), after),
        };
        if !is_function && !WORDS.contains(&word.as_str()) {
            metrics.push(UsedMetric { name: word, labels: selected_labels(&selector) });
        }
        rest = after;
    }
    metrics
}

/// The labels by which an expression groups.
pub(super) fn grouping_labels(expression: &str) -> Vec<String> {
    groupings(expression)
        .into_iter()
        .flat_map(|(_, inside)| inside.split(',').map(|label| label.trim().to_owned()).collect::<Vec<_>>())
        .collect()
}

/// `by (le, instance)` as it stands, and its inside.
fn groupings(expression: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for word in GROUPING {
        let start = format!(" {word} (");
        for (at, _) in expression.match_indices(&start) {
            let inside = expression[at + start.len()..].split(')').next().unwrap_or_default();
            found.push((format!("{start}{inside})"), inside.to_owned()));
        }
    }
    found
}

fn without_groupings(expression: &str) -> String {
    groupings(expression)
        .into_iter()
        .fold(expression.to_owned(), |text, (whole, _)| text.replace(&whole, " "))
}

/// The next identifier outside of numbers, ranges and texts, and what follows it.
fn next_word(text: &str) -> Option<(String, String)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let mut rest = text;
    loop {
        let at = rest.find(|c: char| is_word(c) || c == '[' || c == '"')?;
        rest = &rest[at..];
        let end = match rest.chars().next()? {
            '[' => rest.find(']')? + 1,
            '"' => rest[1..].find('"')? + 2,
            first => {
                let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
                if !first.is_ascii_digit() {
                    return Some((rest[..end].to_owned(), rest[end..].to_owned()));
                }
                end
            }
        };
        rest = &rest[end..];
    }
}

/// `outcome=~"A|B",job="toolyard"`. Values with a variable of the dashboard are left out.
fn selected_labels(selector: &str) -> BTreeMap<String, Vec<String>> {
    let mut labels = BTreeMap::new();
    for one in selector.split(',').filter(|one| !one.trim().is_empty()) {
        let (label, value) = one.split_once('=').unwrap();
        let value = value.trim_start_matches('~').trim_matches('"');
        let values = value.split('|').filter(|value| !value.contains('$')).map(str::to_owned);
        labels.insert(label.trim().trim_end_matches('!').to_owned(), values.collect());
    }
    labels
}

#[test]
fn metrics_labels_and_groupings_are_found() {
    let expression =
        r#"sum by (instance) (rate(a_total{outcome=~"X|Y",job="t"}[10m])) / b > 0.5 and c{d!="e"} == 10"#;
    let used = used_metrics(expression);
    let names: Vec<_> = used.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["a_total", "b", "c"]);
    assert_eq!(used[0].labels["outcome"], ["X", "Y"]);
    assert_eq!(used[2].labels["d"], ["e"]);
    assert_eq!(grouping_labels(expression), ["instance"]);
}
