//! What runs files: shells, other interpreters, and what runs the scripts of packages.

use super::super::place::{Folder, is};
use super::super::shell::{Piece, Word, is_name};
use super::check::{Check, Here};
use super::python::is_python_plain;

/// What runs the file that is named next.
pub(super) const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];
pub(super) const OTHERS: [&str; 12] = [
    "Rscript", "lua", "luajit", "node", "nodejs", "perl", "php", "pypy", "python", "ruby", "tclsh",
    "tsx",
];

/// What runs scripts of a file of a fixed name, which is covered, and by which words it does.
pub(super) const PACKAGES: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];
const PACKAGE_SCRIPTS: [&str; 6] = ["run", "run-script", "start", "stop", "t", "test"];
/// Options of these that say where the file lies, or how much is printed.
const PACKAGE_OPTIONS: [&str; 6] = ["--prefix", "-C", "--dir", "--cwd", "-s", "--silent"];

/// Modules of Python that find their own work.
#[rustfmt::skip]
const MODULES: [&str; 14] = [
    "build", "coverage", "django", "doctest", "flask", "invoke", "mypy", "nose2", "nox", "pip", "pre_commit",
    "pytest", "tox", "unittest",
];

/// How the names of scripts for shells end.
const SHELL_ENDINGS: [&str; 4] = [".bash", ".ksh", ".sh", ".zsh"];

impl Check<'_> {
    /// Whether a script of a package is run, and nothing else.
    pub(super) fn is_package_followed(&self, name: &str, args: &[Word], here: Here<'_>) -> bool {
        let mut args = args.iter();
        while let Some(word) = args.next() {
            let Some(text) = word.literal() else { return false };
            if !text.starts_with('-') {
                let is_run = PACKAGE_SCRIPTS.contains(&text.as_str());
                // Packages within the package have scripts of their own.
                let is_here = |it: &str| !it.starts_with("-w") && !it.starts_with("--workspace");
                return is_run
                    && (name != "bun" || text == "run")
                    && args.all(|it| it.literal().is_some_and(|it| is_here(&it)));
            }
            let option = text.split_once('=').map_or(text.as_str(), |(option, _)| option);
            if !PACKAGE_OPTIONS.contains(&option) || here.folder == Folder::Named {
                return false;
            }
            let has_value = option == text && !["-s", "--silent"].contains(&option);
            if has_value && args.next().and_then(|it| self.known.folder(it)).is_none() {
                return false;
            }
        }
        false
    }

    pub(super) fn is_shell_followed(&self, args: &[Word], here: Here<'_>) -> bool {
        let is_file = |word: &Word| self.is_for_shell(word, here.folder);
        let mut args = args.iter();
        while let Some(word) = args.next() {
            let Some(text) = word.literal() else { return is_file(word) };
            match text.as_str() {
                "--" => return args.next().is_some_and(is_file),
                "-o" | "-O" | "+o" => drop(args.next().filter(|it| it.literal().is_some())),
                "-s" | "-" => return self.is_input_followed(here),
                "--login" | "--norc" | "--noprofile" | "--posix" => {}
                option if option.starts_with("--") => return false,
                option if option.starts_with(['-', '+']) => {
                    if option.contains('c') {
                        let text = args.next().and_then(Word::literal);
                        return text.is_some_and(|text| self.is_text(&text, here));
                    }
                    if option.contains(['s', 'i']) {
                        return !option.contains('i') && self.is_input_followed(here);
                    }
                    if option.ends_with(['o', 'O']) && args.next().and_then(Word::literal).is_none()
                    {
                        return false;
                    }
                }
                _ => return is_file(word),
            }
        }
        self.is_input_followed(here)
    }

    /// Whether a shell reads what it runs from files that are named there.
    fn is_input_followed(&self, here: Here<'_>) -> bool {
        let is_file = |word: &Word| self.is_for_shell(word, here.folder);
        if here.command.has_document {
            return false;
        }
        match (here.command.inputs.as_slice(), here.command.fed) {
            ([file], _) => is_file(file),
            ([], Some(number)) => {
                let producer = &self.script.commands[number];
                let is_plain = producer.fed.is_none() && !producer.has_document;
                let is_read = |word: &Word| self.known.is_operand(word) && is_file(word);
                matches!(producer.words.as_slice(), [cat, files @ ..] if is(cat, "cat")
                    && !files.is_empty() && is_plain && files.iter().all(is_read))
            }
            _ => false,
        }
    }

    pub(super) fn is_interpreter_followed(
        &self,
        name: &str,
        args: &[Word],
        here: Here<'_>,
    ) -> bool {
        let is_python = ["python", "pypy"].contains(&name);
        let texts: &[char] = match name {
            "python" | "pypy" => &['c'],
            "php" => &['r'],
            _ => &['e', 'E', 'p'],
        };
        let mut args = args.iter();
        while let Some(word) = args.next() {
            let text = word.literal();
            let Some(option) = text.as_ref().and_then(|text| text.strip_prefix('-')) else {
                // What is read as the script of a shell is none of another language.
                let name = text.unwrap_or_default();
                let is_other = SHELL_ENDINGS.iter().any(|it| name.ends_with(it));
                let is_open = matches!(word.filled().as_slice(), [Piece::Variable { .. }]);
                return !is_other && !is_open && self.known.is_file(word, here.folder);
            };
            match option {
                "r" | "-require" | "-import" if !is_python => {
                    if !args.next().is_some_and(|it| self.known.is_file(it, here.folder)) {
                        return false;
                    }
                }
                "I" if !is_python => {
                    if args.next().and_then(|it| self.known.folder(it)).is_none() {
                        return false;
                    }
                }
                "-test" => return args.next().and_then(|it| self.known.folder(it)).is_some(),
                "-no-warnings" | "-check" => {}
                "W" | "X" => {
                    if args.next().and_then(Word::literal).is_none_or(|it| it.contains("::")) {
                        return false;
                    }
                }
                _ if option.is_empty() || option.starts_with('-') => return false,
                // It takes what is cached beside scripts, whatever it is told.
                _ if is_python && option.contains(['I', 'E']) => return false,
                _ if is_python && option.contains('m') => {
                    let own = option.split_once('m').map_or("", |(_, own)| own);
                    let next = args.next().and_then(Word::literal);
                    let module =
                        if own.is_empty() { next.unwrap_or_default() } else { own.to_owned() };
                    let first = module.split('.').next().unwrap_or_default();
                    return is_name(first)
                        && !MODULES.contains(&first)
                        && self.covered.names.contains(&module);
                }
                _ if option.starts_with(['M', 'I', 'W', 'X']) => {
                    let own = &option[1..];
                    let is_there = option.starts_with(['M', 'W', 'X'])
                        || self.known.folder(&Word::of(own)).is_some();
                    if !is_there || option.contains("::") && option.starts_with('W') {
                        return false;
                    }
                }
                _ => {
                    if let Some((_, own)) = option.split_once(texts) {
                        let next = args.next().and_then(Word::literal);
                        let text = if own.is_empty() { next } else { Some(own.to_owned()) };
                        return text.is_some_and(|text| {
                            if is_python {
                                is_python_plain(&text)
                            } else {
                                text.bytes().all(|it| it.is_ascii_digit())
                            }
                        });
                    }
                }
            }
        }
        false
    }
}
