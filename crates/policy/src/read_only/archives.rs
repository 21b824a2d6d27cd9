//! Programs that mostly write, where they only list an archive or write nowhere.

use super::{NotReadOnly, Operand, ReadPaths};
use crate::shell::Word;

/// `tar` that lists an archive: `tar tf x.tar`, `tar -tzvf x.tgz`, and the names of members.
pub(crate) fn tar(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let [letters, archive, members @ ..] = args else {
        return Err(NotReadOnly::new("it may do more than list an archive"));
    };
    let letters = letters.text.strip_prefix('-').unwrap_or(&letters.text);
    let lists = letters.find('f') == Some(letters.len().saturating_sub(1))
        && letters.contains('t')
        && letters.chars().all(|c| "tvzjJf".contains(c));
    // A colon names another machine.
    let is_file = !archive.glob && !archive.text.starts_with('-') && !archive.text.contains(':');
    if !lists || !is_file || members.iter().any(|word| word.glob || word.text.starts_with('-')) {
        return Err(NotReadOnly::new("it may do more than list an archive"));
    }
    Ok(ReadPaths { contents: vec![Operand::from(archive)], names: Vec::new() })
}

/// `tee` that writes nowhere.
pub(crate) fn tee(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let is_nowhere = |word: &Word| !word.glob && ["/dev/null", "-a"].contains(&word.text.as_str());
    if args.iter().all(is_nowhere) {
        Ok(ReadPaths::default())
    } else {
        Err(NotReadOnly::new("it writes the files that it names"))
    }
}
