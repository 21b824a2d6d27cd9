//! The other half: where Bash runs a denied program, the text is denied. Only a name that an
//! expansion puts together may be asked about instead; it is never allowed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use contract::policy::{Decision, Mode};

use super::{Chance, bash, has_bash, mutated};
use crate::setting::{judge, run};

/// Places where a shell looks for a command; `@` stands for a denied one.
const FORMS: &[&str] = &[
    "@",
    "x=1 @",
    "! @",
    "time @",
    "time -p @",
    "{ @; }",
    "(@)",
    "( (@) )",
    "if @; then true; fi",
    "if true; then @; else @; fi",
    "while @; do break; done",
    "until @; do break; done",
    "for i in a b; do @; done",
    "for ((i=0; i<1; i++)); do @; done",
    "select i in a; do @; break; done <<< 1",
    "case a in a) @;; *) true;; esac",
    "f() { @; }; f",
    "function f { @; }; f",
    "f() (@); f",
    "@ & wait",
    "true | @",
    "true |& @",
    "true && @",
    "false || @",
    "ls; @",
    "ls\n@",
    "ls & @",
    "echo `@`",
    "echo $(@)",
    "echo \"$(@)\"",
    "echo \"`@`\"",
    "cat <(@)",
    "cat > >(@)",
    "echo ${x:-$(@)}",
    "echo ${x:-`@`}",
    "echo $(( $(@) + 1 ))",
    "[[ -n $(@) ]]",
    "[ -n \"$(@)\" ]",
    "a[$(@)]=1",
    "a=($(@))",
    "x=$(@) true",
    "local x=$(@)",
    "cat <<E\n$(@)\nE",
    "cat <<-E\n\t`@`\n\tE",
    "cat <<'E'\ntext\nE\n@",
    "cat <<< \"$(@)\"",
    "coproc @",
    "coproc NAME { @; }",
    "eval @",
    "eval '@'",
    "eval \"@\"",
    "eval eval '@'",
    "command @",
    "command -p @",
    "builtin command @",
    "trap '@' EXIT",
    ". /dev/stdin <<< '@'",
    "source /dev/stdin <<E\n@\nE",
    "shopt -s expand_aliases\nalias c='@'\nc",
    "set -- @; \"$@\"",
    "a=(@); \"${a[@]}\"",
    "x='@'; $x",
    "x='@'; eval \"$x\"",
    "printf -v x '%s' '@'; eval \"$x\"",
    "read -r x <<< '@'; $x",
    ": ${x:='@'}; $x",
    "x=1 y=2 > out @",
    "< in @",
    "2>&1 @",
    "@ > out 2>&1",
    "true # comment\n@",
    "[[ a == b ]] || @",
    "(( 0 )) || @",
    "exec 3>out; @",
    "\\\n@",
    "true;\\\n@",
];

/// Spellings of denied commands.
const COMMANDS: &[&str] = &[
    "curl x",
    "curl",
    "'curl' x",
    "\"curl\" x",
    "c\\url x",
    "cu''rl x",
    "c\"u\"r'l' x",
    "$'curl' x",
    "$'c\\x75rl' x",
    "$'c\\165rl' x",
    "$\"curl\" x",
    "cu\\\nrl x",
    "c{u,}rl x",
    "sudo ls",
    "su\"do\" -n true",
    "git push",
    "git 'pu'sh origin main",
    "git -C . push",
    "git -c a=b push -f",
    "g\\it --no-pager push",
];

/// Writes down what would be run, for each text in a file of its own: what it leaves running may
/// come late. Each has a folder of its own too, above which it can write nothing, so that no text
/// meets what another left. Builtins that decide what is run stay on.
const DRIVER: &str = r#"
exec 62<"$1/texts"
number=0
while IFS= read -r -d '' text <&62; do
    if ((number % 500 == 0)); then
        /bin/chmod 755 /mnt
        eval "/bin/mkdir /mnt/{$number..$((number + 499))}"
        /bin/chmod 555 /mnt
    fi
    (cd "/mnt/$number"; ulimit -t 2; BASH_ENV="$1/prelude" exec "$BASH" --norc --noprofile -c "$text") \
        63>"$1/$number" 62<&- </dev/null >/dev/null 2>&1
    number=$((number + 1))
done
"#;

const PRELUDE: &str = r#"
command_not_found_handle() { printf '%s\0' "$#" "$@" >&63; return 0; }
enable -n kill ulimit type test '[' echo
unset BASH_ENV
"#;

