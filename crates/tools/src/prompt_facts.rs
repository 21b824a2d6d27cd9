//! Facts about sandbox and machine in the system prompt, gathered once per session to keep the
//! provider's prompt cache valid.

use std::path::Path;
use std::sync::Arc;

use contract::policy::Mode;
use contract::sandbox::{Network, Profile};
use contract::tool::ToolSpec;

use crate::git_branch::branch;

#[derive(Clone, Debug, Default)]
pub struct PromptFacts {
    limits: String,
    machine: String,
}

impl PromptFacts {
    /// The facts about a project whose commands have a profile; none without a sandbox.
    pub fn new(root: &Path, mode: Mode, profile: Option<Profile>) -> Self {
        let date = jiff::Zoned::now().date();
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let branch = branch(root).map(|it| format!(" Git branch: {it}.")).unwrap_or_default();
        let machine = format!("- Date: {date}. System: {os} ({arch}).{branch}");
        Self { limits: limits(root, mode, profile), machine }
    }

    pub fn told(&self, tools: &[Arc<ToolSpec>]) -> String {
        let has_shell = tools.iter().any(|spec| spec.name == "Bash");
        let limits = if has_shell { self.limits.as_str() } else { "" };
        format!("Environment:{limits}\n{}", self.machine)
    }
}

fn limits(root: &Path, mode: Mode, profile: Option<Profile>) -> String {
    let Some(profile) = profile else {
        return "\n- Commands run without a sandbox, with all rights of the user.".to_owned();
    };
    let further = profile.write.iter().map(|path| format!(", {}", path.display()));
    let further: String = further.collect();
    let writable = match mode {
        Mode::ReadOnly => "/tmp".to_owned(),
        Mode::Ask | Mode::Normal | Mode::Yolo => format!("{}, /tmp{further}", root.display()),
    };
    let hosts = match profile.network {
        Network::None => "no host".to_owned(),
        Network::Hosts(hosts) => hosts.names.join(", "),
        Network::Host => "any host".to_owned(),
    };
    format!(
        "\n- Commands run in a sandbox. They can write in {writable} and nowhere else.\n\
         - Commands reach {hosts} unless their call requests more.\n\
         - The user's home directory and the processes of the host are hidden from commands.\n\
         - To request more, call Bash with `network` (a list of hosts) or `outside: true`, and a \
         `reason`. The user may be asked."
    )
}
