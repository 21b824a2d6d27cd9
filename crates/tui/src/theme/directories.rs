//! Themes in directories.

use std::io;
use std::path::{Path, PathBuf};

use files::private;

use super::{Theme, parse};

/// The themes in directories, and problems by name. Only a directory of the user, for which the
/// second value is true, may replace a built-in one.
pub fn themes_in(
    directories: impl Iterator<Item = (PathBuf, bool)>,
) -> (Vec<Theme>, Vec<(String, String)>) {
    let mut themes: Vec<Theme> = Vec::new();
    let mut problems = Vec::new();
    let built_in: Vec<String> = Theme::built_in().into_iter().map(|theme| theme.name).collect();
    for (directory, is_own) in directories {
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
pub fn own_theme(directory: &Path, name: &str) -> Option<Theme> {
    Path::new(name).file_name().filter(|it| *it == name)?;
    let paths = ["yaml", "yml"].map(|ending| directory.join(format!("{name}.{ending}")));
    paths.iter().find_map(|path| read_theme(path, name).ok())
}

fn read_theme(path: &Path, name: &str) -> Result<Theme, String> {
    let yaml = theme_text(path).map_err(|error| error.to_string())?;
    parse(&yaml, name).map_err(|error| error.to_string())
}

fn theme_text(path: &Path) -> io::Result<String> {
    let bytes = private::read(path)?.ok_or(io::ErrorKind::NotFound)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}
