//! `shell`: runs one program without a shell. The entry's lists decide first, then the rules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::options::Options;
use super::process::{Limits, Program};
use super::{About, Built, Granted, ToolHost, text};

pub(super) const KEYS: &[&str] = &[
    "allowed_commands",
    "blocked_commands",
    "working_dir",
    "timeout_seconds",
    "max_output_bytes",
    "require_confirmation",
];

/// The commands that are blocked where an entry names none.
const BLOCKED: [&str; 18] = [
    "rm", "mkfs", "dd", "fdisk", "parted", "mount", "umount", "shutdown", "reboot", "halt",
    "poweroff", "chmod", "chown", "passwd", "useradd", "userdel", "sudo", "su",
];

/// Programs that run others: what these run is in no list.
const LAUNCHERS: [&str; 32] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "csh", "tcsh", "env", "xargs", "nohup",
    "nice", "ionice", "timeout", "stdbuf", "setsid", "chrt", "taskset", "time", "watch", "flock",
    "chroot", "unshare", "nsenter", "busybox", "toybox", "doas", "pkexec", "strace", "ltrace",
    "script",
];

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let usual = || BLOCKED.map(str::to_owned).to_vec();
    // A user is asked by rules and by `approval`; this key has never decided anything.
    options.flag("require_confirmation", true)?;
    let about = About {
        name: "run_shell",
        description: "Run a program and return its output. There is no shell: pipes, redirections, \
                      variables and several commands at once do not work.",
        kind: "shell",
        risk: Risk::HighImpact,
        properties: json!({
            "command": {"type": "string", "description": "A program with its arguments"},
        }),
        required: &["command"],
    };
    Ok(Built::of([Arc::new(RunShell {
        spec: about.spec(tool_host).into(),
        allowed: options.texts("allowed_commands")?.unwrap_or_default(),
        blocked: options.texts("blocked_commands")?.unwrap_or_else(usual),
        cwd: tool_host.working_directory(options.text("working_dir")?)?,
        network: tool_host.network.clone(),
        limits: Limits {
            processes: Arc::clone(&tool_host.processes),
            time: options.timeout(30)?,
            output: options.count("max_output_bytes", 102_400)?,
        },
    })]))
}

struct RunShell {
    spec: Arc<ToolSpec>,
    allowed: Vec<String>,
    blocked: Vec<String>,
    cwd: PathBuf,
    network: Granted,
    limits: Limits,
}

impl RunShell {
    /// The words of a call that may run as far as the entry says. An error is words for the model.
    fn words(&self, args: &Value) -> Result<Vec<String>, String> {
        let words = split(text(args, "command")).map_err(|error| match error {
            SplitError::Operator(c) => format!(
                "Error: shell operator '{c}' is not allowed: there is no shell; run one program, \
                 or quote it"
            ),
            SplitError::Syntax(what) => what.to_owned(),
        })?;
        let Some(program) = words.first() else { return Err(String::from("Error: empty command")) };
        // A path is allowed as that path alone: any file could have an allowed name.
        let is_listed = self.allowed.iter().any(|it| it == program);
        if !self.allowed.is_empty() && !is_listed {
            let path = " (a command written as a path must be listed as that path)";
            let path = if program.contains('/') { path } else { "" };
            let allowed = self.allowed.join("', '");
            return Err(format!(
                "Error: command '{program}' is not in the allowed list: ['{allowed}']{path}"
            ));
        }
        let name = Path::new(program).file_name().map(|name| name.to_string_lossy());
        let name = name.unwrap_or_default();
        if self.blocked.iter().any(|blocked| *blocked == name) {
            return Err(format!("Error: command '{name}' is blocked"));
        }
        if !is_listed && LAUNCHERS.contains(&&*name) {
            return Err(format!(
                "Error: '{name}' runs other programs, so it is refused unless it is listed in \
                 allowed_commands"
            ));
        }
        Ok(words)
    }
}

