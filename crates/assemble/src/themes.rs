//! The color themes: built in, the user's own, and those of plugins.

use ::tui::theme::{Theme, own_theme, themes_in};

use crate::assembly::Assembly;

impl Assembly {
    /// The theme, limited to the color depth of standard output.
    pub fn theme(&self) -> Theme {
        if !self.is_colored() || self.config().ui.theme.0 == "none" {
            return Theme::unstyled();
        }
        let wanted = theme(self, &self.config().ui.theme.0);
        let found = wanted.or_else(|| theme(self, "16-color"));
        found.unwrap_or_else(Theme::unstyled).limited(self.depth())
    }
}

/// The theme with a name: of the user, built in, or of a plugin.
pub fn theme(assembly: &Assembly, name: &str) -> Option<Theme> {
    let named = |theme: &Theme| theme.name == name;
    let built_in = || Theme::built_in().into_iter().find(named);
    let others = || themes(assembly).0.into_iter().find(named);
    let own = assembly.loaded.config_dir.as_ref();
    let own = own.map(|dir| dir.join(setup::user_files::THEMES));
    own.and_then(|own| own_theme(&own, name)).or_else(built_in).or_else(others)
}

/// Says why the configured theme cannot be used; none if it can.
pub fn missing_theme(assembly: &Assembly) -> Option<String> {
    let name = &assembly.config().ui.theme.0;
    if theme(assembly, name).is_some() {
        return None;
    }
    let broken = themes(assembly).1.into_iter().find(|(theme, _)| theme == name);
    let missing = || format!("there is no theme `{name}` (ui.theme)");
    Some(broken.map_or_else(missing, |(_, problem)| problem))
}

/// The themes of the user and of plugins, and problems by name.
pub fn themes(assembly: &Assembly) -> (Vec<Theme>, Vec<(String, String)>) {
    let own =
        assembly.loaded.config_dir.iter().map(|dir| (dir.join(setup::user_files::THEMES), true));
    let plugins = assembly.plugins().active().map(|plugin| (plugin.root.join("themes"), false));
    themes_in(own.chain(plugins))
}
