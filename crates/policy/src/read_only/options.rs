//! Reads options the way most programs do, and refuses every option that is not listed.

use super::NotReadOnly;
use crate::shell::Word;

/// The options of a program that keep it harmless.
pub(crate) struct Grammar<'g> {
    /// Letters; `:` after one that takes a value, `?` after one that may have one attached.
    pub(crate) short: &'g str,
    /// Lists of names between spaces; `=` after one that takes a value, `?` after one that may have
    /// one attached.
    pub(crate) long: &'g [&'g str],
    /// True if `-40` is an option.
    pub(crate) numbers: bool,
}

/// The parsed options and operands.
#[derive(Debug, Default)]
pub(crate) struct Options<'a> {
    /// Options in order, by letter or name, with their values.
    pub(crate) options: Vec<(String, Option<String>)>,
    /// Everything else.
    pub(crate) operands: Vec<&'a Word>,
}

impl Options<'_> {
    /// Returns true if any of these options was given.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The values given to any of these options.
    pub(crate) fn values<'s>(&'s self, names: &'s [&str]) -> impl Iterator<Item = &'s str> {
        self.options
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()))
            .filter_map(|(_, value)| value.as_deref())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Maybe,
}

impl Grammar<'_> {
    /// Reads `args`.
    pub(crate) fn read<'a>(&self, args: &'a [Word]) -> Result<Options<'a>, NotReadOnly> {
        let mut read = Options::default();
        let mut rest = args.iter();
        let mut dashes = false;
        while let Some(word) = rest.next() {
            // A pattern that begins like an option is one.
            if dashes || word.text == "-" || !word.text.starts_with('-') {
                read.operands.push(word);
            } else if word.text == "--" {
                dashes = true;
            } else if let Some(name) = word.text.strip_prefix("--") {
                self.long(name, &mut rest, &mut read)?;
            } else if self.numbers && word.text[1..].bytes().all(|b| b.is_ascii_digit()) {
                read.options.push((String::from("number"), Some(word.text[1..].to_owned())));
            } else {
                self.cluster(&word.text[1..], &mut rest, &mut read)?;
            }
        }
        Ok(read)
    }

    fn long<'a>(
        &self,
        option: &str,
        rest: &mut impl Iterator<Item = &'a Word>,
        read: &mut Options<'a>,
    ) -> Result<(), NotReadOnly> {
        let (name, attached) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let takes =
            self.long.iter().flat_map(|list| list.split_ascii_whitespace()).find_map(|known| {
                if known.strip_suffix('=') == Some(name) {
                    Some(Takes::Value)
                } else if known.strip_suffix('?') == Some(name) {
                    Some(Takes::Maybe)
                } else {
                    (known == name).then_some(Takes::Nothing)
                }
            });
        let value = match (takes, attached) {
            (None, _) | (Some(Takes::Nothing), Some(_)) => {
                return Err(unknown(&format!("--{name}")));
            }
            (Some(Takes::Nothing | Takes::Maybe), None) => None,
            (Some(Takes::Value | Takes::Maybe), Some(value)) => Some(value),
            (Some(Takes::Value), None) => Some(next_value(rest, name)?),
        };
        read.options.push((name.to_owned(), value));
        Ok(())
    }

    fn cluster<'a>(
        &self,
        letters: &str,
        rest: &mut impl Iterator<Item = &'a Word>,
        read: &mut Options<'a>,
    ) -> Result<(), NotReadOnly> {
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            let known = self.short.find(letter).filter(|_| !":? ".contains(letter));
            let Some(at) = known else {
                return Err(unknown(&format!("-{letter}")));
            };
            let takes = match self.short[at + letter.len_utf8()..].chars().next() {
                Some(':') => Takes::Value,
                Some('?') => Takes::Maybe,
                Some(_) | None => Takes::Nothing,
            };
            let attached = letters.as_str();
            let value = match takes {
                Takes::Nothing => None,
                Takes::Maybe if attached.is_empty() => None,
                Takes::Value if attached.is_empty() => Some(next_value(rest, &letter.to_string())?),
                Takes::Maybe | Takes::Value => Some(attached.to_owned()),
            };
            let ends = takes != Takes::Nothing;
            read.options.push((letter.to_string(), value));
            if ends {
                break;
            }
        }
        Ok(())
    }
}

/// Options whose value may begin like an option in every program.
const EXPRESSIONS: &[&str] = &["e", "regexp", "expression"];

fn next_value<'a>(
    rest: &mut impl Iterator<Item = &'a Word>,
    name: &str,
) -> Result<String, NotReadOnly> {
    // A program that takes a value only where it is attached would read it as an option.
    let is_option = |text: &str| {
        let after = text.strip_prefix('-').and_then(|rest| rest.chars().next());
        after.is_some_and(|c| !c.is_ascii_digit()) && !EXPRESSIONS.contains(&name)
    };
    match rest.next() {
        Some(word) if word.glob => {
            Err(NotReadOnly::new(format!("the value of option `{name}` is a pattern")))
        }
        Some(word) if is_option(&word.text) => {
            Err(NotReadOnly::new(format!("the value of option `{name}` could be an option")))
        }
        Some(word) => Ok(word.text.clone()),
        None => Err(NotReadOnly::new(format!("option `{name}` lacks its value"))),
    }
}

fn unknown(option: &str) -> NotReadOnly {
    NotReadOnly::new(format!("option `{option}` is not known to be harmless"))
}
