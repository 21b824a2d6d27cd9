//! Commands of these plugins: Markdown files, and skills that the user may type too.

use std::collections::BTreeMap;
use std::path::Path;

use super::document::{self, Document};
use super::values::{Reader, Values};
use crate::commands::{Command, Rank, Recipe};
use crate::hidden;
use crate::problem::Problem;

fn named(body: &str, values: &Values) -> BTreeMap<String, String> {
    let names = body.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
    let value =
        |(name, _): (&str, &str)| Some((name.to_owned(), values.value(name, Reader::Model)?));
    names.filter_map(value).collect()
}

pub(crate) struct Origin<'a> {
    /// `plugin:NAME` or `project`.
    pub(crate) source: &'a str,
    pub(crate) plugin: Option<&'a str>,
    pub(crate) values: &'a Values,
}

pub(crate) fn parse(
    path: &Path,
    name: String,
    text: &str,
    origin: &Origin<'_>,
) -> Result<(Command, Option<Problem>), Problem> {
    let stripped = hidden::strip(text);
    let remark = stripped.report.map(|report| Problem::new(path, report, hidden::HINT));
    let document = document::read(&stripped.text)
        .map_err(|error| Problem::new(path, error.what, error.hint))?;
    Ok((of_document(path, name, &document, origin), remark))
}

pub(crate) fn of_document(
    path: &Path,
    name: String,
    document: &Document,
    origin: &Origin<'_>,
) -> Command {
    let body = document.body.clone();
    let first = || {
        let line = body.lines().map(str::trim).find(|line| !line.is_empty());
        line.unwrap_or_default().trim_start_matches(['#', ' ']).chars().take(100).collect()
    };
    let recipe = Recipe {
        allowed_tools: document.names("allowed-tools"),
        model: document.words("model").filter(|model| model != "inherit"),
        root: origin.values.root.clone(),
        env: origin.values.environment(),
        names: document.names("arguments"),
        directory: path.parent().map(Path::to_path_buf).unwrap_or_default(),
        values: named(&body, origin.values),
    };
    Command {
        name,
        description: document.words("description").unwrap_or_else(first),
        aliases: Vec::new(),
        args: document.words("argument-hint").unwrap_or_default(),
        body,
        run: None,
        source: origin.source.to_owned(),
        plugin: origin.plugin.map(str::to_owned),
        path: Some(path.to_path_buf()),
        rank: Rank::Guest,
        recipe: Some(Box::new(recipe)),
    }
}

/// The command of a file in a directory of commands: `git/commit.md` is `git:commit`.
pub(crate) fn name(directory: &Path, file: &Path) -> Option<String> {
    let relative = file.strip_prefix(directory).ok()?.with_extension("");
    let parts: Option<Vec<&str>> = relative.iter().map(|part| part.to_str()).collect();
    let name = parts?.join(":");
    let is_typeable = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '+');
    (!name.is_empty() && name.chars().all(is_typeable)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::{Here, Piece};

    #[test]
    fn command_is_named_after_its_file() {
        let values = Values { root: "/p".into(), ..Values::default() };
        let origin = Origin { source: "plugin:x", plugin: Some("x"), values: &values };
        let path = Path::new("/p/commands/git/commit.md");
        let called = name(Path::new("/p/commands"), path).unwrap();
        assert_eq!(called, "git:commit");
        assert_eq!(name(Path::new("/p/commands"), Path::new("/p/commands/a b.md")), None);
        let text = "# Commit it\n\nUse ${CLAUDE_PLUGIN_ROOT}/x and $ARGUMENTS";
        let (command, remark) = parse(path, called, text, &origin).unwrap();
        assert_eq!((command.description.as_str(), remark), ("Commit it", None));
        let recipe = command.recipe.unwrap();
        let pieces = recipe.pieces(&command.body, "now", Here::default());
        assert_eq!(pieces, [Piece::Text("# Commit it\n\nUse /p/x and now".into())]);
        let body = "${CLAUDE_SESSION_ID} $0 ${CLAUDE_EFFORT}";
        let here = Here { session: Some("s1"), effort: None };
        let pieces = recipe.pieces(body, "${CLAUDE_SESSION_ID}", here);
        let wanted = "s1 ${CLAUDE_SESSION_ID} ${CLAUDE_EFFORT}";
        assert_eq!(pieces, [Piece::Text(wanted.into())]);
    }
}
