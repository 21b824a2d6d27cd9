//! The events of these hooks: those that have a counterpart here, and the others by name.

use std::time::Duration;

use contract::hook::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    SessionStart,
    SessionEnd,
    UserPromptExpansion,
    UserPromptSubmit,
    PreToolUse,
    PermissionRequest,
    PermissionDenied,
    PostToolUse,
    PostToolUseFailure,
    PostToolBatch,
    PreCompact,
    PostCompact,
    Notification,
    Stop,
    StopFailure,
    SubagentStart,
    SubagentStop,
}

pub(super) const TABLE: [(&str, Event, Moment); 17] = [
    ("SessionStart", Event::SessionStart, Moment::Notification),
    ("SessionEnd", Event::SessionEnd, Moment::Notification),
    ("UserPromptExpansion", Event::UserPromptExpansion, Moment::BeforePrompt),
    ("UserPromptSubmit", Event::UserPromptSubmit, Moment::BeforePrompt),
    ("PreToolUse", Event::PreToolUse, Moment::BeforeTool),
    ("PermissionRequest", Event::PermissionRequest, Moment::BeforeTool),
    ("PermissionDenied", Event::PermissionDenied, Moment::Notification),
    ("PostToolUse", Event::PostToolUse, Moment::AfterTool),
    ("PostToolUseFailure", Event::PostToolUseFailure, Moment::AfterTool),
    ("PostToolBatch", Event::PostToolBatch, Moment::Notification),
    ("PreCompact", Event::PreCompact, Moment::BeforeCompact),
    ("PostCompact", Event::PostCompact, Moment::Notification),
    ("Notification", Event::Notification, Moment::Notification),
    ("Stop", Event::Stop, Moment::BeforeStop),
    ("StopFailure", Event::StopFailure, Moment::Notification),
    ("SubagentStart", Event::SubagentStart, Moment::Notification),
    ("SubagentStop", Event::SubagentStop, Moment::BeforeStop),
];

pub(super) const MISSING: [(&str, &str); 14] = [
    ("Setup", "there is no setup step"),
    ("MessageDisplay", "what is shown cannot be changed"),
    ("TaskCreated", "there are no teams"),
    ("TaskCompleted", "there are no teams"),
    ("TeammateIdle", "there are no teams"),
    ("InstructionsLoaded", "loading is not told of"),
    ("ConfigChange", "a change of settings is not told of"),
    ("CwdChanged", "a session stays in one directory"),
    ("DirectoryAdded", "a session stays in one directory"),
    ("FileChanged", "files are not watched"),
    ("WorktreeCreate", "there are no worktrees"),
    ("WorktreeRemove", "there are no worktrees"),
    ("Elicitation", "questions of servers go to the user"),
    ("ElicitationResult", "questions of servers go to the user"),
];

impl Event {
    pub(crate) fn of(name: &str) -> Result<Self, String> {
        if let Some((_, event, _)) = TABLE.iter().find(|(known, ..)| *known == name) {
            return Ok(*event);
        }
        match MISSING.iter().find(|(missing, _)| *missing == name) {
            Some((_, why)) => Err(format!("it has no counterpart here: {why}")),
            None => Err("it is not an event that is known".to_owned()),
        }
    }

    pub(crate) fn is_of_others(name: &str) -> bool {
        MISSING.iter().any(|(missing, _)| *missing == name)
    }

    pub(crate) fn name(self) -> &'static str {
        TABLE[self as usize].0
    }

    pub(crate) fn moment(self) -> Moment {
        TABLE[self as usize].2
    }

    pub(crate) fn is_of_tools(self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PermissionRequest
                | Self::PermissionDenied
                | Self::PostToolUse
                | Self::PostToolUseFailure
        )
    }

    pub(crate) fn has_matcher(self) -> bool {
        !matches!(self, Self::UserPromptSubmit | Self::PostToolBatch | Self::Stop)
    }

    pub(crate) fn can_halt(self) -> bool {
        matches!(
            self,
            Self::SessionStart
                | Self::PreToolUse
                | Self::PermissionRequest
                | Self::PostToolUse
                | Self::PostToolUseFailure
                | Self::PostToolBatch
        )
    }

    /// Returns true if its handlers decide if something happens at all.
    pub(crate) fn can_refuse(self) -> bool {
        matches!(self, Self::UserPromptExpansion | Self::UserPromptSubmit | Self::PreToolUse)
    }

    pub(crate) fn hears_plain_words(self) -> bool {
        matches!(self, Self::UserPromptExpansion | Self::UserPromptSubmit | Self::SessionStart)
    }

    pub(crate) fn patience(self) -> Duration {
        match self {
            Self::UserPromptSubmit => Duration::from_secs(30),
            Self::SessionEnd => Duration::from_millis(1500),
            _ => Duration::from_mins(10),
        }
    }
}
