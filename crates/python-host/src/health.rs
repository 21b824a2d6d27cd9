//! When a worker that died may be started again.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A worker that lived this long has not died of its start.
const MINUTE: Duration = Duration::from_mins(1);
/// Deaths in a minute that are too many.
const TOO_MANY: usize = 3;

/// The deaths of a worker.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// When it died soon after a start, in the last minute.
    deaths: VecDeque<Instant>,
    /// Deaths in a row.
    row: u32,
    /// The words about the last one.
    last: String,
}

/// Whether a worker may be started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// At this time.
    At(Instant),
    /// Not before this long, because it keeps dying; with the words about the last death.
    Never(Duration, String),
}

impl Health {
    /// A worker that was started at `start` died at `end`.
    pub(crate) fn died(&mut self, start: Instant, end: Instant, words: &str) {
        if end - start >= MINUTE {
            self.row = 0;
            self.deaths.clear();
        }
        self.row = self.row.saturating_add(1);
        self.deaths.push_back(end);
        if self.deaths.len() > TOO_MANY {
            self.deaths.pop_front();
        }
        words.clone_into(&mut self.last);
    }

    /// When a worker may be started.
    pub(crate) fn leave(&self, now: Instant) -> Leave {
        let Some(&last) = self.deaths.back() else { return Leave::At(now) };
        let since = now.saturating_duration_since(last);
        let first = self.deaths.front().copied().unwrap_or(last);
        if self.deaths.len() == TOO_MANY && last - first < MINUTE && since < MINUTE {
            return Leave::Never(MINUTE.saturating_sub(since), self.last.clone());
        }
        let doublings = self.row.saturating_sub(1).min(16);
        let pause = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
        Leave::At(last + pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_three_deaths_in_a_minute_shut_the_door_for_one() {
        let start = Instant::now();
        let mut health = Health::default();
        assert_eq!(health.leave(start), Leave::At(start));
        health.died(start, start, "a");
        assert_eq!(health.leave(start), Leave::At(start + Duration::from_millis(100)));
        health.died(start, start, "b");
        assert_eq!(health.leave(start), Leave::At(start + Duration::from_millis(200)));
        health.died(start, start, "c");
        assert_eq!(health.leave(start), Leave::Never(MINUTE, "c".to_owned()));
        let later = start + MINUTE;
        assert_eq!(health.leave(later), Leave::At(start + Duration::from_millis(400)));
        // One try; when it dies as well, the door is shut again once three lie in a minute.
        health.died(later, later, "d");
        assert!(matches!(health.leave(later), Leave::At(_)));
    }

    #[test]
    fn a_long_life_clears_the_record_and_no_pause_is_endless() {
        let start = Instant::now();
        let mut health = Health::default();
        for _ in 0..40 {
            health.died(start, start + MINUTE / 2, "x");
        }
        let later = start + MINUTE * 3;
        assert_eq!(health.leave(later), Leave::At(start + MINUTE / 2 + LONGEST_PAUSE));
        health.died(later, later + MINUTE, "x");
        assert_eq!(health.leave(later), Leave::At(later + MINUTE + FIRST_PAUSE));
    }
}
