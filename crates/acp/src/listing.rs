//! Pages of the list of sessions.

use std::path::Path;

use serde_json::{Value, json};

use crate::host::{Failure, SessionEntry};

const PAGE: usize = 50;

/// One page, the newest sessions first. A cursor names the last session before the page, by its
/// time and its name, so that a session that was deleted meanwhile does no harm.
pub(crate) fn page(
    mut sessions: Vec<SessionEntry>,
    cwd: Option<&Path>,
    cursor: Option<&str>,
) -> Result<Value, Failure> {
    let key = |it: &SessionEntry| (std::cmp::Reverse(it.updated_at), it.id.as_str().to_owned());
    sessions.retain(|it| cwd.is_none_or(|cwd| Path::new(&it.cwd) == cwd));
    sessions.sort_by_cached_key(key);
    if let Some(cursor) = cursor {
        let wrong = || Failure::params(format!("the cursor {cursor:?} is not one of ours"));
        let (time, id) = cursor.split_once('/').ok_or_else(wrong)?;
        let time = serde_json::from_value(json!(time)).map_err(|_| wrong())?;
        let last = (std::cmp::Reverse(time), id.to_owned());
        sessions.retain(|it| key(it) > last);
    }
    let has_more = sessions.len() > PAGE;
    sessions.truncate(PAGE);
    let mut page = json!({"sessions": sessions.iter().map(entry).collect::<Vec<_>>()});
    if let Some(last) = sessions.last().filter(|_| has_more) {
        page["nextCursor"] = format!("{}/{}", last.updated_at, last.id).into();
    }
    Ok(page)
}

fn entry(session: &SessionEntry) -> Value {
    let mut entry = json!({
        "sessionId": session.id,
        "cwd": session.cwd,
        "updatedAt": session.updated_at.to_string(),
    });
    if let Some(title) = &session.title {
        entry["title"] = title.as_str().into();
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::id::SessionId;

    fn sessions(count: usize) -> Vec<SessionEntry> {
        let session = |number: usize| SessionEntry {
            id: SessionId::parse(&format!("s{number:03}")).unwrap(),
            cwd: if number.is_multiple_of(2) { "/even" } else { "/odd" }.to_owned(),
            title: None,
            // Some have the same time.
            updated_at: serde_json::from_value(json!(format!(
                "2026-11-18T10:{:02}:00Z",
                number / 4
            )))
            .unwrap(),
        };
        (0..count).map(session).collect()
    }

    #[test]
    fn pages_name_every_session_once_the_newest_first() {
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = page(sessions(120), None, cursor.as_deref()).unwrap();
            let ids = page["sessions"].as_array().unwrap().iter();
            seen.extend(ids.map(|it| it["sessionId"].as_str().unwrap().to_owned()));
            match page["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen.len(), 120);
        assert_eq!(seen[0], "s116");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 120);
    }

    #[test]
    fn list_is_limited_to_a_directory_and_may_be_empty() {
        let odd = page(sessions(9), Some(Path::new("/odd")), None).unwrap();
        assert_eq!(odd["sessions"].as_array().unwrap().len(), 4);
        assert_eq!(page(Vec::new(), None, None).unwrap(), json!({"sessions": []}));
        for cursor in ["", "x", "x/y"] {
            assert!(page(sessions(3), None, Some(cursor)).is_err(), "{cursor}");
        }
    }
}
