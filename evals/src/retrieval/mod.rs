//! Measures the shortlist with a set of tools and questions: the share of the expected tools among the first k.
//!
//! Both files are JSON Lines. A tool is an MCP definition, optionally with `package`, `app` (its name for people) and
//! `mentraExtensions.activationPhrases`. Its id is `package:name`, or its name alone. A question has a `text`, the
//! expected `tools`, and optionally a `kind` and `recent` texts, newest first.

mod questions;
mod report;

use std::{collections::HashMap, io::BufRead, sync::Arc, time::Duration};

use toolyard_agent::shortlist::{
    DEFAULT_LIMIT, ToolDocument, ToolIndex, ToolQuery, parameters_of, phrases_of, pick_tools,
};

pub use report::{KS, RecallRow, ShortlistReport};
pub use toolyard_agent::shortlist::vectors::{VectorsError, WordVectors};

use crate::json_lines::EvalFileError;
use questions::{EvalQuestion, EvalTool};

/// Measures a set. `now` is a monotonic clock.
pub fn measure_shortlist(
    tools: impl BufRead,
    questions: impl BufRead,
    vectors: Option<Arc<WordVectors>>,
    mut now: impl FnMut() -> Duration,
) -> Result<ShortlistReport, EvalFileError> {
    let tools = questions::read_tools(tools)?;
    let by_name: HashMap<String, usize> = tools.iter().map(EvalTool::id).zip(0..).collect();
    let questions = questions::read_questions(questions, |name| by_name.get(name).copied())?;
    let (start, has_vectors) = (now(), vectors.is_some());
    let index = ToolIndex::build((0..).zip(&tools).map(|(key, tool)| eval_tool_document(key, tool)), vectors);
    let mut report = ShortlistReport::new(&index, has_vectors, now().saturating_sub(start));
    for question in &questions {
        let query =
            ToolQuery { text: &question.text, recent: question.recent.iter().map(String::as_str).collect() };
        let start = now();
        let hits = index.search(&query, KS[KS.len() - 1]);
        let time = now().saturating_sub(start);
        let ranked: Vec<usize> = hits.iter().map(|hit| hit.key).collect();
        let picked = pick_tools(&index, &query, &[], DEFAULT_LIMIT);
        report.add(question, &ranked, &picked, time);
    }
    Ok(report.finish())
}

fn eval_tool_document(key: usize, tool: &EvalTool) -> ToolDocument<'_> {
    let phrases = tool.extensions.activation_phrases.as_ref();
    ToolDocument {
        key,
        name: &tool.name,
        aliases: Vec::new(),
        title: tool.title.as_deref().unwrap_or_default(),
        app_name: tool.app.as_deref().unwrap_or_default(),
        description: tool.description.as_deref().unwrap_or_default(),
        parameters: parameters_of(&tool.input_schema),
        phrases: phrases.map(phrases_of).unwrap_or_default(),
    }
}

/// The share of the expected tools that was found.
fn recall_share(question: &EvalQuestion, found: &[usize]) -> f64 {
    let right = question.right.iter().filter(|tool| found.contains(tool)).count();
    right as f64 / question.right.len() as f64
}
