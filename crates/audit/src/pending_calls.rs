//! Decisions about the calls of a paused run, and the prompt that continues it.

use serde_json::Value;

use crate::runs::{AuditStore, PendingCall};

/// The tool, the arguments and the decision of calls.
pub type Decided = Vec<(String, Value, bool)>;

impl AuditStore {
    /// Stores decisions about calls. Returns the prompt that continues their run, and the tool,
    /// arguments and decision of each call.
    pub fn decide(
        &self,
        calls: Vec<PendingCall>,
        decision: impl Fn(&str) -> Option<bool>,
        by: &str,
    ) -> Result<(String, Decided), String> {
        if let Some(call) = calls.iter().find(|call| decision(&call.tool_call_id).is_none()) {
            return Err(format!("the call {} is not decided", call.tool_call_id));
        }
        let mut decided = Vec::new();
        let mut lines =
            vec![String::from("The user has decided about the calls that waited for approval.")];
        for call in calls {
            let approves = decision(&call.tool_call_id) == Some(true);
            // Another process may have decided it in the meantime.
            if !self.resolve(&call, approves, by)? {
                continue;
            }
            let verb = if approves { "Approved" } else { "Denied" };
            lines.push(format!("{verb}: {} {}", call.tool_name, call.arguments));
            decided.push((call.tool_name, call.arguments, approves));
        }
        if decided.is_empty() {
            return Err(String::from("the calls were already decided"));
        }
        lines.push(String::from(
            "Make the approved calls again with the same arguments, do not repeat the denied ones, \
             and continue the task.",
        ));
        Ok((lines.join("\n"), decided))
    }
}
