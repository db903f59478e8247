//! Which built-in tools exist.

use serde_json::{Value, json, value::RawValue};
use toolyard_core::catalog;
use toolyard_protocol::{app::AppDetails, raw::to_raw, tool::Category};

use super::{BuiltinParts, read_result, search_tools};

/// The package of the built-in tools.
pub const PACKAGE: &str = "toolyard";

/// A built-in tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum BuiltinTool {
    Calculate,
    CurrentTime,
    ConvertTime,
    TimeDifference,
    AddToTime,
    ListFiles,
    ReadFile,
    WriteFile,
    SearchFiles,
    FetchPage,
    WebSearch,
    SearchTools,
    ReadResult,
}

impl BuiltinTool {
    /// All built-in tools.
    pub const ALL: [Self; 13] = [
        Self::Calculate,
        Self::CurrentTime,
        Self::ConvertTime,
        Self::TimeDifference,
        Self::AddToTime,
        Self::ListFiles,
        Self::ReadFile,
        Self::WriteFile,
        Self::SearchFiles,
        Self::FetchPage,
        Self::WebSearch,
        Self::SearchTools,
        Self::ReadResult,
    ];

    /// Its name inside the package.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Calculate => "calculate",
            Self::CurrentTime => "current_time",
            Self::ConvertTime => "convert_time",
            Self::TimeDifference => "time_difference",
            Self::AddToTime => "add_to_time",
            Self::ListFiles => "list_files",
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::SearchFiles => "search_files",
            Self::FetchPage => "fetch_page",
            Self::WebSearch => "web_search",
            Self::SearchTools => "search_tools",
            Self::ReadResult => "read_result",
        }
    }

    /// Finds a built-in tool by name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.as_str() == name)
    }

    /// Whether it can run with these parts and is not disabled.
    fn is_on(self, parts: &BuiltinParts) -> bool {
        let can = match self {
            Self::ListFiles | Self::ReadFile | Self::WriteFile | Self::SearchFiles => parts.roots.is_some(),
            Self::WebSearch => parts.search.is_some(),
            _ => true,
        };
        can && !parts.off.contains(&self)
    }
}

impl BuiltinParts {
    /// The catalog entry, which all users see. `None` if no tool is enabled.
    pub fn catalog_entry(&self) -> Option<catalog::BuiltinPackage> {
        let of_toolbox = toolyard_toolbox::all_tool_specs();
        let definition = |builtin: BuiltinTool| match builtin {
            BuiltinTool::SearchTools => search_tools::search_tools_definition(),
            BuiltinTool::ReadResult => read_result::read_result_definition(),
            other => of_toolbox
                .iter()
                .find(|one| one.name == other.as_str())
                .map_or(Value::Null, |one| one.to_mcp_definition()),
        };
        let on = BuiltinTool::ALL.into_iter().filter(|builtin| builtin.is_on(self));
        let tools: Vec<Box<RawValue>> = on.map(|builtin| to_raw(&in_category(definition(builtin)))).collect();
        if tools.is_empty() {
            return None;
        }
        let details = AppDetails {
            name: "Toolyard".to_owned(),
            description: "What the platform itself can do.".to_owned(),
            ..AppDetails::default()
        };
        Some(catalog::BuiltinPackage::new(PACKAGE.parse().ok()?, details, tools))
    }
}

fn in_category(mut definition: Value) -> Value {
    if let Value::Object(fields) = &mut definition {
        fields.insert("mentraExtensions".to_owned(), json!({ "category": Category::Utility }));
    }
    definition
}

#[cfg(test)]
mod tests {
    use toolyard_core::catalog::validate_tool_set;

    use super::*;

    #[test]
    fn every_tool_of_the_toolbox_is_known_here_and_every_definition_is_good() {
        let described = toolyard_toolbox::all_tool_specs();
        for tool in &described {
            assert!(BuiltinTool::from_name(tool.name).is_some(), "{}", tool.name);
        }
        assert_eq!(described.len() + 2, BuiltinTool::ALL.len());
        let definitions = described.iter().map(toolyard_toolbox::ToolboxSpec::to_mcp_definition);
        let definitions = definitions
            .chain([search_tools::search_tools_definition(), read_result::read_result_definition()]);
        let set: Vec<_> = definitions.map(|definition| to_raw(&in_category(definition))).collect();
        assert_eq!(
            validate_tool_set(&set, &toolyard_protocol::items::AppItems::default()).unwrap().len(),
            BuiltinTool::ALL.len()
        );
    }
}
