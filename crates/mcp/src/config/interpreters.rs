//! Programs that run a file which they are given, and which of their words names it. That goes by
//! the words alone: what lies in a directory must not decide which file is one that runs.

use super::command_line;

/// A program that runs a file. Its lists are words between blanks.
struct Interpreter {
    names: &'static str,
    /// A word that may stand before the file.
    before: &'static str,
    /// Options without a value; with a `*`, all that begin so.
    flags: &'static str,
    /// Options whose value is a word of its own.
    valued: &'static str,
    /// Options whose value names a file that is run before.
    files: &'static str,
    /// Options behind which there is no file: they have the code themselves, or name a module.
    ends: &'static str,
}

/// One whose first word is the file.
const PLAIN: Interpreter =
    Interpreter { names: "", before: "", flags: "", valued: "", files: "", ends: "" };

/// Options of `uv` and `pipx` whose value is a word of its own.
pub(crate) const UV_VALUED: &str = "\
    --allow-insecure-host --build-constraints --cache-dir --color --config-file --config-setting \
    --constraints --default-index --directory --env-file --exclude-newer --extra \
    --extra-index-url --find-links --group --index --index-strategy --index-url \
    --keyring-provider --link-mode --module --no-extra --no-group --only-group --overrides \
    --package --pip-args --prerelease --project --python --python-platform --refresh-package \
    --reinstall-package --resolution --upgrade-package --with --with-editable \
    --with-requirements -C -P -b -c -f -i -m -p -w";

const NODE: Interpreter = Interpreter {
    names: "node nodejs",
    flags: "\
        --allow-* --check --enable-* --experimental-* --expose* --force-* --harmony* --inspect* \
        --interactive --no-* --pending-deprecation --permission --preserve-symlinks* \
        --throw-deprecation --trace-* --transpile-only --use-* --watch -T -c -i",
    valued: "\
        --conditions --cwd --disable-warning --dns-result-order --env-file --env-file-if-exists \
        --experimental-config-file --icu-data-dir --input-type --inspect-port \
        --max-http-header-size --openssl-config --project --redirect-warnings --title --tsconfig \
        --unhandled-rejections --watch-path -C -P",
    files: "--experimental-loader --import --loader --require -r",
    ends: "--eval --print -e -p -pe",
    ..PLAIN
};

const INTERPRETERS: [Interpreter; 13] = [
    Interpreter { names: ". source", ..PLAIN },
    NODE,
    Interpreter { names: "ts-node tsx", before: "watch", ..NODE },
    Interpreter {
        names: "bun",
        before: "run",
        flags: "--bun --hot --if-present --inspect* --no-* --silent --smol --watch -b",
        valued: "--conditions --config --cwd --define --env-file --filter -F -c -d",
        files: "--import --preload --require -r",
        ends: "--eval --print -e -p",
    },
    Interpreter {
        names: "deno",
        before: "run serve",
        flags: "\
            --allow-* --cached-only --check* --deny-* --frozen* --inspect* --no-* --quiet \
            --reload* --unstable* --watch* -A -E -I -N -R -S -W -q -r",
        valued: "--cert --config --ext --import-map --location --lock --log-level --seed -L -c",
        files: "--import --preload",
        ends: "",
    },
    Interpreter {
        names: "java",
        flags: "\
            --enable-* --show-* -D* -X* -agentlib* -da* -ea* -jar -javaagent* -server -verbose*",
        valued: "\
            --add-exports --add-modules --add-opens --add-reads --class-path --module-path \
            --source -classpath -cp -p",
        ends: "--module -m",
        ..PLAIN
    },
    Interpreter { names: "lua luajit", flags: "-E -W -i", valued: "-e -l", ..PLAIN },
    Interpreter {
        names: "perl",
        flags: "-T -U -W -X -a -c -f -i -l -n -p -s -t -u -w",
        valued: "-I -M -m",
        ends: "-E -e",
        ..PLAIN
    },
    Interpreter {
        names: "php",
        flags: "-C -H -e -f -n -q",
        valued: "-S -c -d -t -z",
        ends: "-r",
        ..PLAIN
    },
    Interpreter {
        names: "pypy python",
        flags: "-B -E -I -O -P -R -S -b -d -i -q -s -t -u -v -x",
        valued: "--check-hash-based-pycs -W -X",
        ends: "-c -m",
        ..PLAIN
    },
    Interpreter {
        names: "ruby",
        flags: "--disable* --enable* --jit* --yjit* -U -W -a -c -d -l -n -p -s -v -w",
        valued: "--encoding -C -E -I",
        files: "-r",
        ends: "-e",
        ..PLAIN
    },
    Interpreter {
        names: "ash bash csh dash fish ksh mksh rbash sh tcsh yash zsh",
        flags: "\
            --login --no* --posix +* -a -b -e -f -h -i -k -l -m -n -p -r -t -u -v -x -B -C -E -H \
            -P -T",
        valued: "+O +o -O -o",
        files: "--init-file --rcfile",
        ends: "-c",
        ..PLAIN
    },
    UV,
];

const UV: Interpreter = Interpreter {
    names: "uv",
    before: "run",
    flags: "\
        --active --all-* --dev --exact --frozen --gui-script --isolated --locked \
        --managed-python --native-tls --no-* --offline --only-dev --quiet --refresh --reinstall \
        --script --upgrade --verbose -U -n -q -s -v",
    valued: UV_VALUED,
    ends: "--module -m",
    ..PLAIN
};

/// Programs that take packages, and run what is in them.
pub(crate) const RUNNERS: &str =
    "bun bunx deno docker go nerdctl npm npx pipx pnpm pnpx podman uv uvx yarn";

