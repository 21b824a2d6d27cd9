//! What a program in another language deletes, where its text says so by name. Text of such programs is not read as
//! what it is, so that only what stands right behind a call is known, and of the rest what nobody wants to lose.

use contract::policy::Decision;

use super::{Around, Danger, LISTED, destroy};
use crate::shell::{Found, Survey, reaches_interpreter};

/// Calls that delete whole trees, or files.
const CALLS: &[&str] = &[
    "rmtree(",
    "rmtree ",
    "remove_tree(",
    "remove_tree ",
    "rm_rf(",
    "rm_rf ",
    "rm_r(",
    "rm_r ",
    "rmSync(",
    "rmdirSync(",
    "rimraf(",
    "rimraf.sync(",
    "rimrafSync(",
    "remove_dir_all(",
    "remove_dir(",
    "remove_dir ",
    "remove_entry(",
    "remove_entry ",
    "removeSync(",
    "Deno.remove(",
    "fs.rm(",
    "fs.rmdir(",
    "promises.rm(",
    "unlink(",
    "unlink ",
    "unlinkSync(",
    "remove_entry_secure(",
    "remove_entry_secure ",
    "delete-directory ",
    "shutil.move(",
    "os.rename(",
    "os.replace(",
    "File.rename(",
    "FileUtils.mv(",
    "renameSync(",
    "rm(",
    "call delete(",
];
/// Those whose paths stand behind them without quotes, and among options.
const BARE: &[&str] = &["file delete ", "Remove-Item ", "remove-item "];
/// A part of each of them; quick to tell, since most texts have none.
const PARTS: &[&str] = &[
    "rmtree",
    "remove",
    "rm_r",
    "rmSync",
    "rmdirS",
    "rimraf",
    "s.rm",
    "unlink",
    "delete-d",
    "move(",
    "os.re",
    "rename",
    ".mv(",
    "rm(",
    "l delete(",
    "file delete ",
    "emove-",
    "deleteDir",
    "deleteRec",
    "deleteSync",
];

/// What may stand between a call and the path that it is given.
const AROUND: &[&str] = &["os.path.expanduser(", "File.expand_path(", "glob(", "glob ", "<"];

/// How languages say where the home folder is.
const HOME: &[&str] = &[
    "os.environ[\"HOME\"]",
    "os.environ['HOME']",
    "os.environ.get(\"HOME\")",
    "os.environ.get('HOME')",
    "os.getenv(\"HOME\")",
    "os.getenv('HOME')",
    "pathlib.Path.home()",
    "Path.home()",
    "Dir.home",
    "ENV[\"HOME\"]",
    "ENV['HOME']",
    "$ENV{HOME}",
    "$ENV{\"HOME\"}",
    "process.env.HOME",
    "require(\"os\").homedir()",
    "require('os').homedir()",
    "os.homedir()",
    "homedir()",
    "System.user_home!()",
    "System.user_home()",
    "Deno.env.get(\"HOME\")",
    "Deno.env.get('HOME')",
    "getenv(\"HOME\")",
    "getenv('HOME')",
];

/// How they say where they are.
const HERE: &[&str] = &[
    "os.getcwd()",
    "os.curdir",
    "pathlib.Path.cwd()",
    "Path.cwd()",
    "process.cwd()",
    "Deno.cwd()",
    "Dir.pwd",
    "getcwd()",
    "cwd()",
    "pwd()",
];

/// How they name all that is there.
const ALL: &[&str] = &[
    "listdir()",
    "listdir('.')",
    "scandir()",
    "scandir('.')",
    "iterdir()",
    "readdirSync('.')",
    "readdirSync(process.cwd())",
    "listdir(os.getcwd())",
    "glob('*')",
    "glob '*'",
    "glob('**/*')",
    "glob('./*')",
    "Dir['*']",
    "Dir['**/*']",
    "Dir.children('.')",
    "<*>",
];

/// What leaves some of that out, or is about another folder.
const NARROWING: &[&str] = &[
    " if ", "if(", "endswith", "endsWith", "filter", "match", "grep", "select", "chdir", "unless",
];

