//! The color themes: built in, the user's own, and those of plugins.

use std::io;
use std::path::{Path, PathBuf};

use ::tui::theme::{self, Theme};
use files::private;

use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;

pub(crate) fn theme(assembly: &Assembly, name: &str) -> Option<Theme> {
    let named = |theme: &Theme| theme.name == name;
    let built_in = || Theme::built_in().into_iter().find(named);
    let others = || themes(assembly).0.into_iter().find(named);
    own_theme(assembly, name).or_else(built_in).or_else(others)
}

pub(crate) fn missing_theme(assembly: &Assembly) -> Option<String> {
    let name = &assembly.config().ui.theme.0;
    if theme(assembly, name).is_some() {
        return None;
    }
    let broken = themes(assembly).1.into_iter().find(|(theme, _)| theme == name);
    let missing = || format!("there is no theme `{name}` (ui.theme)");
    Some(broken.map_or_else(missing, |(_, problem)| problem))
}

/// The themes of the user and of plugins, and problems by name. Only the user's may replace a
/// built-in one.
pub(crate) fn themes(assembly: &Assembly) -> (Vec<Theme>, Vec<(String, String)>) {
    let own =
        assembly.loaded.config_dir.iter().map(|dir| (dir.join(setup::user_files::THEMES), true));
    let plugins = assembly.plugins().active().map(|plugin| (plugin.root.join("themes"), false));
    let mut themes: Vec<Theme> = Vec::new();
    let mut problems = Vec::new();
    let built_in: Vec<String> = Theme::built_in().into_iter().map(|theme| theme.name).collect();
    for (directory, is_own) in own.chain(plugins) {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        let mut paths: Vec<PathBuf> =
            entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|it| it == "yaml" || it == "yml"));
        paths.sort();
        for path in paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let is_taken = themes.iter().any(|theme| theme.name == name)
                || (!is_own && built_in.contains(&name));
            let taken = is_taken.then(|| Err(format!("there is another theme `{name}`")));
            match taken.unwrap_or_else(|| read_theme(&path, &name)) {
                Ok(theme) => themes.push(theme),
                Err(error) => problems.push((name, format!("theme {}: {error}", path.display()))),
            }
        }
    }
    (themes, problems)
}

/// A theme of the user; none if its file is missing or broken.
pub(crate) fn own_theme(run: &RunContext, name: &str) -> Option<Theme> {
    let directory = run.loaded.config_dir.as_ref()?.join(setup::user_files::THEMES);
    Path::new(name).file_name().filter(|it| *it == name)?;
    let paths = ["yaml", "yml"].map(|ending| directory.join(format!("{name}.{ending}")));
    paths.iter().find_map(|path| read_theme(path, name).ok())
}

pub(crate) fn read_theme(path: &Path, name: &str) -> Result<Theme, String> {
    let yaml = theme_text(path).map_err(|error| error.to_string())?;
    theme::parse(&yaml, name).map_err(|error| error.to_string())
}

pub(crate) fn theme_text(path: &Path) -> io::Result<String> {
    let bytes = private::read(path)?.ok_or(io::ErrorKind::NotFound)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}