/// What an interpreter is given.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Given<'a> {
    /// Which of its words name files that it runs, or may do so.
    pub(crate) files: Vec<usize>,
    /// The name of the module that it runs, and the words for that.
    pub(crate) module: Vec<&'a str>,
}

/// What a word is to an interpreter.
enum Kind {
    Flag,
    Valued,
    File,
    End,
    Unknown,
}

/// Whether a list has a word.
pub(crate) fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|it| it == word)
}

impl Interpreter {
    /// Whether it is a shell, which takes options back by a `+` and values of letters behind all of them.
    fn is_shell(&self) -> bool {
        has(self.flags, "+*")
    }

    fn exact(&self, option: &str) -> Kind {
        let is_flag = |flag: &str| match flag.strip_suffix('*') {
            Some(start) => option.starts_with(start),
            None => flag == option,
        };
        match option {
            _ if has(self.ends, option) => Kind::End,
            _ if has(self.files, option) => Kind::File,
            _ if has(self.valued, option) => Kind::Valued,
            _ if self.flags.split_ascii_whitespace().any(is_flag) => Kind::Flag,
            _ => Kind::Unknown,
        }
    }

    fn kind(&self, word: &str) -> Kind {
        let whole = self.exact(word);
        if !matches!(whole, Kind::Unknown) {
            return whole;
        }
        if let Some((key, _)) = word.split_once('=').filter(|_| word.starts_with("--")) {
            return if matches!(self.exact(key), Kind::End) { Kind::End } else { Kind::Flag };
        }
        // Letters together, the last of which may have its value attached.
        let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-')).unwrap_or_default();
        for (at, letter) in letters.char_indices() {
            let is_last = at + letter.len_utf8() == letters.len();
            match self.exact(&format!("-{letter}")) {
                Kind::Flag => {}
                Kind::Valued | Kind::File if !is_last && !self.is_shell() => return Kind::Flag,
                kind => return kind,
            }
        }
        if letters.is_empty() { Kind::Unknown } else { Kind::Flag }
    }
}

/// What the program of this name runs of its words; none where it is no interpreter.
pub(crate) fn given<'a>(name: &str, words: &[&'a str]) -> Option<Given<'a>> {
    // Some carry their version in their name.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let plain = if plain.is_empty() { name } else { plain };
    let interpreter = INTERPRETERS.iter().find(|it| has(it.names, plain))?;
    let mut files = Vec::new();
    let mut is_before = true;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let is_option = word.starts_with('-') && *word != "-";
        let is_switch = is_option || (interpreter.is_shell() && word.starts_with('+'));
        if !is_switch || *word == "--" {
            if std::mem::take(&mut is_before) && has(interpreter.before, word) {
                at += 1;
                continue;
            }
            files.push(if *word == "--" { at + 1 } else { at });
            break;
        }
        at += 1;
        match interpreter.kind(word) {
            Kind::Flag => {}
            Kind::Valued => at += 1,
            Kind::End => return Some(Given { files, module: module(word, &words[at..]) }),
            // It may be the value of what is not known, or the file: the next one counts as well.
            Kind::File | Kind::Unknown => {
                if words.get(at).is_some_and(|next| !next.starts_with('-')) {
                    files.push(at);
                    at += 1;
                }
            }
        }
    }
    Some(Given { files, module: Vec::new() })
}

/// Whether it is known what a program of this name does with its words.
pub(crate) fn is_known(name: &str) -> bool {
    has(RUNNERS, name) || given(name, &[]).is_some()
}

/// Whether a word among others may begin a command: most that have such a name do.
pub(crate) fn may_begin(word: &str) -> bool {
    word != "." && is_known(&command_line::name(word))
}

/// The module that an option names, in its own word or in the next one, with what follows.
fn module<'a>(option: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    match option.strip_prefix('-').and_then(|letters| letters.split_once('m')) {
        Some((_, "")) => rest.to_vec(),
        Some((letters, name)) if !letters.starts_with('-') && !letters.contains(['c', 'e']) => {
            [&[name], rest].concat()
        }
        Some(_) | None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_alone_tell_what_an_interpreter_runs() {
        for (line, files) in [
            ("python3.12 -u plain t.db", &["plain"][..]),
            ("python3 -X dev -W ignore plain t.db", &["plain"]),
            ("python3 -Xdev -uWignore -- plain t.db", &["plain"]),
            ("python3 -m module t.db", &[]),
            ("python3 -Sc code t.db", &[]),
            ("python3 --strange a plain t.db", &["a", "plain"]),
            ("node -r hook --experimental-strip-types plain t.db", &["hook", "plain"]),
            ("node --import=./hook plain", &["plain"]),
            ("uv --directory d run --with a==1 --no-sync plain t.db", &["plain"]),
            ("uv run -m module t.db", &[]),
            ("deno run -A --allow-net=h plain t.db", &["plain"]),
            ("java -cp lib -Dx=y -jar x t.db", &["x"]),
            ("bash +x -eo pipefail plain t.db", &["plain"]),
            ("bash -oe pipefail plain t.db", &["plain"]),
            ("python3 +plain t.db", &["+plain"]),
            ("bash --rcfile rc plain", &["rc", "plain"]),
            ("bash -ce script t.db", &[]),
            (". ./setup", &["./setup"]),
            ("server plain", &[]),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let files_of = given(words[0], &words[1..]).unwrap_or_default().files;
            let named: Vec<&str> = files_of.into_iter().map(|at| words[at + 1]).collect();
            assert_eq!(named, files, "{line}");
        }
        let module = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            given("python3", &words).unwrap().module.join(" ")
        };
        assert_eq!(module("-X dev -um m a"), "m a");
        assert_eq!(module("-mm a"), "m a");
        assert_eq!(module("-c m a"), "");
        assert_eq!(module("s.py -m m"), "");
    }
}
