//! The results of a set, for people and as JSON.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::Serialize;

use super::{AnswerVerdict, EvalPrompt};

/// Results for some prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallingRow {
    /// Number of prompts.
    pub prompts: usize,
    /// Responses whose calls, if any, name a tool and match its schema.
    pub well_formed: usize,
    /// Responses with the expected tool, or without a call if none is expected.
    pub tool: usize,
    /// Of these, responses with the expected arguments.
    pub arguments: usize,
}

/// A prompt without the expected response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MissedPrompt {
    /// The prompt.
    pub text: String,
    /// The expected tool.
    pub tool: Option<String>,
    /// The response.
    pub said: String,
}

/// The results of a set.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallingReport {
    /// The model.
    pub model: String,
    /// Number of tools.
    pub tools: usize,
    /// All prompts.
    pub all: CallingRow,
    /// By expected tool. Plain talk is `none`.
    pub by_tool: BTreeMap<String, CallingRow>,
    /// The prompts without the expected response.
    pub misses: Vec<MissedPrompt>,
    /// Time of all responses, in seconds.
    #[serde(serialize_with = "crate::serialize_seconds")]
    pub time: Duration,
}

impl CallingReport {
    pub(super) fn new(model: String, tools: usize) -> Self {
        let (all, by_tool, misses) = (CallingRow::default(), BTreeMap::new(), Vec::new());
        Self { model, tools, all, by_tool, misses, time: Duration::ZERO }
    }

    pub(super) fn add(&mut self, prompt: &EvalPrompt, verdict: &AnswerVerdict, time: Duration) {
        let kind = prompt.tool.clone().unwrap_or_else(|| "none".to_owned());
        for row in [&mut self.all, self.by_tool.entry(kind).or_default()] {
            row.prompts += 1;
            row.well_formed += usize::from(verdict.well_formed);
            row.tool += usize::from(verdict.tool);
            row.arguments += usize::from(verdict.arguments);
        }
        if !verdict.arguments {
            let (text, tool, said) = (prompt.text.clone(), prompt.tool.clone(), verdict.said.clone());
            self.misses.push(MissedPrompt { text, tool, said });
        }
        self.time += time;
    }
}

impl fmt::Display for CallingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} tools, {} prompts", self.model, self.tools, self.all.prompts)?;
        writeln!(
            f,
            "{:<20}{:>9}{:>13}{:>12}{:>17}",
            "", "prompts", "well-formed", "right tool", "right arguments"
        )?;
        let all = [("all", &self.all)];
        for (name, row) in self.by_tool.iter().map(|(name, row)| (name.as_str(), row)).chain(all) {
            let CallingRow { prompts, well_formed, tool, arguments } = row;
            writeln!(f, "{name:<20}{prompts:>9}{well_formed:>13}{tool:>12}{arguments:>17}")?;
        }
        for miss in &self.misses {
            let tool = miss.tool.as_deref().unwrap_or("none");
            writeln!(f, "missed: {:?} expected {tool}, got {}", miss.text, miss.said)?;
        }
        let mean = self.time.as_secs_f64() / self.all.prompts.max(1) as f64;
        write!(f, "mean: {mean:.2} s per prompt")
    }
}
