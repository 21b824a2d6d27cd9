//! `python`: runs code in a confined interpreter of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::sandbox::Network;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::options::Options;
use super::process::{Limits, Program};
use super::{About, Built, Granted, ToolHost, text};

pub(super) const KEYS: &[&str] = &[
    "timeout_seconds",
    "max_output_bytes",
    "working_dir",
    "require_confirmation",
    "network_disabled",
];

pub(super) const INTERPRETER: &str = "python3";

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    // A user is asked by rules and by `approval`; this key has never decided anything.
    options.flag("require_confirmation", true)?;
    let about = About {
        name: "run_python",
        description: "Run Python code and return what it prints. Each run starts afresh.",
        kind: "python",
        risk: Risk::HighImpact,
        properties: json!({"code": {"type": "string", "description": "The code"}}),
        required: &["code"],
    };
    let mut built = Built::of([Arc::new(RunPython {
        spec: about.spec(tool_host).into(),
        cwd: tool_host.working_directory(options.text("working_dir")?)?,
        is_offline: options.flag("network_disabled", true)?,
        network: tool_host.network.clone(),
        limits: Limits {
            processes: Arc::clone(&tool_host.processes),
            time: options.timeout(30)?,
            output: options.count("max_output_bytes", 102_400)?,
        },
    })]);
    built.notes.extend(missing(tool_host));
    Ok(built)
}

pub(super) fn missing(tool_host: &ToolHost) -> Option<String> {
    let has_path = tool_host.surroundings.env.contains_key("PATH");
    let is_missing = has_path && tool_host.surroundings.program(INTERPRETER).is_none();
    is_missing.then(|| format!("there is no `{INTERPRETER}` here, so its calls fail"))
}

struct RunPython {
    spec: Arc<ToolSpec>,
    cwd: PathBuf,
    is_offline: bool,
    network: Granted,
    limits: Limits,
}

#[async_trait]
impl Tool for RunPython {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let command = format!("{INTERPRETER} -c {}", formats::shell::quote(text(args, "code")));
        Ok(Plan::from(vec![Action::Run { command, cwd: self.cwd.clone() }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let program = Program {
            path: INTERPRETER.into(),
            args: vec!["-".into()],
            cwd: self.cwd.clone(),
            // Not on the command line, where only so much has room.
            input: text(&call.args, "code").as_bytes().to_vec(),
            env: BTreeMap::new(),
            limits: self.limits.clone(),
        };
        let confinement = &context.confinement;
        let confinement = if self.is_offline {
            confinement.with_network(Network::None)
        } else {
            self.network.within(confinement)
        };
        let mut output = program.told(&program.run(&confinement, context).await?);
        if self.is_offline {
            self.network.explain_closed(&confinement, &mut output);
        } else {
            self.network.explain(&confinement, &mut output);
        }
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::fixture;
    use super::*;

    #[test]
    fn the_action_shows_the_code_as_a_command() {
        let entry = json!({"working_dir": "sub"});
        let tool_host = fixture::tool_host(Path::new("/role"));
        let built = build(&Options::new(entry.as_object().unwrap()), &tool_host).unwrap();
        let actions = built.tools[0].actions(&json!({"code": "print('hi')"})).unwrap().actions;
        let command = r#"python3 -c "print('hi')""#.to_owned();
        assert_eq!(actions, [Action::Run { command, cwd: "/role/sub".into() }]);
    }
}
