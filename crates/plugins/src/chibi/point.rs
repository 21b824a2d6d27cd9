//! The points at which chibi asks its hooks, and which of our moments each of them is.

use contract::hook::{Moment, OnFailure};

#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) name: &'static str,
    pub(crate) support: Support,
}

/// The effect of a point's hooks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Support {
    /// The answers of its hooks count at this moment; the second part is for a hook that fails.
    Decides(Moment, OnFailure),
    /// Its hooks run at this moment, but their answers have no effect, for this reason.
    Notified(Moment, &'static str),
    /// It has no counterpart, for this reason.
    Unsupported(&'static str),
}

impl Point {
    pub(crate) fn moment(&self) -> Option<Moment> {
        match self.support {
            Support::Decides(moment, _) | Support::Notified(moment, _) => Some(moment),
            Support::Unsupported(_) => None,
        }
    }

    pub(crate) fn on_failure(&self) -> OnFailure {
        match self.support {
            Support::Decides(_, on_failure) => on_failure,
            Support::Notified(..) | Support::Unsupported(_) => OnFailure::Continue,
        }
    }
}

const fn asked(name: &'static str, moment: Moment) -> Point {
    Point { name, support: Support::Decides(moment, OnFailure::Block) }
}

const fn heard(name: &'static str, moment: Moment) -> Point {
    Point { name, support: Support::Decides(moment, OnFailure::Continue) }
}

const fn absent(name: &'static str, why: &'static str) -> Point {
    Point { name, support: Support::Unsupported(why) }
}

const FUEL: &str = "there is no fuel and no fallback tool";
const MESSAGES: &str = "there are no messages between contexts; work is handed on, and \
                        pre_spawn_agent and post_spawn_agent are asked about that";

/// All points, in the order in which those of one moment come up.
pub(crate) const POINTS: [Point; 33] = [
    heard("on_start", Moment::Notification),
    heard("on_end", Moment::Notification),
    asked("pre_message", Moment::BeforeMessage),
    Point { name: "pre_agentic_loop", support: Support::Notified(Moment::BeforeMessage, FUEL) },
    heard("post_message", Moment::AfterReply),
    asked("pre_system_prompt", Moment::BeforeRequest),
    asked("post_system_prompt", Moment::BeforeRequest),
    asked("pre_tool", Moment::BeforeTool),
    asked("pre_file_read", Moment::BeforeTool),
    asked("pre_file_write", Moment::BeforeTool),
    asked("pre_shell_exec", Moment::BeforeTool),
    asked("pre_fetch_url", Moment::BeforeTool),
    asked("pre_spawn_agent", Moment::BeforeTool),
    heard("pre_vfs_write", Moment::BeforeTool),
    asked("pre_tool_output", Moment::AfterTool),
    heard("post_tool_output", Moment::AfterTool),
    heard("post_tool", Moment::AfterTool),
    heard("post_spawn_agent", Moment::AfterTool),
    heard("post_vfs_write", Moment::AfterTool),
    heard("pre_compact", Moment::BeforeCompact),
    heard("pre_rolling_compact", Moment::BeforeCompact),
    heard("post_compact", Moment::Notification),
    heard("post_rolling_compact", Moment::Notification),
    Point {
        name: "pre_cache_output",
        support: Support::Notified(Moment::AfterTool, "long output always goes into a file"),
    },
    heard("post_cache_output", Moment::Notification),
    asked("pre_api_tools", Moment::BeforeSend),
    asked("pre_api_request", Moment::BeforeSend),
    Point { name: "post_tool_batch", support: Support::Notified(Moment::Notification, FUEL) },
    heard("pre_clear", Moment::Notification),
    heard("post_clear", Moment::Notification),
    absent("pre_send_message", MESSAGES),
    absent("post_send_message", MESSAGES),
    absent("post_index_file", "there is no index of the project's code"),
];
