//! Texts with places for values: `{parameter}`, and `${VARIABLE}` where secrets may stand. Values
//! are put in once; what looks like a place inside a value stays as it is.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Parameter(String),
    Variable(String),
}

/// The treatment of `${VARIABLE}` in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variables {
    Meant,
    Plain,
}

impl Template {
    /// Finds the places in a text; only parameters that `is_parameter` knows count.
    pub(super) fn parse(
        text: &str,
        is_parameter: impl Fn(&str) -> bool,
        variables: Variables,
    ) -> Self {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let found = place(rest, variables).filter(|(piece, _)| match piece {
                Piece::Parameter(name) => is_parameter(name),
                Piece::Text(_) | Piece::Variable(_) => true,
            });
            if let Some((piece, length)) = found {
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(piece);
                rest = &rest[length..];
            } else {
                plain.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Self(pieces)
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.0
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Variable(name) => Some(name.as_str()),
            Piece::Text(_) | Piece::Parameter(_) => None,
        })
    }

    /// The text with values in it; none where all of it is one parameter that has no value.
    pub(super) fn filled(
        &self,
        values: &BTreeMap<String, Option<String>>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Option<String> {
        if let [Piece::Parameter(name)] = self.0.as_slice() {
            return values.get(name).cloned().flatten();
        }
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Parameter(name) => {
                    text.push_str(values.get(name).and_then(Option::as_deref).unwrap_or_default());
                }
                Piece::Variable(name) => match variable(name) {
                    Some(value) => text.push_str(&value),
                    // It stays visible, so that a missing one can be found.
                    None => text.extend(["${", name, "}"]),
                },
            }
        }
        Some(text)
    }
}

fn place(text: &str, variables: Variables) -> Option<(Piece, usize)> {
    let (inner, opening) = match text.strip_prefix("${") {
        Some(inner) if variables == Variables::Meant => (inner, 2),
        _ => (text.strip_prefix('{')?, 1),
    };
    let end = inner.find('}')?;
    let name = &inner[..end];
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let length = opening + end + 1;
    let name = name.to_owned();
    Some((if opening == 2 { Piece::Variable(name) } else { Piece::Parameter(name) }, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, variables: Variables) -> Option<String> {
        let template = Template::parse(text, |name| ["a", "none"].contains(&name), variables);
        let values = BTreeMap::from([
            ("a".to_owned(), Some("{b} ${V} {a}".to_owned())),
            ("none".to_owned(), None),
        ]);
        template.filled(&values, |name| (name == "V").then(|| "value".to_owned()))
    }

    #[test]
    fn values_are_inserted_once_and_unknown_placeholders_stay() {
        let text = filled("<{a}> {b} ${V} ${W} {", Variables::Meant);
        assert_eq!(text.unwrap(), "<{b} ${V} {a}> {b} value ${W} {");
    }

    #[test]
    fn environment_reference_is_text_where_not_allowed() {
        assert_eq!(filled("${V}", Variables::Plain).unwrap(), "${V}");
        assert_eq!(filled("${a}", Variables::Plain).unwrap(), "${b} ${V} {a}");
    }

    #[test]
    fn parameter_without_a_value_is_empty() {
        assert_eq!(filled("{none}", Variables::Plain), None);
        assert_eq!(filled("x{none}y", Variables::Plain).unwrap(), "xy");
    }
}
