//! Which words of a command could be files that it reads. Any could, but for those of a few programs of which it is
//! known what they do with them.

use super::super::sweep::{is_left_out, shows};
use crate::programs::{self, Knowledge};
use crate::shell::{Found, Kind, Piece, Word, base_name};

/// In longer searches any word may be a file.
const LONG: usize = 256;

/// The words of a command that could be files which it reads.
pub(super) fn read_by(found: &Found) -> Vec<&Piece> {
    let words = found.argv();
    let Some((program, args)) = words.split_first() else { return Vec::new() };
    let name = base_name(&program.text);
    let is_search = matches!(name, "grep" | "egrep" | "fgrep" | "rg");
    // What a search leaves out it does not read.
    let is_read = |at: usize| at == 0 || !is_left_out(found, at - 1);
    let all =
        || words.iter().enumerate().filter(|(at, _)| is_read(*at)).map(|(_, it)| it).collect();
    if found.kind != Kind::Apart {
        return all();
    }
    let is_test = found.before().iter().any(|word| word.text == "[[");
    match name {
        "echo" | "printf" | "test" | "[" => Vec::new(),
        // Whether a file is there says nothing of what it holds.
        _ if is_test => Vec::new(),
        "cp" => copied(args),
        // A folder would show what is in it, unless it is told not to.
        "ls" if has_letter(args, 'd') => Vec::new(),
        // What a file is called, and how large it is.
        "ls" | "stat" => args.iter().filter(|word| !is_only_named(word)).collect(),
        "find" | "gfind" => looked_for(args).unwrap_or_else(all),
        _ if is_search => searched(words).unwrap_or_else(all),
        "git" => shown_by_git(args),
        _ => all(),
    }
}

/// The words of git that could be files of which it shows what they hold.
fn shown_by_git(args: &[Piece]) -> Vec<&Piece> {
    let Some((subcommand, rest)) = args.split_first() else { return Vec::new() };
    let has = |text: &str| rest.iter().any(|word| word.text == text);
    let subcommand = subcommand.text.as_str();
    match subcommand {
        "check-ignore" | "ls-files" => return Vec::new(),
        "rm" if has("--cached") => return Vec::new(),
        _ => {}
    }
    // When a file was changed, and whether it is.
    let tells = matches!(subcommand, "log" | "status") && !shows(subcommand, rest);
    let is_told = |at: usize| tells && !args[at].text.starts_with('-');
    let before = |at: usize| at.checked_sub(1).map_or("", |at| args[at].text.as_str());
    let commits = matches!(subcommand, "commit" | "tag");
    // What is looked for in messages.
    let logs = matches!(subcommand, "log" | "shortlog");
    let is_sought = |at: usize| {
        const SOUGHT: &[&str] = &["--grep", "--author", "--committer"];
        let attached = args[at].text.split_once('=').map_or("", |(option, _)| option);
        SOUGHT.contains(&attached) || SOUGHT.contains(&before(at))
    };
    let is_said = |at: usize| {
        let is_message = commits && matches!(before(at), "-m" | "--message" | "-am");
        is_message || (logs && is_sought(at)) || is_told(at)
    };
    let words = args.iter().enumerate().filter(|(at, _)| !is_said(*at));
    words.map(|(_, word)| word).collect()
}

/// The words of `find` without the names that it looks for; none where it gives what it finds to somebody.
fn looked_for(args: &[Piece]) -> Option<Vec<&Piece>> {
    const NAMES: &[&str] = &["-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"];
    let acts = |word: &Piece| {
        let actions = ["-exec", "-ok", "-delete", "-fprint", "-fls", "-files0"];
        word.dynamic || actions.iter().any(|action| word.text.starts_with(action))
    };
    if args.iter().any(acts) {
        return None;
    }
    let is_name = |at: usize| at > 0 && NAMES.contains(&args[at - 1].text.as_str());
    let words = args.iter().enumerate().filter(|(at, _)| !is_name(*at));
    Some(words.map(|(_, word)| word).collect())
}

/// Whether a cluster of options has a letter.
fn has_letter(args: &[Piece], letter: char) -> bool {
    let is_cluster = |text: &&str| text.starts_with('-') && !text.starts_with("--");
    let mut clusters = args.iter().map(|word| word.text.as_str()).filter(is_cluster);
    clusters.any(|text| text.contains(letter))
}

/// Whether a word is a file of which only the name is shown; a pattern that leads elsewhere would show which there are.
fn is_only_named(word: &Piece) -> bool {
    is_file_name(&word.text) && !(word.glob && word.text.contains('/'))
}

/// Whether a name looks like that of a file.
fn is_file_name(path: &str) -> bool {
    let name = base_name(path);
    name.contains('.') && name.chars().any(char::is_alphanumeric) && !path.ends_with('/')
}

/// The words of `cp` that could be files which it reads: where they go is only written.
fn copied(args: &[Piece]) -> Vec<&Piece> {
    let is_operand = |word: &&Piece| !word.text.starts_with('-');
    // A target that an option names is not the last of them.
    let is_told = |word: &Piece| {
        let letters = word.text.strip_prefix('-').unwrap_or_default();
        letters.starts_with("-t") || (!letters.starts_with('-') && letters.contains(['t', 'S']))
    };
    let is_usual = args.iter().filter(is_operand).count() > 1
        && !args.iter().any(|word| is_told(word) || word.dynamic);
    let last = args.iter().rposition(|word| is_operand(&word)).filter(|_| is_usual);
    args.iter().enumerate().filter(|(at, _)| Some(*at) != last).map(|(_, word)| word).collect()
}

/// The files that a search reads, where its arguments are understood.
fn searched(argv: &[Piece]) -> Option<Vec<&Piece>> {
    if argv.len() > LONG || argv.iter().any(|word| word.dynamic) {
        return None;
    }
    let word = |piece: &Piece| Word {
        text: piece.text.clone(),
        range: 0..0,
        glob: piece.glob,
        quoted: false,
    };
    let words: Vec<Word> = argv.iter().map(word).collect();
    let Knowledge::Checked { outcome: Ok(looked), .. } = programs::check(&words) else {
        return None;
    };
    // It may be attached to an option.
    let is_one = |file: &str, word: &str| {
        word == file || (word.starts_with('-') && !file.is_empty() && word.ends_with(file))
    };
    let is_read = |piece: &&Piece| {
        let mut files = looked.contents.iter().chain(&looked.names);
        files.any(|file| is_one(&file.text, &piece.text))
    };
    Some(argv.iter().filter(is_read).collect())
}
