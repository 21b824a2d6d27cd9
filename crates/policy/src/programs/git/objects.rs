//! Objects that git knows by a path.

/// The path of an object such as `HEAD:src/a`, `:src/a` or `:0:src/a`, which is what the index has of it.
pub(crate) fn path(word: &str) -> Option<&str> {
    let (revision, path) = word.split_once(':')?;
    let staged = path.split_once(':').filter(|(stage, _)| ["0", "1", "2", "3"].contains(stage));
    Some(staged.filter(|_| revision.is_empty()).map_or(path, |(_, path)| path))
}
