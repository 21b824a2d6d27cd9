//! The files of the page, which are part of the program.

use crate::reply::{self, Reply};

/// Files with the paths under which they are served, and their types.
macro_rules! assets {
    ($($kind:literal: $($name:literal)*;)*) => {
        &[
            ("/", "text/html; charset=utf-8", include_bytes!("../page/index.html")),
            $($((concat!("/assets/", $name), $kind, include_bytes!(concat!("../page/", $name)))),*),*
        ]
    };
}

/// The files of the page. A module that is missing here is found by a test.
const ASSETS: &[(&str, &str, &[u8])] = assets! {
    "text/javascript; charset=utf-8": "api.js" "app.js" "completion.js" "composer.js" "diff.js"
        "fold.js" "format.js" "header.js" "icons.js" "markdown.js" "masks.js" "notify.js" "panel.js" "question.js"
        "session.js" "sidebar.js" "start.js" "state.js" "stream.js" "tool.js" "transcript.js"
        "vendor/preact-htm.js";
    "text/css; charset=utf-8": "style.css";
    "image/svg+xml": "icon.svg";
    "text/plain; charset=utf-8": "vendor/LICENSE-htm" "vendor/LICENSE-preact";
};

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
