//! Commands whose damage undo does not repair. A short list: it is not a defense against a command that
//! hides, only a question before an accident.

use std::path::{Path, PathBuf};

use contract::policy::Decision;

use crate::paths::{Places, normalize};
use crate::shell::{Word, base_name};
use crate::word_list::listed;

/// Programs that are destructive whatever their arguments.
const ALWAYS: &str = "mkfs mke2fs mkswap shutdown reboot halt poweroff";

/// Options of git before its subcommand that take a value.
const GIT_VALUED: &str = "-C -c --git-dir --work-tree --namespace --exec-path --config-env";

/// The decision on a destructive command with its reason; none for every other command.
pub(crate) fn judge(
    words: &[Word],
    dirs: &[PathBuf],
    places: &Places,
) -> Option<(Decision, String)> {
    let (program, args) = words.split_first()?;
    let name = base_name(program.known()?);
    let asks = |what: &str| Some((Decision::Ask, format!("`{what}` is destructive")));
    match name {
        "rm" => removal(args, dirs, places),
        "git" => git(args).and_then(|what| asks(&format!("git {what}"))),
        "dd" if args.iter().any(|word| word.text.starts_with("of=/dev/")) => {
            let is_null = |word: &Word| word.text == "of=/dev/null";
            if args.iter().any(is_null) { None } else { asks("dd of=/dev/…") }
        }
        name if listed(ALWAYS, name) || name.starts_with("mkfs.") => asks(name),
        _ => None,
    }
}

/// Recursive removal of the root, the home directory, the workspace or a git repository.
fn removal(args: &[Word], dirs: &[PathBuf], places: &Places) -> Option<(Decision, String)> {
    let is_recursive = |word: &Word| {
        let letters = word.text.strip_prefix('-').filter(|it| !it.starts_with('-'));
        letters.is_some_and(|it| it.contains(['r', 'R']))
            || (word.text.len() > 3 && "--recursive".starts_with(&word.text))
    };
    if !args.iter().any(is_recursive) {
        return None;
    }
    let operands = args.iter().filter(|word| !word.dynamic && !word.text.starts_with('-'));
    operands.filter_map(|word| target(word, dirs, places)).max_by_key(|(decision, _)| *decision)
}

fn target(word: &Word, dirs: &[PathBuf], places: &Places) -> Option<(Decision, String)> {
    // All that is in a directory stands for the directory.
    let (text, is_all) = match word.text.strip_suffix('*') {
        Some(dir) if word.glob && (dir.is_empty() || dir.ends_with('/')) => (dir, true),
        _ => (word.text.as_str(), false),
    };
    if word.glob && !is_all {
        return None;
    }
    let absolute = Path::new(text).is_absolute().then(|| PathBuf::from("/"));
    let mut paths = absolute.iter().chain(dirs).map(|dir| normalize(&dir.join(text)));
    paths.find_map(|path| {
        let home = places.home.as_ref().filter(|home| home.starts_with(&path));
        // The files of the workspace can be restored; its directory cannot.
        let is_restorable = is_all && path == places.workspace;
        let usual = if is_restorable { Decision::Ask } else { Decision::Deny };
        let (decision, what) = if path == Path::new("/") {
            (usual, "the root directory")
        } else if home.is_some() {
            (usual, "the home directory")
        } else if places.workspace.starts_with(&path) {
            (usual, "the workspace")
        } else if path.ends_with(".git") || path.ends_with(".git/objects") {
            (Decision::Ask, "the git repository")
        } else {
            return None;
        };
        Some((decision, format!("removes {what}")))
    })
}