/// What nobody wants to lose, as a text of its own.
const DEAR: &[&str] = &["/", "/*", "~", "~/", "~/*", "$HOME", ".git"];

/// Calls that do something with a text, so that it is no path.
const ON_TEXT: &[&str] =
    &["split(", "strip(", "join(", "replace(", "with(", "find(", "print(", "write(", "log(", "=="];

/// The worst that the text deletes in this way.
pub(super) fn deleting(text: &str, survey: &Survey, around: &Around<'_>) -> Option<Danger> {
    let command = survey.commands.first()?;
    let is_named = PARTS.iter().any(|part| text.contains(part));
    if !is_named || !reaches_interpreter(text, PARTS) {
        return None;
    }
    let named = CALLS.iter().flat_map(|call| {
        let whole = text.match_indices(call).filter(|(at, call)| is_whole(&text[..*at], call));
        whole.take(LISTED).filter_map(|(at, call)| {
            let after = contract::text::head(&text[at + call.len()..], 400);
            let named = given(after).map(|target| (call, target, Decision::Deny));
            named.or_else(|| Some((call, assigned(after, text)?, Decision::Ask)))
        })
    });
    let bare = BARE.iter().flat_map(|call| {
        text.match_indices(call).take(LISTED).flat_map(|(at, call)| {
            let after = contract::text::head(&text[at + call.len()..], 400);
            bare(after).map(move |target| (call, target, Decision::Deny))
        })
    });
    let judged = named.chain(bare).filter_map(|(call, target, most)| {
        let danger = judged(call, target, command, around)?;
        Some(Danger { decision: danger.decision.min(most), ..danger })
    });
    let judged = judged.max_by_key(|danger| danger.decision);
    judged.or_else(|| held(text, command, around)).or_else(|| all_of_it(text))
}

fn judged(call: &str, target: &str, command: &Found, around: &Around<'_>) -> Option<Danger> {
    let decision = destroy::judge_call(target, command, around)?;
    let why = if call.starts_with("unlink") {
        "it deletes files"
    } else if ["move(", "rename(", "replace(", "mv(", "renameSync("]
        .iter()
        .any(|it| call.ends_with(it))
    {
        "it moves a whole tree"
    } else {
        "it deletes a whole tree"
    };
    Some(Danger { decision, subject: format!("{call}{target}"), why: why.to_owned() })
}

fn is_quote(c: char) -> bool {
    c == '"' || c == '\''
}

/// Whether a call is not the end of a longer name, as `confirm(` is no `rm(`.
fn is_whole(before: &str, call: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    call != "rm(" || !before.ends_with(is_letter)
}

/// The paths that stand without quotes behind a call, up to the end of what it is given.
fn bare(after: &str) -> impl Iterator<Item = &str> {
    let end = after.find(['\n', ';', '|', ')', '}']).unwrap_or(after.len());
    let words = after[..end].split_whitespace().map(|word| word.trim_matches(['"', '\'', '{']));
    words.filter(|word| !word.is_empty() && !word.starts_with('-')).map(|word| match word {
        "$HOME" | "$env:HOME" | "$::env(HOME" => "~",
        "$PWD" | "[pwd]" => ".",
        word => word,
    })
}

/// The path that a call is given, where that stands there.
fn given(after: &str) -> Option<&str> {
    let mut after = after.trim_start();
    while let Some(rest) = AROUND.iter().find_map(|around| after.strip_prefix(around)) {
        after = rest;
    }
    let goes_on = |rest: &str| rest.trim_start().starts_with(['/', '+', '.']);
    for (spellings, place) in [(HOME, "~"), (HERE, ".")] {
        let rest = spellings.iter().find_map(|spelling| after.strip_prefix(spelling));
        if rest.is_some_and(|rest| !goes_on(rest)) {
            return Some(place);
        }
    }
    let literal = after.trim_start_matches('\\').strip_prefix(is_quote)?;
    let end = literal.find(|c| is_quote(c) || c == '\\')?;
    Some(&literal[..end])
}

