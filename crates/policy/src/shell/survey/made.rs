//! Text that is put together before it runs: what `printf` prints, names that patterns of the extended
//! kind stand for, and what settings of git mean by an alias. Sees too much rather than too little.

use super::Survey;
use crate::shell::raw;
use crate::shell::tolerant::Piece;

/// More texts of one kind are not followed.
const MOST: usize = 16;
/// So many settings are read of so many places.
const FEW: usize = 8;
/// Longer texts are not put together.
const LONG: usize = 4096;

impl Survey {
    /// Adds what becomes of a text by other means than its own words and variables.
    pub(super) fn made_by_others(&mut self, text: &str) {
        if text.contains("extglob")
            && let Some(plain) = without_groups(text)
        {
            self.script(&plain, 1);
        }
        if text.contains('\0') {
            // Bash leaves them out of what it reads.
            self.script(&text.replace('\0', ""), 1);
        }
        if text.contains("[alias") {
            self.git_settings(&raw::unescaped(text), 1);
        }
        // Only where a shell runs what others print.
        if self.loose || self.sources.substituted {
            for printed in std::mem::take(&mut self.printed) {
                self.script(&printed, 1);
                self.words_of(&printed);
            }
        }
    }

    /// Notes what `printf` prints.
    pub(super) fn prints(&mut self, args: &[Piece]) {
        let words: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
        let length: usize = words.iter().map(|word| word.len()).sum();
        if self.printed.len() < MOST && length <= LONG && words.len() > 1 {
            self.printed.extend(raw::formatted(&words));
        }
    }

    /// Adds what settings of git run whose values stand in variables.
    pub(super) fn git_settings_in_variables(&mut self, args: &[Piece], depth: usize) {
        for (at, word) in args.iter().enumerate() {
            let Some(attached) = word.text.strip_prefix("--config-env") else { continue };
            let next = args.get(at + 1).map_or("", |next| next.text.as_str());
            let setting = attached.strip_prefix('=').unwrap_or(next);
            // What the variable holds may be put together, or printed.
            self.loose = true;
            self.sources.substituted = true;
            let variable = setting.rsplit('=').next().unwrap_or_default();
            for value in self.constants.of(variable).to_vec() {
                self.script(value.trim_start_matches('!'), depth + 1);
                self.script(&format!("git {value}"), depth + 1);
            }
        }
    }

    /// Adds what the aliases in settings of git run.
    pub(super) fn git_settings(&mut self, text: &str, depth: usize) {
        for (at, _) in text.match_indices("alias").take(FEW) {
            let lines = text[at..].lines().take(FEW);
            for (_, value) in lines.filter_map(|line| line.split_once('=')) {
                let value = value.trim().trim_matches(['"', '\'']);
                let end = value.find(['"', '\'']).unwrap_or(value.len());
                let value = &value[..end];
                self.script(&format!("git {value}"), depth + 1);
                self.script(value.trim_start_matches('!'), depth + 1);
            }
        }
    }
}

/// The text with a star for every group of an extended pattern, such as `+(a|b)`.
fn without_groups(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('(') {
        let is_group = rest[..at].ends_with(['?', '*', '+', '@', '!']);
        let end = contract::text::head(&rest[at..], 256).find(')');
        if let Some(end) = end.filter(|_| is_group) {
            plain.push_str(&rest[..at - 1]);
            plain.push('*');
            rest = &rest[at + end + 1..];
        } else {
            plain.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
        }
    }
    plain.push_str(rest);
    (plain != text).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::without_groups;

    #[test]
    fn groups_become_stars() {
        assert_eq!(without_groups("/bin/+(c|d)url (x)").as_deref(), Some("/bin/*url (x)"));
        assert_eq!(without_groups("f() { x; }"), None);
        assert_eq!(without_groups("+("), None);
    }
}
