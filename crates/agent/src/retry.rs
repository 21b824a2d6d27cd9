//! When to repeat a request that failed, and how long to wait first.

use std::time::Duration;

use contract::provider::Failure;

/// Requests in all for a reply that keeps breaking off: the next one breaks off at the same place.
const BROKEN: u32 = 5;
/// The longest wait that a provider may ask for.
const MAX_WAIT: Duration = Duration::from_mins(5);

/// The repetition of failed requests.
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
        // About two minutes: what most troubles of providers last.
        Self { attempts: 10, base: Duration::from_millis(500), cap: Duration::from_secs(30) }
    }
}

impl Retry {
    pub(crate) fn attempts(&self, failure: Failure) -> u32 {
        match failure {
            Failure::Idle | Failure::Cut => self.attempts.min(BROKEN),
            _ => self.attempts,
        }
    }

    /// The wait before the next attempt; none if a repetition makes no sense. `attempt` is the failed one,
    /// from 1. A server that answered before is expected to come back.
    pub(crate) fn wait(
        &self,
        attempt: u32,
        failure: Failure,
        has_answered: bool,
    ) -> Option<Duration> {
        if attempt >= self.attempts(failure) {
            return None;
        }
        let asked_for = match failure {
            Failure::RateLimited(wait) | Failure::Unavailable(wait) => wait,
            Failure::Idle | Failure::Cut => None,
            Failure::Unreachable if has_answered => None,
            // A repeated request would fail, too.
            _ => return None,
        };
        if let Some(wait) = asked_for {
            return (wait <= MAX_WAIT).then_some(wait);
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
            let wait = retry.wait(attempt, Failure::Unavailable(None), false).expect("transient");
            let ceiling = retry.base.saturating_mul(1 << (attempt - 1)).min(retry.cap);
            assert!(wait <= ceiling && wait >= ceiling / 2, "{attempt}: {wait:?}");
        }
    }

    #[test]
    fn the_providers_own_wait_is_honored_unless_absurd() {
        let retry = Retry::default();
        let asked = |seconds| Failure::RateLimited(Some(Duration::from_secs(seconds)));
        assert_eq!(retry.wait(1, asked(7), false), Some(Duration::from_secs(7)));
        assert_eq!(retry.wait(1, asked(86_400), false), None);
    }

    #[test]
    fn lasting_failures_and_spent_budgets_are_not_repeated() {
        let retry = Retry::default();
        assert_eq!(retry.wait(1, Failure::Auth, true), None);
        assert_eq!(retry.wait(BROKEN, Failure::Cut, true), None);
        assert_eq!(retry.wait(retry.attempts, Failure::Unavailable(None), true), None);
        assert_eq!(retry.wait(1, Failure::Unreachable, false), None);
        assert!(retry.wait(1, Failure::Unreachable, true).is_some());
    }
}
