//! Wildcards: whether a pattern covers a text, and whether two patterns could mean the same text.
//! Takes time in proportion to the product of the lengths, whatever the pattern.

/// How the characters of a text are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reading {
    /// Every character stands for itself.
    Literal,
    /// `*` and `?` are wildcards, as in a rule.
    Rule,
    /// `*`, `?` and `[...]` are wildcards, as in a shell's word; a set counts as any character.
    Shell,
}

/// The longest name of a class of characters.
const CLASS: usize = 16;
/// The longest name that a file may have.
const NAME: usize = 255;

/// One step of a pattern: exactly one of something, or any number of anything.
pub(crate) enum Step<T> {
    One(T),
    Many,
}

/// Returns true if some text matches both `left` and `right`.
pub(crate) fn meet(left: (&str, Reading), right: (&str, Reading)) -> bool {
    // Most words are done with here, without a place in memory.
    if is_text(right) && left.0.len() <= NAME {
        return fits(left, right.0);
    }
    if is_text(left) && right.0.len() <= NAME {
        return fits(right, left.0);
    }
    let left: Vec<Step<Option<char>>> = characters(left).collect();
    let right: Vec<Step<Option<char>>> = characters(right).collect();
    walk(&left, &right, |a, b| match (a, b) {
        (Some(a), Some(b)) => a == b,
        (None, _) | (_, None) => true,
    })
}

/// Returns true if there is no wildcard.
fn is_text((text, reading): (&str, Reading)) -> bool {
    reading == Reading::Literal || !text.contains(['*', '?', '['])
}

/// Returns true if a text matches a short pattern.
fn fits(pattern: (&str, Reading), text: &str) -> bool {
    let is_special = |c: char| matches!(c, '*' | '?' | '[' | ']');
    let Some(wild) = pattern.0.find(is_special).filter(|_| pattern.1 != Reading::Literal) else {
        return pattern.0 == text;
    };
    let end = pattern.0.rfind(is_special).map_or(0, |at| at + 1);
    if !text.starts_with(&pattern.0[..wild]) || !text.ends_with(&pattern.0[end..]) {
        return false;
    }
    let (mut steps, mut rest) = (characters(pattern), text.chars());
    // The pattern after the last star, and the text that it is tried against next.
    let mut behind_star = None;
    loop {
        let is_step = match (steps.next(), rest.clone().next()) {
            (None, None) => return true,
            (Some(Step::Many), _) => {
                behind_star = Some((steps.clone(), rest.clone()));
                continue;
            }
            (Some(Step::One(wanted)), Some(c)) => wanted.is_none_or(|wanted| wanted == c),
            (Some(Step::One(_)), None) | (None, Some(_)) => false,
        };
        if is_step {
            rest.next();
            continue;
        }
        let Some((steps_behind, rest_behind)) = &mut behind_star else { return false };
        if rest_behind.next().is_none() {
            return false;
        }
        (steps, rest) = (steps_behind.clone(), rest_behind.clone());
    }
}

/// Returns true if a path could match a rule's pattern, in which a component `**` is any number of
/// components. Both are without a leading slash.
pub(crate) fn paths_meet(pattern: &str, path: (&str, Reading)) -> bool {
    paths_meet_as((pattern, Reading::Rule), path)
}

/// [`paths_meet`] with another reading of the rule's pattern.
pub(crate) fn paths_meet_as(pattern: (&str, Reading), path: (&str, Reading)) -> bool {
    let (pattern, rule_reading) = pattern;
    let pattern: Vec<Step<&str>> = components(pattern)
        .map(|component| match component {
            "**" => Step::Many,
            other => Step::One(other),
        })
        .collect();
    let (path, reading) = path;
    let path: Vec<Step<&str>> = components(path).map(Step::One).collect();
    walk(&pattern, &path, |rule, name| meet((rule, rule_reading), (name, reading)))
}

fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|component| !component.is_empty())
}

pub(crate) fn characters(
    (text, reading): (&str, Reading),
) -> impl Iterator<Item = Step<Option<char>>> + Clone + use<'_> {
    let mut rest = text.chars();
    // Where nothing closes a set, that is not looked for again and again.
    let closed = text.rfind(']').map_or(usize::MAX, |last| text.len() - last);
    std::iter::from_fn(move || {
        Some(match (rest.next()?, reading) {
            ('*', Reading::Rule | Reading::Shell) => Step::Many,
            ('?', Reading::Rule | Reading::Shell) => Step::One(None),
            ('[', Reading::Shell) if rest.as_str().len() < closed => Step::One(Some('[')),
            ('[', Reading::Shell) => match set_end(rest.as_str()) {
                Some(end) => {
                    rest = rest.as_str()[end..].chars();
                    Step::One(None)
                }
                None => Step::One(Some('[')),
            },
            (other, _) => Step::One(Some(other)),
        })
    })
}

