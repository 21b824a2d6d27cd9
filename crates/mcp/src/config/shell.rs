//! Command lines as shells and programs that run others read them, as far as words, quotes and
//! separators tell. Only looks at words; nothing is run.

/// Shells, which take a script as a word.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "fish"];

/// Programs that run the command which follows them, with their options that have a value.
const WRAPPERS: [(&str, &[&str]); 11] = [
    ("command", &[]),
    ("doas", &["-u"]),
    ("env", &["-u", "--unset", "-C", "--chdir", "-S", "--split-string"]),
    ("exec", &["-a"]),
    ("ionice", &["-c", "-n"]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("sudo", &["-u", "-g"]),
    ("timeout", &["-s", "-k"]),
];

/// Words of a shell behind which a command stands.
const KEYWORDS: [&str; 9] = ["!", "do", "else", "if", "then", "time", "until", "while", "{"];

/// What a command runs in its place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Behind<'a> {
    /// Another command, by its words.
    Command(&'a [&'a str]),
    /// The commands of a script.
    Script(&'a str),
}

/// The name of a program, without its folder and what its file ends with.
pub(crate) fn name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let ends = [".exe", ".cmd", ".bat"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
}

/// What the program of this name runs with these words behind it; none where it is no shell with a
/// script and nothing that runs other programs.
pub(crate) fn behind<'a>(name: &str, rest: &'a [&'a str]) -> Option<Behind<'a>> {
    if SHELLS.contains(&name) {
        let takes_script =
            |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        let at = rest.iter().position(takes_script)?;
        return rest.get(at + 1).map(|script| Behind::Script(script));
    }
    if name == "cmd" {
        let at = rest.iter().position(|word| word.eq_ignore_ascii_case("/c"))?;
        return Some(Behind::Command(&rest[at + 1..]));
    }
    let (_, valued) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name)?;
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        let is_setting = name == "env" && word.contains('=');
        let is_time = name == "timeout" && word.starts_with(|c: char| c.is_ascii_digit());
        if name == "env" && ["-S", "--split-string"].contains(word) {
            return rest.get(at + 1).map(|script| Behind::Script(script));
        }
        if valued.contains(word) {
            at += 2;
        } else if word.starts_with('-') || is_setting || is_time {
            at += 1;
        } else {
            break;
        }
    }
    rest.get(at..).map(Behind::Command)
}

/// The words of each command of a script, without what a shell has before a command: its own words,
/// and variables that are set for that command alone.
pub(crate) fn commands(script: &str) -> Vec<Vec<String>> {
    let is_setting = |word: &str| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let is_before = |word: &&String| KEYWORDS.contains(&word.as_str()) || is_setting(word);
    let mut commands = split(script);
    for command in &mut commands {
        let before = command.iter().take_while(is_before).count();
        command.drain(..before);
    }
    commands.retain(|command| !command.is_empty());
    commands
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The words between the separators of a script.
fn split(script: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let mut command = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = script.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() || ";&|()`".contains(c) => {
                command.extend(word.take());
                if c == '\n' || !c.is_whitespace() {
                    commands.push(std::mem::take(&mut command));
                }
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    command.extend(word);
    commands.push(command);
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_fall_into_commands() {
        let script = "cd 'a b' && X=1 exec python3 s.py; if true; then { ./t \"c\\\"d\"; }; fi";
        let found: Vec<String> = commands(script).iter().map(|words| words.join("|")).collect();
        assert_eq!(found, ["cd|a b", "exec|python3|s.py", "true", "./t|c\"d", "}", "fi"]);
        assert!(commands(" ; \n").is_empty());
    }

    #[test]
    fn what_a_program_runs_in_its_place_is_found() {
        assert_eq!(behind("bash", &["-l", "-c", "x y"]), Some(Behind::Script("x y")));
        assert_eq!(behind("sh", &["run.sh"]), None);
        assert_eq!(behind("env", &["-u", "A", "B=1", "x"]), Some(Behind::Command(&["x"])));
        assert_eq!(behind("env", &["-S", "x y"]), Some(Behind::Script("x y")));
        assert_eq!(behind("python3", &["x"]), None);
        assert_eq!(name("C:\\bin\\NPX.cmd"), "npx");
    }
}