/// The path that a variable is set to which a call is given.
fn assigned<'a>(after: &str, text: &'a str) -> Option<&'a str> {
    let after = after.trim_start().trim_start_matches('$');
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let (name, rest) = after.split_at(after.find(|c| !is_letter(c))?);
    if name.is_empty() || !rest.trim_start().starts_with([',', ')', ';']) {
        return None;
    }
    text.match_indices(name).take(LISTED).find_map(|(at, _)| {
        let is_whole = !text[..at].ends_with(is_letter);
        let value = text[at + name.len()..].trim_start().strip_prefix('=').filter(|_| is_whole)?;
        let literal = value.trim_start().trim_start_matches('\\').strip_prefix(is_quote)?;
        Some(&literal[..literal.find(|c| is_quote(c) || c == '\\')?])
    })
}

/// A text that deletes, and names all that is in its folder.
fn all_of_it(text: &str) -> Option<Danger> {
    let deletes = ["rmtree", "rm_r", "rmSync", "removeSync", "rimraf", "os.remove", "unlink"];
    let call = deletes.into_iter().find(|call| text.contains(call))?;
    let plain = text.replace(['"', '`'], "'").replace('\\', "");
    let named = ALL.iter().find(|all| plain.contains(*all))?;
    if NARROWING.iter().any(|narrowing| text.contains(narrowing)) {
        return None;
    }
    let subject = format!("{call} .. {named}");
    let why = String::from("it deletes, and names everything in the folder");
    Some(Danger { decision: Decision::Ask, subject, why })
}

/// What a text that deletes names apart from the call: a variable may hold it.
fn held(text: &str, command: &Found, around: &Around<'_>) -> Option<Danger> {
    const CALLS: &[&str] = &[
        "rmtree",
        "remove_tree",
        "rm_rf",
        "rmSync",
        "removeSync",
        "rimraf",
        "os.remove",
        "deleteDir",
        "deleteRecursively",
        "deleteSync",
        "removeItem",
    ];
    let call = CALLS.iter().find(|call| text.contains(**call))?;
    let is_path = |at: usize, name: &str| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let Some(before) = before.strip_suffix(is_quote) else { return false };
        let Some(after) = after.trim_start_matches('\\').strip_prefix(is_quote) else {
            return false;
        };
        let before = before.trim_end_matches(['\\', ' ']);
        let after = after.trim_start();
        // Something stands before it or behind it.
        let is_part = before.ends_with('+')
            || after.starts_with('+')
            || (before.ends_with("resolve(") && after.starts_with(','));
        let is_text = ON_TEXT.iter().any(|call| before.ends_with(call));
        !is_part && !is_text && !after.starts_with(".join")
    };
    let mut names = DEAR.iter().flat_map(|name| text.match_indices(name).take(LISTED));
    let (_, name) = names.find(|(at, name)| is_path(*at, name))?;
    let target = if name == "$HOME" { "~" } else { name };
    destroy::judge_call(target, command, around)?;
    let subject = format!("{call} .. {name}");
    let why = String::from("it deletes, and names what nobody wants to lose");
    Some(Danger { decision: Decision::Ask, subject, why })
}

#[cfg(test)]
mod tests {
    use super::given;

    #[test]
    fn the_path_of_a_call_is_known_in_several_languages() {
        for (after, path) in [
            ("\"/\")", "/"),
            (" \\\"/x\\\")", "/x"),
            ("os.path.expanduser('~'))", "~"),
            ("os.environ[\"HOME\"])", "~"),
            ("process.env.HOME,{})", "~"),
            ("Dir.home'", "~"),
            ("glob \"/*\"", "/*"),
        ] {
            assert_eq!(given(after), Some(path), "{after}");
        }
        for after in ["p)", "Path.home() / \"x\")", "os.path.join(os.environ[\"HOME\"], 'x')"] {
            assert_eq!(given(after), None, "{after}");
        }
    }
}
