//! Colors by what they are for. A theme names a style for each role; the terminal's abilities are
//! applied once, when a theme is chosen, so that nothing else knows of them.

mod depth;
mod directories;
mod file;

use ratatui_core::style::Style;

pub use depth::{Background, Depth, background_of_report, background_of_variable};
pub use directories::{own_theme, themes_in};
pub use file::{ThemeError, parse};

/// The purpose of a style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Text,
    /// Less important text.
    Soft,
    /// More important text.
    Strong,
    Emphasis,
    Heading,
    /// Code in prose, and code of no known language.
    Code,
    Link,
    /// The program's own color.
    Accent,
    /// Text of the user.
    Person,
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// Warnings.
    Caution,
    /// Frames.
    Border,
    /// The selected row or text.
    Selection,
    Status,
    /// Matches of a search.
    Found,
    /// Lines that a change adds.
    Added,
    /// Lines that a change removes.
    Removed,
    /// The words that differ in an added line.
    AddedWord,
    /// The words that differ in a removed line.
    RemovedWord,
    /// Places in a file, in a change.
    Place,
    Keyword,
    /// String literals.
    Quoted,
    Comment,
    /// Numbers and constants in code.
    Number,
    Function,
    Type,
}

/// Every role, at its own place.
const ROLES: [Role; 27] = {
    use Role::{
        Accent, Added, AddedWord, Bad, Border, Caution, Code, Comment, Emphasis, Found, Function,
        Good, Heading, Keyword, Link, Number, Person, Place, Quoted, Removed, RemovedWord,
        Selection, Soft, Status, Strong, Text, Type,
    };
    [
        Text,
        Soft,
        Strong,
        Emphasis,
        Heading,
        Code,
        Link,
        Accent,
        Person,
        Good,
        Bad,
        Caution,
        Border,
        Selection,
        Status,
        Found,
        Added,
        Removed,
        AddedWord,
        RemovedWord,
        Place,
        Keyword,
        Quoted,
        Comment,
        Number,
        Function,
        Type,
    ]
};

impl Role {
    /// Its name in a theme's file.
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// A style for every role.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    pub name: String,
    styles: [Style; ROLES.len()],
}

impl Theme {
    /// A theme in which nothing has a style: text alone.
    pub fn unstyled() -> Self {
        Self { name: "unstyled".to_owned(), styles: [Style::new(); ROLES.len()] }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }

    pub(crate) fn set(&mut self, role: Role, style: Style) {
        self.styles[role as usize] = style;
    }

    /// The built-in themes: dark, light, the terminal's own sixteen colors, none, and palettes.
    pub fn built_in() -> Vec<Self> {
        file::BUILT_IN.to_vec()
    }

    /// The names of the built-in themes and of others, which may replace a built-in one.
    pub fn names_with(others: Vec<Self>) -> Vec<String> {
        let mut names: Vec<String> = Self::built_in().into_iter().map(|it| it.name).collect();
        let others = others.into_iter().map(|theme| theme.name);
        let others: Vec<String> = others.filter(|name| !names.contains(name)).collect();
        names.extend(others);
        names
    }

    /// The built-in theme that suits a background.
    pub fn for_background(background: Background) -> Self {
        let [dark, light, ..] = &*file::BUILT_IN;
        match background {
            Background::Dark => dark.clone(),
            Background::Light => light.clone(),
        }
    }

    /// Reduces its colors to those that a terminal has.
    #[must_use]
    pub fn limited(mut self, depth: Depth) -> Self {
        for style in &mut self.styles {
            *style = depth.limit(*style);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_theme_role_has_its_index() {
        for (place, role) in ROLES.iter().enumerate() {
            assert_eq!(*role as usize, place);
        }
    }

    #[test]
    fn themes_differ_and_every_theme_has_colors() {
        let all = Theme::built_in();
        let [dark, light, sixteen, none, palettes @ ..] = &all[..] else { panic!("four themes") };
        assert_eq!(palettes.len(), 12);
        assert!(palettes.iter().all(|it| it.style(Role::Added).bg.is_some()));
        assert_ne!(dark.style(Role::Code), light.style(Role::Code));
        assert_ne!(dark.style(Role::Code), sixteen.style(Role::Code));
        for role in ROLES {
            let style = none.style(role);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
    }
}
