//! Development of a plugin: waits until its files change.

use std::io;
use std::time::Duration;

use files::changes::{ChangeTracker, Changes, Cursor};

/// The time between two looks. An editor that writes several files has finished after it.
const INTERVAL: Duration = Duration::from_millis(100);

/// Waits until files change after `seen`, and no more do.
pub async fn wait_for_change(tracker: &ChangeTracker, seen: Cursor) -> io::Result<()> {
    let mut last = None;
    loop {
        tokio::time::sleep(INTERVAL).await;
        let now = tracker.cursor();
        if tracker.since(seen) == Changes::Unknown && tracker.since(now) == Changes::Unknown {
            let root = tracker.root().display();
            let text = format!("cannot watch {root}: it is gone, or the system has no watch left");
            return Err(io::Error::other(text));
        }
        if now != seen && last == Some(now) {
            return Ok(());
        }
        last = Some(now);
    }
}
