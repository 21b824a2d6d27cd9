//! Turns tokens into simple commands, following the working directory through `cd`.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::Obstacle;
use super::strict::{Flow, Join, Redirect, Token, Word};
use super::wrappers::is_assignment;
use crate::paths::normalize;

/// One program run, or one assignment, with everything known about it.
#[derive(Clone, Debug)]
pub(crate) struct Simple {
    /// Variables set for it.
    pub(crate) assignments: Vec<(String, String)>,
    /// The program and its arguments.
    pub(crate) argv: Vec<Word>,
    /// Where its streams go.
    pub(crate) redirects: Vec<Redirect>,
    /// Every folder it may run in.
    pub(crate) cwd: Cwd,
    /// Its own text.
    pub(crate) source: String,
}

/// The folders in which a command may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cwd {
    /// All that are possible.
    pub(crate) folders: Vec<PathBuf>,
    /// Whether a `cd` came before, so that a symbolic link may have been followed.
    pub(crate) moved: bool,
}

/// More possible folders than this are not followed.
const FOLDERS: usize = 8;
/// Commands past this number are asked about.
const PARTS: usize = 50;

impl Cwd {
    fn with(mut self, other: &Self) -> Self {
        for folder in &other.folders {
            if !self.folders.contains(folder) {
                self.folders.push(folder.clone());
            }
        }
        self.moved |= other.moved;
        self
    }
}

/// The ranges of all words in order, targets of redirections included.
pub(crate) fn words(tokens: &[Token]) -> Vec<Range<usize>> {
    tokens
        .iter()
        .filter_map(|token| match token {
            Token::Word(word) => Some(word.range.clone()),
            Token::Redirect(redirect) => match redirect.flow {
                Flow::Heredoc => None,
                Flow::Duplicate if redirect.target.text == "-" => None,
                Flow::Duplicate | Flow::Read | Flow::Write | Flow::Data => {
                    Some(redirect.target.range.clone())
                }
            },
            Token::Join(_) => None,
        })
        .collect()
}

/// Lowers `tokens` of `text`, run in `cwd`.
pub(crate) fn lower(text: &str, tokens: Vec<Token>, cwd: &Path) -> Result<Vec<Simple>, Obstacle> {
    let start = Cwd { folders: vec![normalize(cwd)], moved: false };
    let mut walk = Walk {
        text,
        parts: Vec::new(),
        success: start.clone(),
        failure: start.clone(),
        input: start,
        last: Join::End,
    };
    let mut pipeline: Vec<Vec<Token>> = vec![Vec::new()];
    for token in tokens.into_iter().chain([Token::Join(Join::End)]) {
        match token {
            Token::Join(Join::Pipe) => pipeline.push(Vec::new()),
            Token::Join(join) => {
                let stages = std::mem::replace(&mut pipeline, vec![Vec::new()]);
                walk.pipeline(stages, join)?;
            }
            Token::Word(_) | Token::Redirect(_) => {
                pipeline.last_mut().expect("a pipeline has a stage").push(token);
            }
        }
    }
    Ok(walk.parts)
}

/// Follows a list of pipelines: where each would run if what came before it succeeded or failed.
struct Walk<'a> {
    text: &'a str,
    parts: Vec<Simple>,
    success: Cwd,
    failure: Cwd,
    input: Cwd,
    last: Join,
}

impl Walk<'_> {
    fn pipeline(&mut self, stages: Vec<Vec<Token>>, next: Join) -> Result<(), Obstacle> {
        if stages.iter().all(Vec::is_empty) {
            if next == Join::End && self.last == Join::End && stages.len() == 1 {
                return Ok(());
            }
            return Err(Obstacle::new("a command is missing"));
        }
        let alone = stages.len() == 1;
        let input = self.input.clone();
        let mut moved_to = input.clone();
        for stage in stages {
            let simple = simple(self.text, stage, input.clone())?;
            // In a longer pipeline each stage has a shell of its own, and `cd` moves that one.
            if alone && let Some(folders) = destination(&simple, &input) {
                moved_to = Cwd { folders, moved: true };
            }
            self.parts.push(simple);
        }
        if self.parts.len() > PARTS {
            return Err(Obstacle::new(format!("it has more than {PARTS} commands")));
        }
        let (success, failure) = (moved_to, input);
        match self.last {
            Join::And => {
                self.failure = self.failure.clone().with(&failure);
                self.success = success;
            }
            Join::Or => {
                self.success = self.success.clone().with(&success);
                self.failure = failure;
            }
            Join::Pipe | Join::End => {
                self.success = success;
                self.failure = failure;
            }
        }
        self.input = match next {
            Join::And => self.success.clone(),
            Join::Or => self.failure.clone(),
            Join::Pipe | Join::End => self.success.clone().with(&self.failure),
        };
        self.last = next;
        if self.input.folders.len() > FOLDERS {
            return Err(Obstacle::new("it changes the folder too often"));
        }
        Ok(())
    }
}

