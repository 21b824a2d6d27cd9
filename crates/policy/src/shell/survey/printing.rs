//! Programs in other languages that run nothing: they edit text, or print texts which stand in them.

use super::Kind;
use crate::programs;

/// How they print.
const CALLS: &[&str] = &["print(", "console.log("];

/// Whether a text runs nothing that is a program for `name`, a word of a command of this kind.
pub(super) fn runs_nothing(name: &str, kind: Kind, program: &str) -> bool {
    let edits = || name.ends_with("sed") && programs::only_edits(program);
    // What is printed is run by nobody only where it is apart.
    let prints = || kind == Kind::Apart && only_prints(program);
    edits() || prints()
}

/// Whether a program does nothing but print texts.
fn only_prints(program: &str) -> bool {
    let mut rest = program.trim();
    let is_program = !rest.is_empty();
    while !rest.is_empty() {
        let Some(behind) = printed(rest) else { return false };
        rest = behind;
    }
    is_program
}

/// What stands behind a call at the beginning that prints one text, in which nothing is put in.
fn printed(program: &str) -> Option<&str> {
    let text = CALLS.iter().find_map(|call| program.strip_prefix(call))?;
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (said, behind) = text[1..].split_once(quote)?;
    let behind = behind.strip_prefix(')').filter(|_| !said.contains(['\\', '\n', '\0']))?;
    let behind = behind.trim_start_matches([' ', '\t']);
    let next = behind.strip_prefix([';', '\n']);
    next.map(str::trim_start).or(behind.is_empty().then_some(""))
}

#[cfg(test)]
mod tests {
    use super::only_prints;

    #[test]
    fn only_what_prints_plain_texts_does_nothing_else() {
        for program in ["print('a b')", "print(\"a\"); print('b')\n", "console.log('a');"] {
            assert!(only_prints(program), "{program}");
        }
        for program in [
            "",
            "print(f'{x}')",
            "print('a' + x)",
            "print('a'); x()",
            "print('a').b",
            "print('''a''')",
            "print('a\\'), x('b')",
            "x = print('a')",
            "print('a', file=f)",
            "print('a')(x)",
        ] {
            assert!(!only_prints(program), "{program}");
        }
    }
}
