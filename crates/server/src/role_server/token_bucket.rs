//! A limit on the rate of requests: a bucket that fills with tokens, of which each request takes one.

use std::cell::Cell;
use std::time::Instant;

use super::settings::Rate;

pub(super) struct TokenBucket {
    per_second: f64,
    size: f64,
    state: Cell<(f64, Instant)>,
}

impl TokenBucket {
    /// A full bucket.
    pub(super) fn new(rate: &Rate, now: Instant) -> Self {
        let per_second = f64::from(rate.requests_per_minute.get()) / 60.0;
        let size = f64::from(rate.burst_size.get());
        Self { per_second, size, state: Cell::new((size, now)) }
    }

    /// Takes a token. Returns false if there is none.
    pub(super) fn take(&self, now: Instant) -> bool {
        let (tokens, last) = self.state.get();
        let passed = now.saturating_duration_since(last).as_secs_f64();
        let tokens = (tokens + passed * self.per_second).min(self.size);
        let has_one = tokens >= 1.0;
        self.state.set((if has_one { tokens - 1.0 } else { tokens }, now));
        has_one
    }

    /// Seconds after which there is a token again, at the latest.
    pub(super) fn wait(&self) -> f64 {
        (1.0 / self.per_second).ceil()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use super::*;

    #[test]
    fn burst_is_allowed_and_then_the_rate() {
        let start = Instant::now();
        let number = |number| NonZeroU32::new(number).unwrap();
        let rate = Rate { requests_per_minute: number(30), burst_size: number(2) };
        let bucket = TokenBucket::new(&rate, start);
        assert!(bucket.take(start) && bucket.take(start) && !bucket.take(start));
        assert!(!bucket.take(start + Duration::from_secs(1)));
        let later = start + Duration::from_secs(2);
        assert!(bucket.take(later) && !bucket.take(later));
        let much_later = start + Duration::from_secs(100);
        assert!(bucket.take(much_later) && bucket.take(much_later) && !bucket.take(much_later));
    }
}
