//! When a worker that died may be started again: at once, unless it keeps dying.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Deaths within [`PERIOD`] after which a worker is left alone.
const DEATHS_LIMIT: usize = 3;
/// The time for which a crash is remembered.
const PERIOD: Duration = Duration::from_mins(1);

/// The last deaths of a worker.
#[derive(Debug, Default)]
pub(crate) struct Health {
    deaths: VecDeque<Instant>,
    /// How it died the last time.
    last: String,
}

impl Health {
    /// Takes note of a death.
    pub(crate) fn died(&mut self, now: Instant, words: &str) {
        self.deaths.push_back(now);
        if self.deaths.len() > DEATHS_LIMIT {
            self.deaths.pop_front();
        }
        words.clone_into(&mut self.last);
    }

    /// How long a worker is left alone because it keeps dying, and how it died the last time.
    pub(crate) fn rest(&self, now: Instant) -> Option<(Duration, &str)> {
        let (first, last) = (self.deaths.front()?, self.deaths.back()?);
        let since = now.saturating_duration_since(*last);
        let keeps_dying = self.deaths.len() == DEATHS_LIMIT && *last - *first < PERIOD;
        (keeps_dying && since < PERIOD).then(|| (PERIOD.saturating_sub(since), self.last.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_crashes_in_a_minute_pause_for_a_minute() {
        let start = Instant::now();
        let mut health = Health::default();
        for words in ["a", "b"] {
            health.died(start, words);
            assert_eq!(health.rest(start), None);
        }
        health.died(start, "c");
        assert_eq!(health.rest(start), Some((PERIOD, "c")));
        let later = start + PERIOD;
        assert_eq!(health.rest(later), None);
        // One try; it rests again once three deaths lie within a minute.
        health.died(later, "d");
        assert_eq!(health.rest(later), None);
    }

    #[test]
    fn crashes_far_apart_cause_no_pause() {
        let start = Instant::now();
        let mut health = Health::default();
        for number in 0..5 {
            health.died(start + PERIOD * number, "x");
        }
        assert_eq!(health.rest(start + PERIOD * 4), None);
    }
}