/// The destructive subcommand of git.
fn git(args: &[Word]) -> Option<&'static str> {
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| word.text.starts_with('-')) {
        at += if listed(GIT_VALUED, &word.text) { 2 } else { 1 };
    }
    let (subcommand, rest) = args.get(at..)?.split_first()?;
    let has = |letter: char, long: &str| {
        rest.iter().any(|word| match word.text.strip_prefix("--") {
            Some(name) => !name.is_empty() && name.starts_with(long),
            None => word.text.starts_with('-') && word.text.contains(letter),
        })
    };
    let is = |wanted: &[&str]| rest.iter().any(|word| wanted.contains(&word.text.as_str()));
    let whole_tree = is(&[".", "./", ":/", "*"]);
    match subcommand.known()? {
        "reset" if is(&["--hard"]) => Some("reset --hard"),
        "clean" if has('f', "force") && !has('n', "dry-run") => Some("clean -f"),
        "checkout" if whole_tree && !is(&["-b", "-B"]) => Some("checkout -- ."),
        "restore" if whole_tree && (!has('S', "staged") || has('W', "worktree")) => {
            Some("restore .")
        }
        "branch" if has('D', "\0") || (has('d', "delete") && has('f', "force")) => {
            Some("branch -D")
        }
        "stash" if rest.first().is_some_and(|word| word.text == "drop") => Some("stash drop"),
        "stash" if rest.first().is_some_and(|word| word.text == "clear") => Some("stash clear"),
        "push" if has('f', "force") => Some("push --force"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    fn judged(text: &str) -> Option<Decision> {
        let places = Places {
            workspace: "/w".into(),
            home: Some("/home/u".into()),
            readable: Vec::new(),
            allowed: Vec::new(),
            protected: Vec::new(),
        };
        let script = shell::read(text, Path::new("/w"), places.home.as_deref());
        let all = script.commands.iter();
        all.filter_map(|it| judge(it.argv(), &it.dirs, &places)).map(|it| it.0).max()
    }

    #[test]
    fn removing_root_home_or_workspace_is_denied() {
        for text in [
            "rm -rf /",
            "rm -r -f ~",
            "rm --recursive ~/",
            "rm -rf $HOME",
            "rm -rf .",
            "rm -fr /w",
            "rm -rf ..",
            "rm -rf $PWD",
            "rm -rf \"$(pwd)\"",
            "rm -rf /home",
            "rm -rf /*",
            "rm -rf ~/*",
            "cd / && rm -rf home",
            "sudo rm -rf /",
            "env X=1 timeout 5 rm -rf /",
            "sh -c 'rm -rf /'",
            "echo $(rm -rf /)",
            "ls | xargs rm -rf /",
        ] {
            assert_eq!(judged(text), Some(Decision::Deny), "{text}");
        }
    }

    #[test]
    fn destructive_commands_ask() {
        for text in [
            "git reset --hard HEAD~1",
            "git -C sub clean -fdx",
            "git checkout -- .",
            "git checkout .",
            "git restore .",
            "git restore --staged --worktree .",
            "git branch -D old",
            "git stash drop",
            "git stash clear",
            "git push --force",
            "git push -f origin main",
            "git push origin main --force-with-lease",
            "dd if=x of=/dev/sda",
            "mkfs.ext4 /dev/sda",
            "mkfs /dev/sda",
            "shutdown -h now",
            "rm -rf *",
            "rm -rf .git",
            "rm -r sub/.git/objects",
            "nice git push --force",
            "bash -c 'git push --force'",
        ] {
            assert_eq!(judged(text), Some(Decision::Ask), "{text}");
        }
    }

    #[test]
    fn everyday_commands_are_not_destructive() {
        for text in [
            "rm -rf build",
            "rm -rf node_modules",
            "rm new.txt",
            "rm -r src/*",
            "cd sub && rm -rf .",
            "(cd /tmp && ls); rm -rf build",
            "git reset --soft HEAD~1",
            "git clean -nd",
            "git clean -fdn",
            "git checkout src/calc.py",
            "git checkout -b feature",
            "git restore --staged .",
            "git branch -d old",
            "git stash",
            "git push",
            "git commit -m 'push --force'",
            "dd if=a of=b",
            "echo rm -rf /",
        ] {
            assert_eq!(judged(text), None, "{text}");
        }
    }
}
