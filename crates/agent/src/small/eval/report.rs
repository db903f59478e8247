//! The numbers of a set, for people and as JSON.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{Serialize, Serializer};

use super::{AnswerVerdict, EvalPrompt};

/// Results over some prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallingRow {
    /// How many prompts.
    pub prompts: usize,
    /// Answers whose calls, if any, name a tool and fit its schema.
    pub well_formed: usize,
    /// Answers with the right tool, or rightly none.
    pub tool: usize,
    /// Those of them with the right arguments.
    pub arguments: usize,
}

/// A prompt that was not answered rightly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MissedPrompt {
    /// What was asked.
    pub text: String,
    /// The right tool.
    pub tool: Option<String>,
    /// What came.
    pub said: String,
}

/// What came out.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallingReport {
    /// The model.
    pub model: String,
    /// How many tools.
    pub tools: usize,
    /// All prompts.
    pub all: CallingRow,
    /// By the right tool; plain talk is `none`.
    pub by_tool: BTreeMap<String, CallingRow>,
    /// What went wrong.
    pub misses: Vec<MissedPrompt>,
    /// Time of all answers, in seconds.
    #[serde(serialize_with = "serialize_seconds")]
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
            writeln!(f, "missed: {:?} wants {tool}, got {}", miss.text, miss.said)?;
        }
        let mean = self.time.as_secs_f64() / self.all.prompts.max(1) as f64;
        write!(f, "{mean:.2} s a prompt in the mean")
    }
}

fn serialize_seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}
