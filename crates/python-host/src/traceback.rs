//! Shortens tracebacks for the author of a plugin: frames of other files are left out.

use std::path::Path;

/// The lines of a traceback without frames of files outside `root`, and the number of frames that
/// were left out. A traceback without a frame in `root` stays whole.
pub(crate) fn author_frames<'a>(traceback: &'a str, root: &Path) -> (Vec<&'a str>, usize) {
    let (mut lines, mut hidden, mut own) = (Vec::new(), 0, 0);
    let mut is_shown = true;
    for line in traceback.lines() {
        if let Some(rest) = line.strip_prefix("  File \"") {
            let file = rest.split('"').next().unwrap_or_default();
            is_shown = Path::new(file).starts_with(root);
            if is_shown { own += 1 } else { hidden += 1 }
        } else if !line.starts_with("    ") {
            is_shown = true;
        }
        if is_shown {
            lines.push(line);
        }
    }
    if own == 0 { (traceback.lines().collect(), 0) } else { (lines, hidden) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACEBACK: &str = "Traceback (most recent call last):
  File \"/p/tools/a.py\", line 3, in execute
    fetch()
    ~~~~~^^
  File \"/usr/lib/python3/urllib.py\", line 9, in fetch
    raise X
urllib.X: no";

    #[test]
    fn frames_of_other_files_are_left_out() {
        let (lines, hidden) = author_frames(TRACEBACK, Path::new("/p"));
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert_eq!((lines[4], hidden), ("urllib.X: no", 1));
    }

    #[test]
    fn traceback_without_own_frames_stays_whole() {
        let (lines, hidden) = author_frames(TRACEBACK, Path::new("/q"));
        assert_eq!((lines.len(), hidden), (7, 0));
    }
}
