//! Facts about sandbox and machine in the system prompt, gathered once per session to keep the
//! provider's prompt cache valid.

use std::path::Path;
use std::sync::Arc;

use contract::policy::Mode;
use contract::sandbox::Network;
use contract::tool::ToolSpec;
pub(crate) use tools::git_branch::branch;

use crate::assemble;
use crate::assemble::assembly::Assembly;

#[derive(Clone, Debug, Default)]
pub(crate) struct PromptFacts {
    limits: String,
    machine: String,
}

impl PromptFacts {
    pub(crate) fn of(assembly: &Assembly, root: &Path) -> Self {
        let date = jiff::Zoned::now().date();
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let branch = branch(root).map(|it| format!(" Git branch: {it}.")).unwrap_or_default();
        let machine = format!("- Date: {date}. System: {os} ({arch}).{branch}");
        Self { limits: limits(assembly, root), machine }
    }

    pub(crate) fn told(&self, tools: &[Arc<ToolSpec>]) -> String {
        let has_shell = tools.iter().any(|spec| spec.name == "Bash");
        let limits = if has_shell { self.limits.as_str() } else { "" };
        format!("Environment:{limits}\n{}", self.machine)
    }
}

fn limits(assembly: &Assembly, root: &Path) -> String {
    if assembly.is_unconfined() {
        return "\n- Commands run without a sandbox, with all rights of the user.".to_owned();
    }
    let profile = assemble::confinement::command_profile(assembly, root);
    let further = profile.write.iter().map(|path| format!(", {}", path.display()));
    let further: String = further.collect();
    let writable = match assembly.mode() {
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
