//! What tool types of packages said of themselves when a role had them run, kept so that a listing
//! runs nothing. A lost file costs a description and nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ::files::cache;

use super::registry::Point;

const LIMIT: usize = 500;

/// The descriptions that are kept, by the package, its version and the place of the type in it.
#[derive(Debug, Default)]
pub struct Said {
    file: Option<PathBuf>,
    descriptions: BTreeMap<String, String>,
}

impl Said {
    pub fn load(file: Option<PathBuf>) -> Self {
        let descriptions = file.as_deref().and_then(cache::read).unwrap_or_default();
        Self { file, descriptions }
    }

    /// Replaces a package's description by the one that the type gave.
    pub fn apply(&self, point: &mut Point) {
        if let Some(description) = self.descriptions.get(&key(point)) {
            point.summary.clone_from(description);
        }
    }

    /// Saves the descriptions that types gave, by their places.
    pub fn learn(mut self, points: &[Point], said: &BTreeMap<String, String>) {
        let mut is_changed = false;
        for point in points {
            let Some(text) = said.get(&point.object).filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = contract::text::visible(contract::text::head(&line, LIMIT)).into_owned();
            let before = self.descriptions.insert(key(point), line.clone());
            is_changed |= before.as_ref() != Some(&line);
        }
        if let Some(file) = self.file.filter(|_| is_changed) {
            // A cache that cannot be written only costs time.
            let _ = cache::write(&file, &self.descriptions);
        }
    }
}

fn key(point: &Point) -> String {
    format!("{} {} {}", point.package, point.version, point.object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_descriptions_are_cached_by_package_version() {
        let directory = tempfile::tempdir().unwrap();
        let file = || Some(directory.path().join("cache/types.json"));
        let point = |version: &str| Point {
            name: "slack".into(),
            object: "s:make".into(),
            package: "p".into(),
            version: version.into(),
            summary: "a package".into(),
            root: PathBuf::new(),
            site: PathBuf::new(),
        };
        let said = BTreeMap::from([("s:make".to_owned(), "Send\n  messages".to_owned())]);
        Said::load(file()).learn(&[point("1")], &said);
        let shown = |version: &str| {
            let mut point = point(version);
            Said::load(file()).apply(&mut point);
            point.summary
        };
        assert_eq!((shown("1").as_str(), shown("2").as_str()), ("Send messages", "a package"));
        Said::load(file()).learn(&[point("2")], &BTreeMap::from([("s:make".into(), " ".into())]));
        assert_eq!(shown("2"), "a package");
    }
}
