//! The files of the page, which are part of the program.

use crate::reply::{self, Reply};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";
const TEXT: &str = "text/plain; charset=utf-8";

/// A file with the path under which it is served, and its type.
macro_rules! asset {
    ($name:literal, $kind:expr) => {
        (concat!("/assets/", $name), $kind, include_bytes!(concat!("../page/", $name)))
    };
}

/// The files of the page. A module that is missing here is found by a test.
const ASSETS: &[(&str, &str, &[u8])] = &[
    ("/", "text/html; charset=utf-8", include_bytes!("../page/index.html")),
    asset!("api.js", SCRIPT),
    asset!("app.js", SCRIPT),
    asset!("completion.js", SCRIPT),
    asset!("composer.js", SCRIPT),
    asset!("diff.js", SCRIPT),
    asset!("fold.js", SCRIPT),
    asset!("format.js", SCRIPT),
    asset!("header.js", SCRIPT),
    asset!("icons.js", SCRIPT),
    asset!("markdown.js", SCRIPT),
    asset!("masks.js", SCRIPT),
    asset!("notify.js", SCRIPT),
    asset!("panel.js", SCRIPT),
    asset!("question.js", SCRIPT),
    asset!("session.js", SCRIPT),
    asset!("sidebar.js", SCRIPT),
    asset!("start.js", SCRIPT),
    asset!("state.js", SCRIPT),
    asset!("stream.js", SCRIPT),
    asset!("tool.js", SCRIPT),
    asset!("transcript.js", SCRIPT),
    asset!("style.css", STYLE),
    asset!("icon.svg", PICTURE),
    asset!("vendor/preact-htm.js", SCRIPT),
    asset!("vendor/LICENSE-htm", TEXT),
    asset!("vendor/LICENSE-preact", TEXT),
];

pub(crate) fn find(path: &str) -> Option<Reply> {
    let (_, kind, bytes) = ASSETS.iter().find(|(name, _, _)| *name == path)?;
    Some(reply::text(kind, *bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_page_is_served() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let mut files = BTreeSet::new();
        for directory in ["", "vendor/"] {
            for entry in page.join(directory).read_dir().unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                if entry.path().is_file() && name != "index.html" && name != "README.md" {
                    files.insert(format!("/assets/{directory}{name}"));
                }
            }
        }
        let served = ASSETS.iter().map(|(path, _, _)| (*path).to_owned());
        let served: BTreeSet<String> = served.filter(|path| path != "/").collect();
        assert_eq!(served, files);
    }

    #[test]
    fn page_writes_no_html_from_text() {
        for (path, _, bytes) in ASSETS.iter().filter(|(path, ..)| !path.contains("vendor")) {
            let text = std::str::from_utf8(bytes).unwrap();
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
            {
                assert!(!text.contains(word), "{path} has {word}");
            }
        }
    }
}
