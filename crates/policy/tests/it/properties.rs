//! Properties of any text.

use contract::policy::{Decision, Mode};
use proptest::prelude::*;

use crate::oracles;
use crate::setting::{judge, run};

const ALLOWED: &[&str] = &[
    "ls -la src",
    "git status --short",
    "cat src/main.rs",
    "rg 'fn main' src",
    "cargo test",
    "echo hello",
];
const ASKED: &[&str] = &[
    "npm run build",
    "rm -r build",
    "python3 x.py",
    "echo a > b",
    "cat /etc/passwd",
    "find . -delete",
    "echo $(id)",
    "make",
    "sh x",
];
const DENIED: &[&str] = &[
    "curl x.example",
    "git push --force",
    "sudo ls",
    "rm -rf /",
    "timeout 5 curl x",
    "bash -c 'curl x'",
    "echo $(curl x)",
    "find . -exec curl y +",
];

fn decision(text: &str) -> Decision {
    run(&judge(), text, Mode::Ask).decision
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_compound_is_as_strict_as_its_strictest_part(
        parts in prop::collection::vec(0..ALLOWED.len() + ASKED.len() + DENIED.len(), 1..6),
        joins in prop::collection::vec(prop::sample::select(vec![" && ", " || ", "; ", " | ", "\n"]), 6),
    ) {
        let all: Vec<&str> = [ALLOWED, ASKED, DENIED].concat();
        let mut text = String::new();
        let mut strictest = Decision::Allow;
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                text.push_str(joins[at]);
            }
            text.push_str(all[*part]);
            strictest = strictest.max(decision(all[*part]));
        }
        prop_assert!(decision(&text) >= strictest, "{}", text);
    }

    #[test]
    fn added_text_never_allows_a_denied_command(
        base in prop::sample::select([ASKED, DENIED].concat()),
        // No piece that turns the following text into data: no letters, quotes, `#` or `<`.
        before in "[ |&;>()$`\\\\\n*?~!{}=-]{0,12}",
        after in "[a-z '\"|&;<>()$`\\\\#\n*?~!{}=-]{0,12}",
    ) {
        let text = format!("{before}{base}{after}");
        prop_assert_ne!(decision(&text), Decision::Allow, "{}", text);
    }

    #[test]
    fn spaces_quotes_continuations_and_comments_never_lift_a_deny(
        base in prop::sample::select(DENIED.to_vec()),
        edits in prop::collection::vec((0.0..1.0f64, 0..5usize), 1..6),
    ) {
        let mut text = base.to_owned();
        for (place, edit) in edits {
            let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
                reason = "a place within a short text")]
            let at = boundaries[((boundaries.len() - 1) as f64 * place) as usize];
            // Within quotes it would be other data, and so another command.
            if ['\'', '"'].iter().any(|quote| text[..at].matches(*quote).count() % 2 == 1) {
                continue;
            }
            let inserted = ["  ", "''", "\"\"", "\\\n", " # x\n"][edit];
            text.insert_str(at, inserted);
        }
        prop_assert_ne!(decision(&text), Decision::Allow, "{}", text);
    }

    #[test]
    fn spelling_a_denied_program_in_pieces_is_still_denied(
        quotes in prop::collection::vec(0..4usize, 4),
        wrapper in prop::sample::select(vec!["", "env ", "nice -n 3 ", "timeout 9 ", "nohup ", "command ", "xargs "]),
    ) {
        let name: String = "curl"
            .chars()
            .zip(&quotes)
            .map(|(letter, how)| match how {
                0 => letter.to_string(),
                1 => format!("'{letter}'"),
                2 => format!("\"{letter}\""),
                _ => format!("\\{letter}"),
            })
            .collect();
        prop_assert_eq!(decision(&format!("{wrapper}{name} x")), Decision::Deny);
    }

    #[test]
    fn any_text_passes_the_fuzz_target(text in "\\PC{0,60}|[ -~\n\t\r]{0,80}|([a-z.~]{0,6}[ '\"|&;<>()$`\\\\#\n*?!{}=-]{0,3}){0,8}") {
        oracles::shell_text(text.as_bytes());
    }

    #[test]
    fn any_rule_and_path_pass_the_fuzz_target(
        rule in "(~/|/|\\./)?(\\*\\*|[a-cA-C*?.]{1,4}|w|etc)(/(\\*\\*|[a-cA-C*?.]{1,4})){0,3}/?",
        path in "/?([a-cA-C.]{1,3}|w|etc|home/u)(/([a-cA-C.]{1,3}|\\.\\.)){0,4}",
    ) {
        oracles::rule_and_path(format!("{rule}\n{path}").as_bytes());
    }

    #[test]
    fn any_host_passes_the_fuzz_target(
        text in "\\PC{0,20}|(docs\\.ok\\.example|DOCS.ok.example)[:.@/%a-z0-9]{0,6}|[0-9a-fx.:\\[\\]]{0,20}",
    ) {
        oracles::host(text.as_bytes());
    }

    #[test]
    fn any_terminal_bytes_pass_the_fuzz_target(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,40}") {
        oracles::terminal_text(&bytes);
        oracles::terminal_text(text.as_bytes());
    }

    #[test]
    fn allowed_text_has_no_active_byte_outside_single_quotes(text in "(ls|cat|echo|git status) [ -~]{0,24}") {
        if decision(&text) == Decision::Allow {
            let mut single = false;
            let mut before = ' ';
            for c in text.chars() {
                // The rest is a comment.
                if c == '#' && !single && " ;&|".contains(before) {
                    break;
                }
                before = c;
                if c == '\'' {
                    single = !single;
                }
                prop_assert!(single || !"`(){}&".contains(c) || text.contains('"') || text.contains("&&") || text.contains(">&"), "{}", text);
            }
        }
    }
}
