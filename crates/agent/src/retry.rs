//! When to repeat a request that failed, and how long to wait first.

use std::time::Duration;

use contract::provider::Failure;

/// How failed requests are repeated.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// Requests in all, the first included.
    pub attempts: u32,
    /// The wait before the first repetition; it doubles each time.
    pub base: Duration,
    /// The longest wait.
    pub cap: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 5, base: Duration::from_millis(500), cap: Duration::from_mins(1) }
    }
}

impl Retry {
    /// The wait before the next attempt, or none where a repetition makes no sense. `attempt` is
    /// the one that failed, from 1.
    pub(crate) fn wait(&self, attempt: u32, failure: Failure) -> Option<Duration> {
        if attempt >= self.attempts {
            return None;
        }
        let asked_for = match failure {
            Failure::RateLimited(wait) | Failure::Unavailable(wait) => wait,
            Failure::Idle | Failure::Cut => None,
            // The same request would fail in the same way.
            Failure::Auth
            | Failure::Payment
            | Failure::NotFound
            | Failure::TooLong
            | Failure::Rejected
            | Failure::Unreachable
            | Failure::Garbled
            | Failure::Expectation => return None,
        };
        if let Some(wait) = asked_for {
            return (wait <= self.cap * 5).then_some(wait);
        }
        let doubled = self.base.saturating_mul(1 << (attempt - 1).min(16)).min(self.cap);
        // Full jitter over the upper half keeps clients that failed together apart.
        Some(doubled.mul_f64(0.5 + fastrand::f64() / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_under_the_cap() {
        let retry = Retry { attempts: 20, ..Retry::default() };
        for attempt in 1..20 {
            let wait = retry.wait(attempt, Failure::Cut).expect("transient");
            let ceiling = retry.base.saturating_mul(1 << (attempt - 1)).min(retry.cap);
            assert!(wait <= ceiling && wait >= ceiling / 2, "{attempt}: {wait:?}");
        }
    }

    #[test]
    fn the_providers_own_wait_is_honored_unless_absurd() {
        let retry = Retry::default();
        let asked = |seconds| Failure::RateLimited(Some(Duration::from_secs(seconds)));
        assert_eq!(retry.wait(1, asked(7)), Some(Duration::from_secs(7)));
        assert_eq!(retry.wait(1, asked(86_400)), None);
    }

    #[test]
    fn lasting_failures_and_spent_budgets_are_not_repeated() {
        let retry = Retry::default();
        assert_eq!(retry.wait(1, Failure::Auth), None);
        assert_eq!(retry.wait(5, Failure::Cut), None);
    }
}
