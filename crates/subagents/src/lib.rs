//! Agents that a model delegates to: the tool that the model calls, the tools that an agent's file
//! selects, and the report of the result. Conversations are opened by the caller.

mod agent;
mod call_guard;
mod report;
mod scoped;
mod task;
mod tool_filter;

pub use agent::{Agent, Kind, named, with_skills};
pub use call_guard::CallGuard;
pub use report::report;
pub use scoped::{ORIGIN, Scoping};
pub use task::{DelegatedWork, NAME, Task};
pub use tool_filter::{Narrowed, Selection, narrowed, unknown_exclusions};

/// The agent that is used if none is named.
pub const PLAIN: &str = "general-purpose";

/// Model names of one vendor in agents' files. If the provider has none of that name, its default
/// answers.
pub const FAMILIAR: [&str; 3] = ["haiku", "opus", "sonnet"];
