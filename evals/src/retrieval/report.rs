//! The results of a set, for people and as JSON.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::Serialize;
use toolyard_agent::shortlist::ToolIndex;

use super::{EvalQuestion, recall_share};

/// The values of k.
pub const KS: [usize; 5] = [1, 3, 5, 10, 24];

/// Results for some questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct RecallRow {
    /// Number of questions.
    pub questions: usize,
    /// Share of the expected tools among the first 1, 3, 5, 10 and 24, averaged over the questions.
    pub recall: [f64; KS.len()],
    /// Share of the expected tools in the shortlist.
    pub picked: f64,
}

/// The results of a set.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShortlistReport {
    /// Number of tools.
    pub tools: usize,
    /// Whether word vectors were used.
    pub vectors: bool,
    /// All questions.
    pub all: RecallRow,
    /// By kind, if questions have one.
    pub kinds: BTreeMap<String, RecallRow>,
    /// Memory of the index, in bytes.
    pub index_bytes: usize,
    /// Time to build the index, in seconds.
    #[serde(serialize_with = "crate::serialize_seconds")]
    pub build: Duration,
    /// Mean time of a search, in seconds.
    #[serde(serialize_with = "crate::serialize_seconds")]
    pub mean: Duration,
    /// 95th percentile of the search time, in seconds.
    #[serde(serialize_with = "crate::serialize_seconds")]
    pub p95: Duration,
    #[serde(skip)]
    times: Vec<Duration>,
}

impl ShortlistReport {
    pub(super) fn new(index: &ToolIndex, vectors: bool, build: Duration) -> Self {
        Self {
            tools: index.len(),
            vectors,
            all: RecallRow::default(),
            kinds: BTreeMap::new(),
            index_bytes: index.memory_bytes(),
            build,
            mean: Duration::ZERO,
            p95: Duration::ZERO,
            times: Vec::new(),
        }
    }

    pub(super) fn add(
        &mut self,
        question: &EvalQuestion,
        ranked: &[usize],
        picked: &[usize],
        time: Duration,
    ) {
        let recalls = KS.map(|k| recall_share(question, &ranked[..k.min(ranked.len())]));
        let picked = recall_share(question, picked);
        self.all.add(recalls, picked);
        if let Some(kind) = &question.kind {
            self.kinds.entry(kind.clone()).or_default().add(recalls, picked);
        }
        self.times.push(time);
    }

    pub(super) fn finish(mut self) -> Self {
        self.all.divide_sums();
        self.kinds.values_mut().for_each(RecallRow::divide_sums);
        self.times.sort_unstable();
        let count = self.times.len();
        self.mean = self.times.iter().sum::<Duration>() / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        self.p95 = self.times.get((count * 95).div_ceil(100).saturating_sub(1)).copied().unwrap_or_default();
        self
    }
}

impl RecallRow {
    fn add(&mut self, recalls: [f64; KS.len()], picked: f64) {
        self.questions += 1;
        self.recall.iter_mut().zip(recalls).for_each(|(sum, recall)| *sum += recall);
        self.picked += picked;
    }

    fn divide_sums(&mut self) {
        let count = self.questions.max(1) as f64;
        self.recall.iter_mut().for_each(|sum| *sum /= count);
        self.picked /= count;
    }
}

impl fmt::Display for ShortlistReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vectors = if self.vectors { "with" } else { "without" };
        writeln!(f, "{} tools, {} questions, {vectors} word vectors", self.tools, self.all.questions)?;
        write!(f, "{:<16}{:>10}", "recall at", "questions")?;
        KS.iter().try_for_each(|k| write!(f, "{k:>8}"))?;
        writeln!(f, "{:>8}", "picked")?;
        let all = [("all", &self.all)];
        for (name, row) in self.kinds.iter().map(|(kind, row)| (kind.as_str(), row)).chain(all) {
            write!(f, "{name:<16}{:>10}", row.questions)?;
            row.recall
                .iter()
                .chain([&row.picked])
                .try_for_each(|recall| write!(f, "{:>8.1}", 100.0 * recall))?;
            writeln!(f)?;
        }
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let (build, kib) = (self.build.as_secs_f64() * 1e3, self.index_bytes / 1024);
        writeln!(f, "index: built in {build:.1} ms, {kib} KiB")?;
        write!(f, "search: mean {:.0} µs, 95th percentile {:.0} µs", micros(self.mean), micros(self.p95))
    }
}
