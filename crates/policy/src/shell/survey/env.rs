//! What `env` and `sudo` do before they run anything, and what `env` makes of one word. Sees too much
//! rather than too little.

use super::Survey;
use super::folders::Way;
use crate::shell::tolerant::Piece;
use crate::shell::{quote, wrappers};

/// What stands for a blank in the text of `env -S`.
const BLANKS: &[&str] = &["\\_", "\\t", "\\n", "\\f", "\\v", "\\r"];

/// So many words behind such a text are read with it.
const GIVEN: usize = 256;

impl Survey {
    /// The folder that a wrapper goes to before it runs anything.
    pub(super) fn moved_by(&mut self, wrapper: &str, options: &[Piece]) {
        let letter = match wrapper {
            "env" | "genv" => "-C",
            "sudo" => "-D",
            _ => return,
        };
        for (at, word) in options.iter().enumerate() {
            let attached = ["--chdir=", letter].iter().find_map(|it| word.text.strip_prefix(it));
            let target = match attached {
                Some("") => options.get(at + 1).cloned(),
                Some(folder) => Some(Piece { text: folder.to_owned(), ..word.clone() }),
                None if word.text == "--chdir" => options.get(at + 1).cloned(),
                None => None,
            };
            if let Some(target) = target {
                self.go_to(&target, Way::True);
            }
        }
    }

    /// `env -S 'program arguments'`.
    pub(super) fn split_strings(&mut self, args: &[Piece], depth: usize) {
        let mut is_led = true;
        for (at, word) in args.iter().enumerate() {
            let text = word.text.as_str();
            is_led &= text.starts_with('-') || wrappers::is_assignment(text);
            let attached = match text.strip_prefix("--") {
                Some(long) => {
                    long.starts_with('s').then(|| long.split_once('=').map_or("", |it| it.1))
                }
                None => text.strip_prefix('-').and_then(|it| it.split_once('S')).map(|it| it.1),
            };
            match attached.filter(|_| is_led) {
                Some("") => {
                    let next = args.get(at + 1).map_or("", |next| next.text.as_str());
                    self.split(next, args.get(at + 2..).unwrap_or_default(), depth);
                }
                Some(value) => self.split(value, &args[at + 1..], depth),
                None if text.contains(char::is_whitespace) => self.script(text, depth + 1),
                None => {}
            }
        }
    }

    /// The words of such a text with those behind it: as a shell reads it, and with the escapes that
    /// `env` alone knows.
    fn split(&mut self, text: &str, rest: &[Piece], depth: usize) {
        let word = |word: &Piece| if word.dynamic { "$_".to_owned() } else { quote(&word.text) };
        let rest: Vec<String> = rest.iter().take(GIVEN).map(word).collect();
        let text = &format!("{text} {}", rest.join(" "));
        self.script(text, depth + 1);
        let blank = |text: String, escape: &&str| text.replace(*escape, " ");
        let plain = BLANKS.iter().fold(text.to_owned(), blank);
        let plain = plain.split("\\c").next().unwrap_or_default();
        if plain != text {
            self.script(plain, depth + 1);
            // It is one command, whatever stands before its program.
            self.script(&format!("env {plain}"), depth + 1);
        }
    }
}