fn simple(text: &str, stage: Vec<Token>, cwd: Cwd) -> Result<Simple, Obstacle> {
    let mut simple = Simple {
        assignments: Vec::new(),
        argv: Vec::new(),
        redirects: Vec::new(),
        cwd,
        source: String::new(),
    };
    let mut span: Option<Range<usize>> = None;
    for token in stage {
        let range = match token {
            Token::Word(word) => {
                let range = word.range.clone();
                match assignment(&word).filter(|_| simple.argv.is_empty()) {
                    Some(pair) => simple.assignments.push(pair),
                    None => simple.argv.push(word),
                }
                range
            }
            Token::Redirect(redirect) => {
                // To the shell `time` ends there, and the options after it are a program's name.
                let is_time = |word: &Word| matches!(word.text.as_str(), "time" | "-p");
                let after_time = simple.argv.last().is_some_and(|word| word.text == "time");
                if after_time && simple.argv.iter().all(is_time) {
                    return Err(Obstacle::new(
                        "a redirection stands between `time` and its command",
                    ));
                }
                let range = redirect.target.range.clone();
                simple.redirects.push(redirect);
                range
            }
            Token::Join(_) => continue,
        };
        span = Some(span.map_or(range.clone(), |span| span.start..range.end));
    }
    let span = span.ok_or_else(|| Obstacle::new("a command is missing"))?;
    text[span].clone_into(&mut simple.source);
    Ok(simple)
}

/// The name and value of a word that sets a variable. Quotes are possible in the value only; where
/// the name is quoted, the parser disagrees.
fn assignment(word: &Word) -> Option<(String, String)> {
    let (name, value) = word.text.split_once('=')?;
    is_assignment(&word.text).then(|| (name.to_owned(), value.to_owned()))
}

/// Where `cd` leads, from each folder it may start in.
fn destination(simple: &Simple, input: &Cwd) -> Option<Vec<PathBuf>> {
    let (program, args) = simple.argv.split_first()?;
    if program.text != "cd" {
        return None;
    }
    let target = match args {
        [target] => target,
        [dashes, target] if dashes.text == "--" => target,
        _ => return Some(vec![PathBuf::from("/")]),
    };
    let mut folders: Vec<PathBuf> =
        input.folders.iter().map(|folder| normalize(&folder.join(&target.text))).collect();
    folders.dedup();
    Some(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(text: &str) -> Vec<Vec<String>> {
        let tokens = super::super::strict::tokens(text).unwrap();
        lower(text, tokens, Path::new("/w"))
            .unwrap()
            .into_iter()
            .map(|part| {
                let folders = part.cwd.folders.iter();
                folders.map(|folder| folder.display().to_string()).collect()
            })
            .collect()
    }

    #[test]
    fn cd_moves_what_runs_only_if_it_succeeded() {
        assert_eq!(folders("cd a && ls"), [["/w"], ["/w/a"]]);
    }

    #[test]
    fn where_cd_may_have_failed_both_folders_count() {
        assert_eq!(folders("cd a; ls")[1], ["/w/a", "/w"]);
        assert_eq!(folders("cd a || ls")[1], ["/w"]);
        assert_eq!(folders("cd a && ls || pwd")[2], ["/w", "/w/a"]);
    }

    #[test]
    fn cd_in_a_pipeline_moves_nothing() {
        assert_eq!(folders("cd a | ls\npwd"), [["/w"], ["/w"], ["/w"]]);
    }

    #[test]
    fn a_quoted_equals_sign_still_sets_a_variable_only_before_the_program() {
        let tokens = super::super::strict::tokens("A=1 B='x y' env C=2").unwrap();
        let parts = lower("A=1 B='x y' env C=2", tokens, Path::new("/w")).unwrap();
        assert_eq!(parts[0].assignments.len(), 2);
        assert_eq!(parts[0].argv.len(), 2);
    }
}
