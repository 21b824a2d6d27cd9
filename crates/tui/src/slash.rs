//! Lines that begin with `/`: the built-in commands, and what their words mean. Reads and changes
//! nothing.

use std::path::PathBuf;

use contract::event::Direction;
use contract::message::Usage;
use contract::policy::Mode;
use contract::provider::ReasoningLevel;
use contract::text::head;

use crate::keymap::Action;

const LEVELS: [&str; 6] = ["auto", "off", "low", "medium", "high", "maximum"];

pub struct Builtin {
    pub name: &'static str,
    pub args: &'static str,
    pub description: &'static str,
}

const fn own(name: &'static str, args: &'static str, description: &'static str) -> Builtin {
    Builtin { name, args, description }
}

/// The built-in commands. No other command can have their names.
pub const BUILTIN: &[Builtin] = &[
    own("help", "", "List commands"),
    own("status", "", "Show version, directory, model, mode, sandbox and session"),
    own("config", "", "List the configuration files"),
    own("login", "", "Say how to add a provider and its key"),
    own("init", "", "Have the model write AGENTS.md for this project"),
    own("review", "[changes]", "Have the model review code changes"),
    own("clear", "", "Clear the conversation"),
    own("compact", "[instructions]", "Compact the conversation"),
    own("context", "", "Show what fills the context window"),
    own("model", "[name]", "Show or change the model"),
    own("effort", "[off | low | medium | high]", "Show or change how hard the model thinks"),
    own("mode", "[read-only | ask | normal | yolo]", "Show or change the permission mode"),
    own("theme", "[name]", "Choose the color theme"),
    own("skill", "NAME [request]", "Use a skill"),
    own("tools", "", "List the tools"),
    own("agents", "", "List the agents"),
    own("mcp", "", "List the MCP servers"),
    own("plugins", "", "List the plugins"),
    own("permissions", "[revoke RULE]", "Show remembered permissions; revoke it"),
    own("cost", "", "Show tokens and cost of this conversation"),
    own("jobs", "[tail N | stop N]", "List background commands, show output, stop one"),
    own("undo", "[turns] [force]", "Undo the file changes of the last turns"),
    own("redo", "[force]", "Redo the changes that were undone last"),
    own("changes", "[turns]", "List the files that changed, by turn"),
    own("diff", "[turns]", "Show the file changes of the last turns"),
    own("new", "", "Start a new session"),
    own("rewind", "[message] [files]", "Go back to before an earlier message of yours"),
    own("fork", "[message]", "Continue in a copy of this session"),
    own("rename", "TITLE", "Give this session a title"),
    own("resume", "[id]", "Switch to another session; without an ID, list them"),
    own("serve", "[address]", "Share this session with browsers and programs"),
    own("copy", "", "Copy the last reply"),
    own("export", "[file]", "Export the conversation as Markdown"),
    own("quit", "", "End"),
];
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTIN.iter().find(|builtin| builtin.name.eq_ignore_ascii_case(name))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slash<'a> {
    pub name: &'a str,
    pub rest: &'a str,
}

/// Parses a line; none if it is plain words, or begins with a path.
pub fn parse(line: &str) -> Option<Slash<'_>> {
    let line = line.trim();
    let words = line.strip_prefix('/')?;
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let in_name = |c: char| c.is_alphanumeric() || "-_.:+".contains(c);
    let is_plain = !name.is_empty() && name.chars().all(in_name);
    is_plain.then(|| Slash { name, rest: rest.trim() })
}

/// The detail in which changed files are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Files,
    Lines,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    Clear,
    Compact {
        instructions: Option<String>,
    },
    /// Without a name, asks for the current one.
    Model(Option<String>),
    Mode(Mode),
    /// The effort; none for the next one.
    Effort(Option<ReasoningLevel>),
    /// Without a name, asks for the list.
    Theme(Option<String>),
    Resume(String),
    Fresh,
    /// Continue in a copy of the session that ends before a message.
    Rewind {
        message: usize,
        files: RewindFiles,
    },
    /// Continue in a copy of the session, up to the turn of a message or whole.
    Fork(Option<usize>),
    Restore {
        direction: Direction,
        turns: usize,
        /// True if later changes of the user are overwritten.
        is_forced: bool,
    },
    Changes {
        /// None means all.
        turns: Option<u32>,
        detail: Detail,
    },
    Rename(String),
    /// Share the session over HTTP, at an address.
    Serve(Option<String>),
    Copy,
    Export(Option<PathBuf>),
    Quit,
}

/// The files that turns changed, when the conversation goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewindFiles {
    Stay,
    Undo,
}

