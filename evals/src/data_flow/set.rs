//! A set of tools and call sequences, and the operator's settings for it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolyard_core::data_flow::LabelSettings;
use toolyard_protocol::approval::{DataFlowPolicy, DataLabel};

/// Suites by name.
#[derive(Debug, Deserialize)]
pub struct CallSet {
    /// Where it comes from, and its licence.
    pub source: String,
    /// The suites.
    pub suites: BTreeMap<String, CallSuite>,
}

/// Tools, and what is done with them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallSuite {
    /// The tools.
    pub tools: Vec<ReplayTool>,
    /// What users want.
    pub user_tasks: Vec<SuiteTask>,
    /// What attackers want.
    pub injection_tasks: Vec<SuiteTask>,
}

/// A tool.
#[derive(Debug, Deserialize)]
pub struct ReplayTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its arguments.
    pub properties: Map<String, Value>,
}

/// A task, and the calls that reach its goal.
#[derive(Debug, Deserialize)]
pub struct SuiteTask {
    /// Its id.
    pub id: String,
    /// What the user writes. Attackers' tasks have none.
    #[serde(default)]
    pub prompt: String,
    /// The calls. Empty if the goal is reached without one, or the set does not say how.
    pub calls: Vec<ToolCallRecord>,
}

/// One call.
#[derive(Debug, Deserialize)]
pub struct ToolCallRecord {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// The labels in a configuration file of the server.
pub fn read_label_settings(text: &str) -> Result<LabelSettings, toml::de::Error> {
    #[derive(Deserialize)]
    struct ConfigFile {
        approvals: Approvals,
    }
    #[derive(Deserialize)]
    struct Approvals {
        data_flow: DataFlowPolicy,
        labels: BTreeMap<String, Vec<DataLabel>>,
        #[serde(default)]
        destinations: BTreeMap<String, Vec<String>>,
    }
    let Approvals { data_flow: policy, labels, destinations } = toml::from_str::<ConfigFile>(text)?.approvals;
    Ok(LabelSettings { policy, labels, destinations })
}
