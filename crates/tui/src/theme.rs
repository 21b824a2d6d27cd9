//! Colors by what they are for. A theme names a style for each role; the terminal's abilities are
//! applied once, when a theme is chosen, so that nothing else knows of them.

mod built_in;
mod depth;
mod file;

use ratatui_core::style::Style;

pub use depth::{Background, Depth, background_of_report, background_of_variable};
pub use file::{ThemeError, parse};

/// What a style is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text.
    Text,
    /// What matters less.
    Soft,
    /// What matters more.
    Strong,
    /// Emphasis in prose.
    Emphasis,
    /// Headings.
    Heading,
    /// Code in prose, and code of no known language.
    Code,
    /// Links.
    Link,
    /// The program's own color.
    Accent,
    /// What the user said.
    Person,
    /// What went well.
    Good,
    /// What went wrong.
    Bad,
    /// What needs care.
    Caution,
    /// Frames.
    Border,
    /// What is selected in a list or in the text.
    Selection,
    /// The status line.
    Status,
    /// What a search found, and letters that matched.
    Found,
    /// Lines that a change adds.
    Added,
    /// Lines that a change removes.
    Removed,
    /// Places in a file, in a change.
    Place,
    /// Keywords of a language.
    Keyword,
    /// Text in code.
    Quoted,
    /// Comments in code.
    Comment,
    /// Numbers and constants in code.
    Number,
    /// Functions in code.
    Function,
    /// Types in code.
    Type,
}

/// Every role with the name it has in a theme's file.
pub const ROLES: &[(Role, &str)] = &[
    (Role::Text, "text"),
    (Role::Soft, "soft"),
    (Role::Strong, "strong"),
    (Role::Emphasis, "emphasis"),
    (Role::Heading, "heading"),
    (Role::Code, "code"),
    (Role::Link, "link"),
    (Role::Accent, "accent"),
    (Role::Person, "person"),
    (Role::Good, "good"),
    (Role::Bad, "bad"),
    (Role::Caution, "caution"),
    (Role::Border, "border"),
    (Role::Selection, "selection"),
    (Role::Status, "status"),
    (Role::Found, "found"),
    (Role::Added, "added"),
    (Role::Removed, "removed"),
    (Role::Place, "place"),
    (Role::Keyword, "keyword"),
    (Role::Quoted, "quoted"),
    (Role::Comment, "comment"),
    (Role::Number, "number"),
    (Role::Function, "function"),
    (Role::Type, "type"),
];

/// A style for every role.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    /// Its name.
    pub name: String,
    styles: [Style; ROLES.len()],
}

impl Theme {
    /// A theme in which nothing has a style yet.
    pub(crate) fn blank(name: &str) -> Self {
        Self { name: name.to_owned(), styles: [Style::new(); ROLES.len()] }
    }

    /// A theme in which nothing has a style: text alone.
    pub fn unstyled() -> Self {
        Self::blank("unstyled")
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }

    /// Gives a role a style.
    pub(crate) fn set(&mut self, role: Role, style: Style) {
        self.styles[role as usize] = style;
    }

    /// The built-in themes: dark, light, the terminal's own sixteen colors, and none.
    pub fn built_in() -> Vec<Self> {
        vec![built_in::dark(), built_in::light(), built_in::sixteen(), built_in::none()]
    }

    /// The built-in theme that suits a background.
    pub fn for_background(background: Background) -> Self {
        match background {
            Background::Dark => built_in::dark(),
            Background::Light => built_in::light(),
        }
    }

    /// The same with no more colors than a terminal has.
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
    fn every_role_stands_at_its_own_place() {
        for (place, (role, _)) in ROLES.iter().enumerate() {
            assert_eq!(*role as usize, place);
        }
    }

    #[test]
    fn themes_differ_in_what_they_show_and_none_has_no_color() {
        let [dark, light, sixteen, none] = Theme::built_in().try_into().unwrap();
        assert_ne!(dark.style(Role::Code), light.style(Role::Code));
        assert_ne!(dark.style(Role::Code), sixteen.style(Role::Code));
        for (role, name) in ROLES {
            let style = none.style(*role);
            assert_eq!((style.fg, style.bg), (None, None), "{name}");
        }
    }
}