impl Control {
    /// The built-in command, and the flag or command that does this for a single prompt.
    pub fn alternative(&self) -> (&'static str, &'static str) {
        match self {
            Self::Clear => ("clear", "a run without `--resume` begins with an empty history"),
            Self::Compact { .. } => ("compact", "`brynhild --resume ID` opens a session for it"),
            Self::Model(_) => ("model", "`--model NAME` names the model"),
            Self::Effort(_) => {
                ("effort", "`behavior.reasoning_level` in the configuration sets it")
            }
            Self::Mode(_) => ("mode", "`--mode MODE` sets the mode"),
            Self::Theme(_) => ("theme", "`ui.theme` in the configuration names one"),
            Self::Resume(_) => ("resume", "`--resume ID` continues a session"),
            Self::Fresh => ("new", "a run without `--resume` starts a new session"),
            Self::Rewind { .. } => ("rewind", "`brynhild --resume ID` opens a session for it"),
            Self::Fork(_) => ("fork", "`--resume ID --fork` continues in a copy"),
            Self::Restore { direction: Direction::Undo, .. } => {
                ("undo", "`brynhild session undo` undoes changes")
            }
            Self::Restore { direction: Direction::Redo, .. } => {
                ("redo", "`brynhild session redo` redoes them")
            }
            Self::Changes { .. } => ("changes", "`brynhild session changes` shows them"),
            Self::Rename(_) => ("rename", "`brynhild session title ID TITLE` gives a title"),
            Self::Serve(_) => ("serve", "`brynhild serve` offers all sessions"),
            Self::Copy => ("copy", "a single prompt prints its reply"),
            Self::Export(_) => ("export", "`brynhild session export ID` writes a session"),
            Self::Quit => ("quit", "a single prompt ends by itself"),
        }
    }
}

/// A line that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    pub text: String,
    pub hint: Option<String>,
}

impl Misuse {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// The action of a built-in command with these words; none if the command shows something or asks
/// the model.
pub fn control(name: &str, rest: &str) -> Option<Result<Control, Misuse>> {
    let words = Some(rest).filter(|rest| !rest.is_empty());
    let owned = || words.map(str::to_owned);
    Some(match (name, words) {
        ("clear", _) => Ok(Control::Clear),
        ("compact", _) => Ok(Control::Compact { instructions: owned() }),
        ("model", _) => Ok(Control::Model(owned())),
        ("effort", Some("next")) => Ok(Control::Effort(None)),
        ("effort", Some(word)) => effort(word).map(|level| Control::Effort(Some(level))),
        ("theme", _) => Ok(Control::Theme(owned())),
        ("serve", _) => Ok(Control::Serve(owned())),
        ("copy", _) => Ok(Control::Copy),
        ("rename", Some(title)) => Ok(Control::Rename(title.to_owned())),
        ("rename", None) => Err(Misuse::new("no title was given").hint("`/rename TITLE`")),
        ("resume", Some(id)) => Ok(Control::Resume(id.to_owned())),
        ("new", _) => Ok(Control::Fresh),
        ("rewind", Some(_)) | ("fork", _) => going_back(name, rest),
        ("undo" | "redo", _) => restoring(name, rest),
        ("changes", _) => {
            turns(words).map(|turns| Control::Changes { turns, detail: Detail::Files })
        }
        ("diff", _) => turns(words)
            .map(|turns| Control::Changes { turns: turns.or(Some(1)), detail: Detail::Lines }),
        ("export", _) => Ok(Control::Export(words.map(PathBuf::from))),
        ("quit", _) => Ok(Control::Quit),
        _ => return None,
    })
}

fn effort(word: &str) -> Result<ReasoningLevel, Misuse> {
    let word = word.to_lowercase();
    if word.starts_with("raw:") || LEVELS.contains(&word.as_str()) {
        return Ok(ReasoningLevel::parse(&word));
    }
    Err(Misuse::new(format!("`{word}` is not a reasoning effort"))
        .hint(format!("there are {}", LEVELS.join(", "))))
}

fn turns(rest: Option<&str>) -> Result<Option<u32>, Misuse> {
    let number = |word: &str| word.parse().ok().filter(|count| *count > 0);
    let wrong = |word: &str| Misuse::new(format!("`{word}` is not a number of turns"));
    rest.map(|word| number(word).ok_or_else(|| wrong(word))).transpose()
}

fn going_back(name: &str, rest: &str) -> Result<Control, Misuse> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number = |word: &str| word.parse().ok();
    let wanted = match (name, words.as_slice()) {
        ("fork", []) => Some(Control::Fork(None)),
        ("fork", [word]) => number(word).map(|message| Control::Fork(Some(message))),
        ("rewind", [word]) => {
            number(word).map(|message| Control::Rewind { message, files: RewindFiles::Stay })
        }
        ("rewind", [word, "files"]) => {
            number(word).map(|message| Control::Rewind { message, files: RewindFiles::Undo })
        }
        _ => None,
    };
    wanted.ok_or_else(|| {
        Misuse::new(format!("`/{name}` does not take `{rest}`"))
            .hint("`/rewind 2 files` and `/fork 2` name a message by its number in `/rewind`")
    })
}

