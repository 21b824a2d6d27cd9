//! The events that `hooks.yaml` defines hooks for, and the moments that they are.

use contract::hook::Moment;
use contract::text::closest;
use serde::{Serialize, Serializer};

/// Something at which hooks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    PluginInit,
    PluginShutdown,
    SessionStart,
    SessionEnd,
    UserPromptSubmit,
    PreMessage,
    PostMessage,
    PreToolUse,
    PostToolUse,
    ContextBuild,
    PreCompact,
    Error,
}

/// Each event's name and moment (none for plugins' own), and fields for `match` beside shared ones.
const TABLE: [(&str, Option<Moment>, &[&str]); 12] = [
    ("plugin_init", None, &[]),
    ("plugin_shutdown", None, &[]),
    ("session_start", Some(Moment::Notification), &[]),
    ("session_end", Some(Moment::Notification), &["session_metrics_summary"]),
    ("user_prompt_submit", Some(Moment::BeforePrompt), &["message"]),
    ("pre_message", Some(Moment::BeforeMessage), &["message"]),
    ("post_message", Some(Moment::AfterReply), &["message", "response"]),
    ("pre_tool_use", Some(Moment::BeforeTool), &["tool", "tool_input"]),
    (
        "post_tool_use",
        Some(Moment::AfterTool),
        &["tool", "tool_input", "tool_result", "tool_metrics", "session_metrics_summary"],
    ),
    ("context_build", Some(Moment::BeforeRequest), &["base_system_prompt", "injections_so_far"]),
    ("pre_compact", Some(Moment::BeforeCompact), &["compaction_strategy"]),
    ("error", Some(Moment::Notification), &["error", "error_type"]),
];

const SHARED_FIELDS: [&str; 7] =
    ["event", "session_id", "cwd", "agent", "agent_id", "plugin_name", "plugin_path"];

impl Event {
    pub const ALL: [Self; 12] = [
        Self::PluginInit,
        Self::PluginShutdown,
        Self::SessionStart,
        Self::SessionEnd,
        Self::UserPromptSubmit,
        Self::PreMessage,
        Self::PostMessage,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::ContextBuild,
        Self::PreCompact,
        Self::Error,
    ];

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    pub fn name(self) -> &'static str {
        TABLE[self as usize].0
    }

    /// Returns true if a hook can stop what follows.
    pub fn can_block(self) -> bool {
        matches!(self, Self::UserPromptSubmit | Self::PreMessage | Self::PreToolUse)
    }

    /// Returns true if it belongs to a plugin and not to a conversation.
    pub fn is_lifecycle(self) -> bool {
        self.moment().is_none()
    }

    pub(crate) fn moment(self) -> Option<Moment> {
        TABLE[self as usize].1
    }

    pub(crate) fn fields(self) -> Vec<&'static str> {
        TABLE[self as usize].2.iter().copied().chain(SHARED_FIELDS).collect()
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The event that somebody probably meant by a name that is none.
pub(crate) fn meant(name: &str) -> Option<&'static str> {
    let simple = name.to_lowercase().replace(['-', ' '], "_");
    let joined = |event: &Event| event.name().replace('_', "") == simple.replace('_', "");
    Event::ALL.into_iter().find(joined).map(Event::name).or_else(|| {
        let bare = simple.trim_start_matches("on_");
        closest(bare, Event::ALL.into_iter().map(Event::name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_found_by_its_name() {
        for event in Event::ALL {
            assert_eq!(Event::parse(event.name()), Some(event));
        }
        assert_eq!(Event::parse("on_error"), None);
    }

    #[test]
    fn a_typing_error_gets_a_suggestion() {
        assert_eq!(meant("PreToolUse"), Some("pre_tool_use"));
        assert_eq!(meant("pre-tol-use"), Some("pre_tool_use"));
        assert_eq!(meant("on_error"), Some("error"));
        assert_eq!(meant("wibble"), None);
    }
}
