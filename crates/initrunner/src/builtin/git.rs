//! `git`: runs the installed git in the sandbox, without programs that the repository chooses.

mod change;
mod commands;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::files::path::normalize;
use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::sandbox::Network;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use formats::shell;
use serde_json::Value;

use super::options::Options;
use super::process::{Limits, Program};
use super::{About, Built, ToolHost, shortened};
use crate::host::End;
use change::GitChange;
use commands::{ALL, Look};

/// Options that keep a repository from choosing programs that run.
const TAMED: &[&str] = &[
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "log.showSignature=false",
    "-c",
    "submodule.recurse=false",
    "-c",
    "color.ui=false",
];

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let named = options.text("repo_path")?.unwrap_or(".");
    let directory = tool_host.surroundings.cwd.join(named);
    let directory = directory.canonicalize().unwrap_or(directory);
    let top = top(&directory).ok_or_else(|| format!("'{named}' is not a git repository"))?;
    let limits = Limits {
        processes: Arc::clone(&tool_host.processes),
        time: options.timeout(30)?,
        output: options.count("max_output_bytes", 102_400)?,
    };
    let workspace = &tool_host.surroundings.workspace;
    let repository = Arc::new(Repository {
        outside: (!top.starts_with(workspace)).then(|| top.clone()),
        directory,
        top,
        limits,
    });
    let made = |look: &'static Look| {
        let about = About {
            name: look.name,
            description: look.description,
            kind: "git",
            risk: Risk::ReadOnly,
            properties: (look.properties)(),
            required: look.required,
        };
        let repository = Arc::clone(&repository);
        Arc::new(GitLook { spec: about.spec(tool_host).into(), look, repository }) as Arc<dyn Tool>
    };
    let mut built = Built { tools: ALL.iter().map(made).collect(), notes: Vec::new() };
    if !options.flag("read_only", true)? {
        if repository.outside.is_none() {
            built.tools.extend(GitChange::all(tool_host, &repository));
        } else {
            built.notes.push(String::from(
                "git_checkout, git_commit and git_tag are left out: the repository is not in the \
                 workspace",
            ));
        }
    }
    Ok(built)
}

fn top(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().find(|directory| directory.join(".git").exists()).map(Path::to_owned)
}

struct Repository {
    directory: PathBuf,
    top: PathBuf,
    outside: Option<PathBuf>,
    limits: Limits,
}

struct GitLook {
    spec: Arc<ToolSpec>,
    look: &'static Look,
    repository: Arc<Repository>,
}

#[async_trait]
impl Tool for GitLook {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let words = (self.look.words)(args).map_err(ToolError::Input)?;
        let repository = &self.repository;
        let mut actions = vec![Action::Read { path: repository.top.clone() }];
        let named = (self.look.paths)(args).into_iter();
        // A rule about a file holds for its history too.
        actions.extend(
            named.map(|path| Action::Read { path: normalize(&repository.directory.join(path)) }),
        );
        // What git shows beyond that is judged as for the command. Left out is what only tames it.
        let command = format!("git {}", shell::join(words));
        actions.push(Action::Run { command, cwd: repository.directory.clone() });
        Ok(Plan::from(actions))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let words = (self.look.words)(&call.args).map_err(ToolError::Input)?;
        let repository = &self.repository;
        let program = Program {
            path: "git".into(),
            args: TAMED.iter().map(ToString::to_string).chain(words).map(Into::into).collect(),
            cwd: repository.directory.clone(),
            input: Vec::new(),
            env: BTreeMap::new(),
            limits: repository.limits.clone(),
        };
        let outside: Vec<PathBuf> = repository.outside.iter().cloned().collect();
        let confinement = context.confinement.with_network(Network::None).reaching(&outside, &[]);
        let ended = program.run(&confinement, context).await?;
        if ended.end != End::Exited(0) {
            return Ok(program.told(&ended));
        }
        let text = ended.stdout.trim_end().to_owned();
        let text = if text.is_empty() { String::from("(no output)") } else { text };
        Ok(ToolOutput::success(shortened(text, repository.limits.output)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::fixture;
    use super::*;

    fn tools(directory: &Path, entry: &Value) -> Result<Built, String> {
        build(&Options::new(entry.as_object().unwrap()), &fixture::tool_host(directory))
    }

    #[test]
    fn directory_without_a_repository_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let said = tools(directory.path(), &json!({})).err().unwrap();
        assert_eq!(said, "'.' is not a git repository");
    }

    #[test]
    fn arguments_are_not_options_and_paths_are_actions() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join("sub")).unwrap();
        let built = tools(&root, &json!({"repo_path": "sub"})).unwrap();
        let tool =
            |name: &str| built.tools.iter().find(|tool| tool.spec().name == name).unwrap().clone();
        for (name, args) in [
            ("git_diff", json!({"ref": "--output=/tmp/x"})),
            ("git_show", json!({"ref": "-x"})),
            ("git_changed_files", json!({"ref": "--no-index"})),
            ("git_log", json!({"format": "--x"})),
            ("git_show", json!({"ref": "a\u{0}b"})),
        ] {
            assert!(tool(name).actions(&args).is_err(), "{name} {args}");
        }
        let read = |path: &str| Action::Read { path: normalize(&root.join(path)) };
        let run =
            |words: &str| Action::Run { command: format!("git {words}"), cwd: root.join("sub") };
        for (name, args, paths, command) in [
            (
                "git_blame",
                json!({"path": "../.env"}),
                vec![".env"],
                "blame --no-textconv -- ../.env",
            ),
            (
                "git_show",
                json!({"ref": "HEAD:./key.pem"}),
                vec!["sub/key.pem"],
                "show --stat --patch --no-ext-diff --no-textconv HEAD:./key.pem --",
            ),
            (
                "git_diff",
                json!({"ref": "main:k..:0:it's"}),
                vec!["sub/k..:0:it's", "sub/k", "sub/it's"],
                r#"diff --no-ext-diff --no-textconv "main:k..:0:it's" --"#,
            ),
            ("git_status", json!({}), vec![], "status --short --branch"),
        ] {
            let actions = tool(name).actions(&args).unwrap().actions;
            let reads = [""].into_iter().chain(paths).map(read);
            assert_eq!(actions, reads.chain([run(command)]).collect::<Vec<_>>(), "{name}");
        }
    }
}