#[async_trait]
impl Tool for RunShell {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let words = self.words(args).map_err(ToolError::Input)?;
        let command = formats::shell::join(&words);
        Ok(Plan::from(vec![Action::Run { command, cwd: self.cwd.clone() }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let mut words = self.words(&call.args).map_err(ToolError::Input)?.into_iter();
        let program = Program {
            path: words.next().unwrap_or_default().into(),
            args: words.map(Into::into).collect(),
            cwd: self.cwd.clone(),
            input: Vec::new(),
            env: BTreeMap::new(),
            limits: self.limits.clone(),
        };
        let confinement = self.network.within(&context.confinement);
        let mut output = program.told(&program.run(&confinement, context).await?);
        self.network.explain(&confinement, &mut output);
        Ok(output)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SplitError {
    /// An operator of the shell that is not quoted.
    Operator(char),
    Syntax(&'static str),
}

const UNCLOSED: SplitError = SplitError::Syntax("a quote is not closed");

/// Takes a command apart into words as a shell would, without giving anything a meaning.
pub(super) fn split(command: &str) -> Result<Vec<String>, SplitError> {
    if command.contains('\0') {
        return Err(SplitError::Syntax(
            "the command holds a NUL byte, which no program can be given",
        ));
    }
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match c {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return Err(UNCLOSED),
                    }
                }
            }
            '"' => double_quoted(&mut characters, word.get_or_insert_default())?,
            '\\' => match characters.next() {
                Some(c) => word.get_or_insert_default().push(c),
                None => return Err(SplitError::Syntax("nothing follows the last backslash")),
            },
            '|' | '&' | ';' | '<' | '>' => return Err(SplitError::Operator(c)),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn double_quoted(
    characters: &mut std::str::Chars<'_>,
    word: &mut String,
) -> Result<(), SplitError> {
    loop {
        match characters.next() {
            Some('"') => return Ok(()),
            Some('\\') => match characters.next() {
                Some(c @ ('"' | '\\')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => return Err(UNCLOSED),
            },
            Some(c) => word.push(c),
            None => return Err(UNCLOSED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fixture;
    use super::*;

    fn actions(entry: &Value, command: &str) -> Result<String, String> {
        let tool_host = fixture::tool_host(Path::new("/role"));
        let built = build(&Options::new(entry.as_object().unwrap()), &tool_host).unwrap();
        let actions = built.tools[0].actions(&json!({"command": command}));
        match actions.map_err(|error| error.to_string())?.actions.remove(0) {
            Action::Run { command, cwd } => Ok(format!("{command} in {}", cwd.display())),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn arguments_are_split_without_expansion() {
        let words = |text: &str| split(text).unwrap();
        assert_eq!(words(r#"a 'b c' "d \"e\" \n" f\ g"#), ["a", "b c", "d \"e\" \\n", "f g"]);
        assert_eq!(words("echo '' $HOME `x` *"), ["echo", "", "$HOME", "`x`", "*"]);
        assert!(split("a 'b").is_err() && split("a \\").is_err() && split("a\0b").is_err());
        for operator in ["a | b", "a;b", "a && b", "a > b", "a < b", "a &"] {
            let error = split(operator).unwrap_err();
            assert!(matches!(error, SplitError::Operator(_)), "{operator}");
        }
        assert_eq!(words("grep 'a|b' x"), ["grep", "a|b", "x"]);
    }

    #[test]
    fn action_shows_the_command() {
        let entry = json!({"working_dir": "sub"});
        assert_eq!(
            actions(&entry, "echo $HOME 'a b' ~").unwrap(),
            "echo '$HOME' 'a b' '~' in /role/sub"
        );
        assert_eq!(actions(&json!({}), "'A=1' x").unwrap(), "'A=1' x in /role");
    }

    #[test]
    fn allow_and_block_lists_match_the_program_name() {
        let said = |entry: &Value, command| actions(entry, command).unwrap_err();
        assert_eq!(said(&json!({}), "/bin/rm -rf x"), "Error: command 'rm' is blocked");
        let entry = json!({"allowed_commands": ["git", "ls", "./run"], "blocked_commands": ["ls"]});
        assert!(actions(&entry, "git status").is_ok() && actions(&entry, "./run").is_ok());
        let list = "['git', 'ls', './run']";
        let wanted = format!("Error: command 'cat' is not in the allowed list: {list}");
        assert_eq!(said(&entry, "cat x"), wanted);
        for disguised in ["./git", "/bin/git", "sub/git", "run"] {
            let refused = said(&entry, disguised);
            assert!(refused.contains("is not in the allowed list"), "{refused}");
            assert_eq!(refused.contains("written as a path"), disguised != "run");
        }
        assert_eq!(said(&entry, "ls"), "Error: command 'ls' is blocked");
        assert!(actions(&json!({"blocked_commands": []}), "rm x").is_ok());
        assert_eq!(said(&json!({}), "  "), "Error: empty command");
        assert!(
            said(&json!({}), "/bin/sh -c 'rm x'").starts_with("Error: 'sh' runs other programs")
        );
        assert!(actions(&json!({"allowed_commands": ["sh"]}), "sh -c x").is_ok());
    }
}