/// Where a set ends whose opening bracket stands before `text`; classes such as `[:alpha:]` are
/// parts of it.
fn set_end(text: &str) -> Option<usize> {
    // At the beginning of a set its closing bracket is one of the characters.
    let negated = text.trim_start_matches(['!', '^']);
    let first = text.len() - negated.len() + usize::from(negated.starts_with(']'));
    let mut at = if text[first..].contains(']') { first } else { 0 };
    loop {
        let next = at + text[at..].find([']', '['])?;
        let rest = &text[next..];
        let class = [("[:", ":]"), ("[.", ".]"), ("[=", "=]")]
            .iter()
            .find(|(open, _)| rest.starts_with(open))
            .and_then(|(_, close)| contract::text::head(&rest[2..], CLASS).find(close));
        match class {
            Some(length) => at = next + length + 4,
            None if rest.starts_with(']') => return Some(next + 1),
            None => at = next + 1,
        }
    }
}

/// Walks both patterns together, keeping every pair of positions that can be reached.
fn walk<A, B>(left: &[Step<A>], right: &[Step<B>], same: impl Fn(&A, &B) -> bool) -> bool {
    let mut row = vec![false; right.len() + 1];
    row[0] = true;
    spread(&mut row, right);
    let mut next = vec![false; right.len() + 1];
    for step in left {
        next.fill(false);
        for at in 0..=right.len() {
            if !row[at] {
                continue;
            }
            match (step, right.get(at)) {
                (Step::Many, _) | (Step::One(_), Some(Step::Many)) => next[at] = true,
                (Step::One(a), Some(Step::One(b))) if same(a, b) => next[at + 1] = true,
                (Step::One(_), _) => {}
            }
        }
        match step {
            Step::Many => {
                if let Some(first) = next.iter().position(|reached| *reached) {
                    next[first..].fill(true);
                }
            }
            Step::One(_) => spread(&mut next, right),
        }
        if !next.contains(&true) {
            return false;
        }
        std::mem::swap(&mut row, &mut next);
    }
    row[right.len()]
}

/// A step that may be empty on the right can be passed without a step on the left.
fn spread<B>(row: &mut [bool], right: &[Step<B>]) {
    for (at, step) in right.iter().enumerate() {
        if row[at] && matches!(step, Step::Many) {
            row[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        meet((pattern, Reading::Rule), (text, Reading::Literal))
    }

    #[test]
    fn short_and_long_patterns_match_alike() {
        let parts = ["", "a", "b", "*", "?", "[ab]", "[", "]", "**", "aa"];
        let readings = [Reading::Literal, Reading::Rule, Reading::Shell];
        for (one, two) in parts.iter().flat_map(|one| parts.iter().map(move |two| (one, two))) {
            for three in parts {
                let pattern = format!("{one}{two}{three}");
                for text in ["", "a", "b", "ab", "aab", "aba", "[", "]a", "*", "a?b", "a[b]", "baa"]
                {
                    for reading in readings {
                        let steps: Vec<_> = characters((&pattern, reading)).collect();
                        let letters: Vec<_> = characters((text, Reading::Literal)).collect();
                        let same = |a: &Option<char>, b: &Option<char>| a.is_none() || a == b;
                        let fits = super::fits((&pattern, reading), text);
                        assert_eq!(
                            fits,
                            walk(&steps, &letters, same),
                            "{pattern} {text} {reading:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn star_matches_any_run_and_question_mark_one_character() {
        assert!(fits("*.rs", "main.rs"));
        assert!(fits("a*c*e", "abcde"));
        assert!(fits("*", ""));
        assert!(fits("a?c", "abc"));
        assert!(!fits("a?c", "ac"));
        assert!(!fits("*.rs", "main.rs.txt"));
    }

    #[test]
    fn patterns_overlap_if_a_text_matches_both() {
        let shell = |text| (text, Reading::Shell);
        assert!(meet(shell(".e*"), (".env", Reading::Rule)));
        assert!(meet(shell("[.]env"), (".env", Reading::Rule)));
        assert!(meet(shell("[[:lower:]]url"), ("curl", Reading::Literal)));
        assert!(meet(shell("[![:digit:]x]url"), ("curl", Reading::Literal)));
        assert!(meet(shell("x*"), ("*.pem", Reading::Rule)));
        assert!(!meet(shell("*.rs"), ("*.pem", Reading::Rule)));
        assert!(!meet(shell("a*"), ("b*", Reading::Rule)));
    }

    #[test]
    fn two_stars_match_any_number_of_directories() {
        let fits = |pattern, path| paths_meet(pattern, (path, Reading::Literal));
        assert!(fits("etc/**", "etc/ssl/certs"));
        assert!(fits("etc/**", "etc"));
        assert!(fits("**/*.rs", "a/b/c.rs"));
        assert!(!fits("etc/*", "etc/ssl/certs"));
        assert!(!fits("src/**", "srcs/a"));
    }

    #[test]
    fn hostile_pattern_matches_in_bounded_time() {
        let pattern = "*a".repeat(200);
        assert!(!fits(&pattern, &"a".repeat(199)));
        assert!(fits(&pattern, &"a".repeat(400)));
    }
}