/// What Bash runs for each text. It sees the machine read-only, in a namespace of its own.
#[expect(clippy::disallowed_methods, reason = "the witness is another program")]
fn witnessed(texts: &[String], folder: &Path) -> Vec<Vec<Vec<String>>> {
    fs::write(folder.join("texts"), texts.join("\0") + "\0").unwrap();
    fs::write(folder.join("prelude"), PRELUDE).unwrap();
    let path = folder.to_str().unwrap();
    let output = Command::new("/usr/bin/bwrap")
        .args(["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"])
        .args(["--ro-bind", "/", "/"])
        .args(["--dev", "/dev", "--proc", "/proc", "--bind", path, path])
        .args(["--size", "67108864", "--tmpfs", "/mnt", "--chdir", "/mnt", "--clearenv"])
        .args(["--setenv", "PATH", "/nowhere", "--setenv", "LC_ALL", "C.UTF-8"])
        .args(["--", bash().unwrap(), "--norc", "--noprofile", "-c", DRIVER, "driver", path])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let mut runs = Vec::new();
    for number in 0..texts.len() {
        let bytes = fs::read(folder.join(number.to_string()));
        let bytes = bytes.unwrap_or_else(|_| panic!("the witness gave up: {output:?}"));
        let fields = bytes.split(|b| *b == 0);
        let mut fields = fields.map(|field| String::from_utf8_lossy(field).into_owned());
        let mut run = Vec::new();
        while let Some(field) = fields.next() {
            if let Ok(count) = field.parse::<usize>() {
                run.push(fields.by_ref().take(count).collect());
            }
        }
        runs.push(run);
    }
    runs
}

fn is_denied(argv: &[String]) -> bool {
    match argv {
        [name, ..] if name == "curl" || name == "sudo" => true,
        [name, words @ ..] if name == "git" => subcommand(words) == Some("push"),
        _ => false,
    }
}

/// The first word that is neither an option nor the value of one.
fn subcommand(words: &[String]) -> Option<&str> {
    let mut words = words.iter().map(String::as_str);
    loop {
        match words.next()? {
            "-C" | "-c" => drop(words.next()),
            word if word.starts_with('-') => {}
            word => return Some(word),
        }
    }
}

/// Whether an expansion may have made the name: it does not stand in the text, however quoted.
fn is_made_up(text: &str) -> bool {
    let bare: String = text.chars().filter(|c| !"'\"\\\n".contains(*c)).collect();
    let stands = ["curl", "sudo", "push"].iter().any(|name| bare.contains(name));
    !stands && text.contains(['$', '`', '{', '*', '?', '['])
}

/// Tries so many texts; returns in how many of them Bash ran something that is denied.
fn compare(count: usize, seed: u64) -> usize {
    let folder = std::env::temp_dir().join(format!("policy-denied-{}-{seed}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let seeds: Vec<String> = FORMS
        .iter()
        .flat_map(|form| COMMANDS.iter().map(move |command| form.replacen('@', command, 1)))
        .collect();
    let mut chance = Chance(seed);
    // Every form, and every command, a few times.
    let plain = seeds.iter().step_by(if seed == FIRST { 7 } else { usize::MAX }).cloned();
    let changed = (0..count).map(|_| mutated(&mut chance, &seeds));
    let texts: Vec<String> = plain.chain(changed).filter(|text| !text.contains('\0')).collect();
    let judge = judge();
    let mut witnesses = 0;
    let mut holes = Vec::new();
    for (text, runs) in texts.iter().zip(witnessed(&texts, &folder)) {
        if let Some(argv) = runs.iter().find(|argv| is_denied(argv)) {
            witnesses += 1;
            let decision = run(&judge, text, Mode::Normal).decision;
            let least = if is_made_up(text) { Decision::Ask } else { Decision::Deny };
            if decision < least {
                holes.push(format!("{text:?} runs {argv:?} and is decided as {decision:?}"));
            }
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(holes.is_empty(), "{}", holes.join("\n"));
    witnesses
}

/// The seed with which the forms are tried as they are, too.
const FIRST: u64 = 0x5eed;

fn has_witness() -> bool {
    let is_there = Path::new("/usr/bin/bwrap").exists();
    if !is_there {
        let words = b"SKIPPED: what Bash makes of denied commands, which needs bubblewrap\n";
        std::io::Write::write_all(&mut std::io::stderr(), words).unwrap();
    }
    has_bash() && is_there
}

#[test]
fn where_bash_runs_what_is_denied_the_text_is_denied() {
    if has_witness() {
        let witnesses = compare(100, FIRST);
        assert!(witnesses >= 200, "Bash ran a denied program in {witnesses} texts only");
    }
}

#[test]
#[ignore = "takes minutes; `cargo test --release -p policy --test it -- --ignored bash --nocapture`"]
fn where_bash_runs_what_is_denied_the_text_is_denied_for_very_many_texts() {
    const WITNESSES: usize = 100_000;
    const THREADS: u64 = 2;
    if !has_witness() {
        return;
    }
    let until_enough = |first: u64| {
        let (mut witnesses, mut seed) = (0, first);
        while witnesses < WITNESSES / 2 {
            witnesses +=
                compare(5_000, seed.wrapping_mul(0x9e37_79b9).wrapping_add(super::start()));
            seed += THREADS;
        }
        witnesses
    };
    let witnesses: usize = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (1..=THREADS).map(|first| scope.spawn(move || until_enough(first))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no text surprises")).sum()
    });
    let words = format!("Bash ran a denied program in {witnesses} texts\n");
    std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes()).unwrap();
    assert!(witnesses >= WITNESSES);
}
