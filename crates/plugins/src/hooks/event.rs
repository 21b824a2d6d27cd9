//! The events that hooks are defined for, and what an answer can do at each.

use contract::hook::Moment;
use contract::text::closest;
use serde::{Serialize, Serializer};

/// Something at which hooks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A plugin begins its work.
    PluginInit,
    /// A plugin ends its work.
    PluginShutdown,
    /// A session begins.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A user sent a prompt.
    UserPromptSubmit,
    /// A prompt goes to the model.
    PreMessage,
    /// The model has replied.
    PostMessage,
    /// A tool is about to run.
    PreToolUse,
    /// A tool has run.
    PostToolUse,
    /// A system prompt is made.
    ContextBuild,
    /// The history is about to be summarized.
    PreCompact,
    /// Something failed.
    Error,
}

impl Event {
    /// All of them, in the order of a session.
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

    /// The event of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Its name in `hooks.yaml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::PluginInit => "plugin_init",
            Self::PluginShutdown => "plugin_shutdown",
            Self::SessionStart => "session_start",
            Self::SessionEnd => "session_end",
            Self::UserPromptSubmit => "user_prompt_submit",
            Self::PreMessage => "pre_message",
            Self::PostMessage => "post_message",
            Self::PreToolUse => "pre_tool_use",
            Self::PostToolUse => "post_tool_use",
            Self::ContextBuild => "context_build",
            Self::PreCompact => "pre_compact",
            Self::Error => "error",
        }
    }

    /// Whether a hook can stop what follows.
    pub fn can_block(self) -> bool {
        matches!(self, Self::UserPromptSubmit | Self::PreMessage | Self::PreToolUse)
    }

    /// Whether it belongs to a plugin and not to a conversation.
    pub fn is_lifecycle(self) -> bool {
        matches!(self, Self::PluginInit | Self::PluginShutdown)
    }

    /// The moment of a conversation at which it happens.
    pub(crate) fn moment(self) -> Option<Moment> {
        Some(match self {
            Self::PluginInit | Self::PluginShutdown => return None,
            Self::SessionStart | Self::SessionEnd | Self::Error => Moment::Notification,
            Self::UserPromptSubmit => Moment::BeforePrompt,
            Self::PreMessage => Moment::BeforeMessage,
            Self::PostMessage => Moment::AfterReply,
            Self::PreToolUse => Moment::BeforeTool,
            Self::PostToolUse => Moment::AfterTool,
            Self::ContextBuild => Moment::BeforeRequest,
            Self::PreCompact => Moment::BeforeCompact,
        })
    }

    /// The names that a `match` of its hooks can speak of.
    pub(crate) fn fields(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Self::PluginInit | Self::PluginShutdown | Self::SessionStart => &[],
            Self::SessionEnd => &["session_metrics_summary"],
            Self::UserPromptSubmit | Self::PreMessage => &["message"],
            Self::PostMessage => &["message", "response"],
            Self::PreToolUse => &["tool", "tool_input"],
            Self::PostToolUse => {
                &["tool", "tool_input", "tool_result", "tool_metrics", "session_metrics_summary"]
            }
            Self::ContextBuild => &["base_system_prompt", "injections_so_far"],
            Self::PreCompact => &["compaction_strategy"],
            Self::Error => &["error", "error_type"],
        };
        let everywhere =
            ["event", "session_id", "cwd", "agent", "agent_id", "plugin_name", "plugin_path"];
        own.iter().copied().chain(everywhere).collect()
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
