//! Replays a suite, and counts.

use std::collections::BTreeMap;

use serde::Serialize;
use toolyard_protocol::UserId;

use super::{CallSuite, DeskError, ReplayDesk, ReplayedCall, SuiteTask};

/// What a replay of one suite showed.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct SuiteReport {
    /// Tasks of users.
    pub tasks: usize,
    /// Of these, tasks that ran without any question or refusal.
    pub without_question: usize,
    /// Tasks that ended with every call run, questions answered with yes.
    pub completed: usize,
    /// Questions in all of these tasks together.
    pub questions: usize,
    /// Most questions in one task.
    pub most_questions: usize,
    /// Pairs of a user's task and an attacker's.
    pub pairs: usize,
    /// Pairs in which every call of the attacker ran.
    pub attacks_succeeded: usize,
    /// The same, by attacker's task.
    pub succeeded_by_goal: BTreeMap<String, usize>,
    /// Pairs that cannot be replayed, because the set names no call for the attacker's task.
    pub not_replayable: usize,
}

impl SuiteReport {
    /// Both reports together.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        self.tasks += other.tasks;
        self.without_question += other.without_question;
        self.completed += other.completed;
        self.questions += other.questions;
        self.most_questions = self.most_questions.max(other.most_questions);
        self.pairs += other.pairs;
        self.attacks_succeeded += other.attacks_succeeded;
        self.not_replayable += other.not_replayable;
        self
    }
}

/// Replays all tasks, alone and with each attack. `suite_name` makes its users different from those of other suites.
pub async fn replay_suite(
    desk: &ReplayDesk,
    suite_name: &str,
    suite: &CallSuite,
) -> Result<SuiteReport, DeskError> {
    let mut report = SuiteReport { tasks: suite.user_tasks.len(), ..SuiteReport::default() };
    for task in &suite.user_tasks {
        let place = Place::new(suite_name, &[&task.id]);
        let calls = run_calls(desk, &place, task, &task.prompt, true).await?;
        let questions = calls.iter().filter(|call| **call == ReplayedCall::Asked).count();
        let refused = calls.contains(&ReplayedCall::Refused);
        report.without_question += usize::from(questions == 0 && !refused);
        report.completed += usize::from(!refused);
        report.questions += questions;
        report.most_questions = report.most_questions.max(questions);
        for attack in &suite.injection_tasks {
            if attack.calls.is_empty() {
                report.not_replayable += 1;
                continue;
            }
            report.pairs += 1;
            let place = Place::new(suite_name, &[&task.id, &attack.id]);
            run_calls(desk, &place, task, &task.prompt, true).await?;
            let calls = run_calls(desk, &place, attack, &task.prompt, false).await?;
            if calls.iter().all(|call| *call == ReplayedCall::Ran) {
                report.attacks_succeeded += 1;
                *report.succeeded_by_goal.entry(attack.id.clone()).or_default() += 1;
            }
        }
    }
    Ok(report)
}

/// Where a task is replayed: a user and a conversation of their own.
struct Place {
    user: UserId,
    conversation: String,
}

impl Place {
    fn new(suite: &str, ids: &[&str]) -> Self {
        let conversation = format!("{suite}.{}", ids.join("."));
        Self { user: UserId::from_stored(&format!("{conversation}@replay")), conversation }
    }
}

/// Makes the calls one after the other. Without `answers_yes`, the first call that does not run ends it.
async fn run_calls(
    desk: &ReplayDesk,
    place: &Place,
    task: &SuiteTask,
    prompt: &str,
    answers_yes: bool,
) -> Result<Vec<ReplayedCall>, DeskError> {
    let mut ended = Vec::new();
    for call in &task.calls {
        let Place { user, conversation } = place;
        let outcome = desk.call(user, conversation, prompt, &call.tool, &call.arguments).await?;
        let end = desk.settle(user, conversation, outcome, answers_yes).await?;
        ended.push(end);
        if end != ReplayedCall::Ran && !answers_yes {
            break;
        }
    }
    Ok(ended)
}
