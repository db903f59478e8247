//! Whether data can leak by a combination of harmless calls: call sequences replayed through the real executor, without a
//! model.
//!
//! A set has tools, tasks of users and goals of attackers, each with the calls that reach it. The calls of a task are made
//! in one conversation; then those of an attacker, as if the model had followed an instruction that it read. A question
//! about a call of the user's task is answered with yes. A question about a call of the attacker stops it: nobody says yes
//! to something that they did not ask for.

mod desk;
mod replay;
mod set;

pub use self::{
    desk::{DeskError, ReplayDesk, ReplayedCall},
    replay::{SuiteReport, replay_suite},
    set::{CallSet, CallSuite, ReplayTool, SuiteTask, ToolCallRecord, read_label_settings},
};