fn restoring(name: &str, rest: &str) -> Result<Control, Misuse> {
    let direction = if name == "redo" { Direction::Redo } else { Direction::Undo };
    let (forced, other): (Vec<&str>, Vec<&str>) =
        rest.split_whitespace().partition(|word| matches!(*word, "force" | "--force"));
    let count = match (direction, other.as_slice()) {
        (_, []) => 1,
        (Direction::Undo, [count]) => turns(Some(count))?.unwrap_or(1),
        (_, words) => {
            let text = format!("`/{name}` does not take `{}`", words.join(" "));
            let hint = "`/undo 2` undoes two turns; `force` overwrites your later changes";
            return Err(Misuse::new(text).hint(hint));
        }
    };
    let turns = usize::try_from(count).unwrap_or(usize::MAX);
    Ok(Control::Restore { direction, turns, is_forced: !forced.is_empty() })
}

/// The mode of a name. `bound` is the loosest one that the site allows.
pub fn mode(wanted: &str, is_safe: bool, bound: Option<Mode>) -> Result<Mode, Misuse> {
    let mode = Mode::ALL.into_iter().find(|mode| mode.as_str().eq_ignore_ascii_case(wanted));
    let mode = mode.ok_or_else(|| {
        Misuse::new(format!("`{wanted}` is not a mode"))
            .hint("the modes are read-only, ask, normal and yolo")
    })?;
    if is_safe && mode != Mode::ReadOnly {
        return Err(
            Misuse::new("`--safe` is stronger than `/mode`").hint("start again without `--safe`")
        );
    }
    if let Some(bound) = bound.filter(|bound| mode > *bound) {
        let bound = bound.as_str();
        let text = format!("the site's configuration allows at most mode `{bound}`");
        return Err(Misuse::new(text));
    }
    Ok(mode)
}

/// The first sentence of a text, at most a line.
pub fn sentence(text: &str) -> String {
    const MAX_SENTENCE_BYTES: usize = 200;
    let line = text.trim().lines().next().unwrap_or_default();
    let end = line.find(". ").unwrap_or(line.len());
    let sentence = line[..end].trim_end_matches('.');
    let shown = head(sentence, MAX_SENTENCE_BYTES);
    if shown.len() < sentence.len() { format!("{shown}…") } else { sentence.to_owned() }
}

/// Tokens and cost in words.
pub fn cost(usage: &Usage) -> String {
    let more = if usage.unpriced { " + unknown" } else { "" };
    let known = |it| format!("${it:.4}{more}");
    let cost = usage.cost_usd.map_or_else(|| "unknown cost".to_owned(), known);
    let (input, output) = (usage.input_tokens, usage.output_tokens);
    let (read, written) = (usage.cached_tokens.unwrap_or(0), usage.cache_write_tokens.unwrap_or(0));
    let cached = format!("{read} read from the cache, {written} written to it");
    format!("{input} tokens in ({cached}), {output} out, {cost}\n")
}

/// The panel that shows what a command lists elsewhere.
pub fn panel(slash: Slash<'_>) -> Option<Action> {
    match builtin(slash.name)?.name {
        "model" => Some(Action::Models),
        "theme" => Some(Action::Themes),
        "resume" => Some(Action::Sessions),
        "rewind" => Some(Action::Rewind),
        "plugins" => Some(Action::Plugins),
        "permissions" => Some(Action::Permissions),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_a_name_and_its_arguments() {
        let parsed = |line| parse(line).map(|slash| (slash.name, slash.rest));
        assert_eq!(parsed("/help"), Some(("help", "")));
        assert_eq!(
            parsed("  /acme:deploy  to prod \n now "),
            Some(("acme:deploy", "to prod \n now"))
        );
        assert_eq!(parsed("/skill\ncommit-helper"), Some(("skill", "commit-helper")));
    }

    #[test]
    fn paths_and_plain_text_are_no_commands() {
        for line in ["/usr/bin is full", "/", "/ x", "help", "//x", "/a/b", "a /help", ""] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn built_in_names_ignore_case() {
        assert_eq!(builtin("HELP").unwrap().name, "help");
        assert!(builtin("helpful").is_none());
    }
}
