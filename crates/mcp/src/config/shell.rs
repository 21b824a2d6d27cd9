//! Command lines as shells and programs that run others read them, as far as words, quotes and
//! separators tell. What is not understood is said to be so, and is not taken for nothing. Only
//! looks at words; nothing is run.

pub(crate) mod interpreters;
mod script;
mod wrappers;

pub(crate) use script::{Script, is_name};

/// How deep commands within commands are looked at.
pub(crate) const DEPTH: usize = 8;

/// Shells, which take a script as a word.
const SHELLS: [&str; 7] = ["sh", "ash", "bash", "dash", "fish", "ksh", "zsh"];

/// What a command runs in its place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Another command, by its words.
    Command(Vec<String>),
    /// The commands of a script.
    Script(String),
    /// Something that its words do not tell.
    Unclear,
}

/// The name of a program, without its folder and what its file ends with.
pub(crate) fn name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let ends = [".exe", ".cmd", ".bat"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
}

/// What the program of this name runs with these words behind it; none where it is no shell with a
/// script and nothing that runs other programs.
pub(crate) fn behind(name: &str, rest: &[&str]) -> Option<Behind> {
    match name {
        _ if SHELLS.contains(&name) => shell(name, rest),
        "cmd" => {
            let at = rest.iter().position(|word| word.eq_ignore_ascii_case("/c"))?;
            Some(Behind::Command(owned(&rest[at + 1..])))
        }
        "eval" => Some(Behind::Script(rest.join(" "))),
        "trap" => rest.first().map(|script| Behind::Script((*script).to_owned())),
        // What a word stands for from then on is nothing that a later word tells.
        "alias" => Some(Behind::Unclear),
        _ => wrappers::behind(name, rest),
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// What a shell runs; none where that is a file.
fn shell(name: &str, rest: &[&str]) -> Option<Behind> {
    let script = |text: &str| Some(Behind::Script(text.to_owned()));
    let mut takes_script = false;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let letters = word.strip_prefix(['-', '+']);
        match (*word, letters) {
            ("--" | "-", _) => break,
            ("--command" | "--init-command", _) => takes_script = true,
            ("--rcfile" | "--init-file", _) => _ = words.next(),
            (long, _) if long.starts_with("--") => {
                if let Some(("--command" | "--init-command", text)) = long.split_once('=') {
                    return script(text);
                }
            }
            (_, Some(letters)) => {
                let scripted = if name == "fish" { &['c', 'C'][..] } else { &['c'] };
                if letters.contains('s') && !letters.contains(scripted) {
                    return Some(Behind::Unclear);
                }
                if let Some((_, text)) = letters.split_once(scripted) {
                    // Only one of them has the script in the same word.
                    if name == "fish" && !text.is_empty() {
                        return script(text);
                    }
                    takes_script = true;
                }
                if letters.contains(['o', 'O']) {
                    words.next();
                }
            }
            (first, None) if takes_script => return script(first),
            (_, None) => return None,
        }
    }
    match words.next() {
        Some(first) if takes_script => script(first),
        Some(_) => None,
        // Its commands come from elsewhere.
        None => Some(Behind::Unclear),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str]) -> Behind {
        Behind::Command(owned(words))
    }

    fn script(text: &str) -> Behind {
        Behind::Script(text.to_owned())
    }

    #[test]
    fn what_a_shell_runs_is_found() {
        for words in [
            &["-l", "-c", "x y"][..],
            &["-ce", "x y"],
            &["-c", "--", "x y"],
            &["-c", "-e", "x y", "z"],
            &["-euo", "pipefail", "-c", "x y"],
            &["+x", "--norc", "--rcfile", "r", "-c", "x y"],
        ] {
            assert_eq!(behind("bash", words), Some(script("x y")), "{words:?}");
        }
        assert_eq!(behind("fish", &["-cx y"]), Some(script("x y")));
        assert_eq!(behind("fish", &["--command=x y"]), Some(script("x y")));
        assert_eq!(behind("sh", &["run.sh", "-c", "x"]), None);
        for words in [&[][..], &["-s", "x"], &["-l"], &["-c"]] {
            assert_eq!(behind("sh", words), Some(Behind::Unclear), "{words:?}");
        }
    }

    #[test]
    fn what_a_program_runs_in_its_place_is_found() {
        for words in [
            &["-u", "A", "B=1", "x"][..],
            &["-uA", "-i", "--", "B=1", "x"],
            &["--chdir=/d", "--unset", "A", "-", "x"],
            &["-iC", "/d", "x"],
        ] {
            assert_eq!(behind("env", words), Some(command(&["x"])), "{words:?}");
        }
        for words in [&["-S", "x -y", "z"][..], &["-iSx -y", "z"], &["--split-string=x -y", "z"]] {
            assert_eq!(behind("env", words), Some(command(&["env", "x", "-y", "z"])), "{words:?}");
        }
        assert_eq!(behind("env", &["-S", "x 'y"]), Some(Behind::Unclear));
        assert_eq!(behind("env", &["--strange", "x"]), Some(Behind::Unclear));
        assert_eq!(behind("timeout", &["--signal", "KILL", "5", "x"]), Some(command(&["x"])));
        assert_eq!(behind("timeout", &["-k5", "--", "5s", "x", "-s"]), Some(command(&["x", "-s"])));
        assert_eq!(behind("nice", &["-10", "x"]), Some(command(&["x"])));
        assert_eq!(behind("sudo", &["-nu", "me", "A=1", "x"]), Some(command(&["x"])));
        assert_eq!(behind("xargs", &["-n1", "x"]), Some(command(&["x"])));
        assert_eq!(behind("cmd", &["/C", "x"]), Some(command(&["x"])));
        assert_eq!(behind("eval", &["x", "y; z"]), Some(script("x y; z")));
        assert_eq!(behind("python3", &["x"]), None);
        assert_eq!(name("C:\\bin\\NPX.cmd"), "npx");
    }
}
