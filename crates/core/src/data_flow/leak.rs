//! Why a call can leak something, in plain words.

use toolyard_protocol::{ErrorCode, ToolName};

use crate::error::ToolError;

/// A call that would complete the three labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeakRisk {
    /// The tool that can send data out.
    pub tool: ToolName,
    /// What brought private data into the conversation. Empty if only the call itself takes it along.
    pub private: Vec<String>,
    /// What brought in content from outside.
    pub untrusted: Vec<String>,
}

impl LeakRisk {
    /// What the user reads.
    pub fn explain(&self) -> String {
        let tool = short_name(self.tool.as_str());
        let outside = format!("content from outside ({})", join_names(&self.untrusted));
        if self.private.is_empty() {
            return format!("This conversation has read {outside}. {tool} can send private data out.");
        }
        let private = join_names(&self.private);
        format!(
            "This conversation has read private data ({private}) and {outside}. {tool} can send data out."
        )
    }

    /// The error of a refused call.
    pub(crate) fn refusal(&self) -> ToolError {
        let text = format!(
            "{} did not run. {} The operator of this platform does not allow that in one conversation. Tell the user; do \
             not try to reach the goal another way.",
            self.tool,
            self.explain()
        );
        ToolError::new(ErrorCode::Denied, text)
    }
}

/// The name inside the app; people know it by that.
fn short_name(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, short)| short)
}

fn join_names(names: &[String]) -> String {
    names.iter().map(|name| short_name(name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_names_what_was_read_and_what_can_happen() {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
        let mut leak = LeakRisk {
            tool: "com.mail:send_mail".parse().unwrap(),
            private: names(&["com.mail:search"]),
            untrusted: names(&["com.web:fetch", "note"]),
        };
        assert_eq!(
            leak.explain(),
            "This conversation has read private data (search) and content from outside (fetch, note). send_mail can send \
             data out."
        );
        leak.private.clear();
        assert_eq!(
            leak.explain(),
            "This conversation has read content from outside (fetch, note). send_mail can send private data out."
        );
        assert!(leak.refusal().for_model.contains("do not try to reach the goal another way"));
    }
}
