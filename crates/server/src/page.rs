//! The files of the page, which are part of the program.

use crate::reply::{self, Reply};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Each file with the path under which it is served, and its type.
const ASSETS: &[(&str, &str, &[u8])] = &[
    ("/", "text/html; charset=utf-8", include_bytes!("../page/index.html")),
    ("/assets/app.js", SCRIPT, include_bytes!("../page/app.js")),
    ("/assets/style.css", STYLE, include_bytes!("../page/style.css")),
];

pub(crate) fn find(path: &str) -> Option<Reply> {
    let (_, kind, bytes) = ASSETS.iter().find(|(name, _, _)| *name == path)?;
    Some(reply::text(kind, *bytes))
}
