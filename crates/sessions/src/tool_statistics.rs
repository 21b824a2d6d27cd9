//! How often tools ran, how well and how long: folded from events, or from the lines of a
//! conversation log. Calls that never ran (denied, invalid, dry run) do not count.

use std::collections::BTreeMap;

use contract::event::{CallOutcome, Event, EventKind};
use serde::Serialize;
use serde_json::Value;

/// The figures of all tools.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolStatistics {
    /// Each tool's, by name.
    pub tools: BTreeMap<String, Metrics>,
    /// All of them together.
    pub summary: Totals,
}

/// The figures of one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// How often it ran.
    pub call_count: u64,
    /// How often it did what it was asked.
    pub success_count: u64,
    /// How often it did not.
    pub failure_count: u64,
    /// Milliseconds of all runs.
    pub total_duration_ms: f64,
    /// Milliseconds of one run.
    pub average_duration_ms: f64,
    /// Successes in a hundred runs.
    pub success_rate: f64,
    /// When it last ran.
    pub last_used: Option<String>,
}

/// The figures of all tools together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// How often tools ran.
    pub total_calls: u64,
    /// How often they did what they were asked.
    pub total_success: u64,
    /// How often they did not.
    pub total_failures: u64,
    /// Successes in a hundred runs.
    pub success_rate: f64,
    /// Milliseconds of all runs.
    pub total_duration_ms: f64,
    /// How many tools ran.
    pub tools_used: u64,
}

impl ToolStatistics {
    /// Folds the events of a session.
    pub fn of_events(events: &[Event]) -> Self {
        let mut statistics = Self::default();
        for event in events {
            if let EventKind::ToolFinished { name, outcome, output, duration_ms, .. } = &event.kind
                && *outcome == CallOutcome::Ran
            {
                let at = Some(event.at.to_string());
                statistics.add(name, output.success, to_float(*duration_ms), at);
            }
        }
        statistics.finish()
    }

    /// Folds the lines of a conversation log.
    pub fn of_log(lines: &[Value]) -> Self {
        let mut statistics = Self::default();
        for line in lines {
            let text = |key: &str| line.get(key).and_then(Value::as_str);
            let has_run = text("outcome").is_none_or(|outcome| outcome == "ran");
            if text("event_type") != Some("tool_result") || !has_run {
                continue;
            }
            let success = line.get("success").and_then(Value::as_bool);
            let duration = line.get("duration_ms").and_then(Value::as_f64);
            statistics.add(
                text("tool_name").unwrap_or("unknown"),
                success.unwrap_or(false),
                duration.unwrap_or(0.0),
                text("timestamp").map(str::to_owned),
            );
        }
        statistics.finish()
    }

    fn add(&mut self, name: &str, success: bool, duration_ms: f64, at: Option<String>) {
        let metrics = self.tools.entry(name.to_owned()).or_default();
        metrics.call_count += 1;
        metrics.success_count += u64::from(success);
        metrics.failure_count += u64::from(!success);
        metrics.total_duration_ms += duration_ms;
        metrics.last_used = at.or(metrics.last_used.take());
    }

    fn finish(mut self) -> Self {
        let summary = &mut self.summary;
        for metrics in self.tools.values_mut() {
            let calls = to_float(metrics.call_count);
            metrics.average_duration_ms = metrics.total_duration_ms / calls;
            metrics.success_rate = rate(metrics.success_count, metrics.call_count);
            summary.total_calls += metrics.call_count;
            summary.total_success += metrics.success_count;
            summary.total_failures += metrics.failure_count;
            summary.total_duration_ms += metrics.total_duration_ms;
            summary.tools_used += 1;
        }
        summary.success_rate = rate(summary.total_success, summary.total_calls);
        self
    }
}

fn rate(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * to_float(part) / to_float(whole) }
}

#[expect(clippy::cast_precision_loss, reason = "counts and milliseconds stay far below 2^53")]
fn to_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::samples;

    #[test]
    fn tool_runs_are_counted() {
        let statistics = ToolStatistics::of_events(&samples::conversation());
        insta::assert_json_snapshot!(statistics, @r#"
        {
          "tools": {
            "Bash": {
              "call_count": 1,
              "success_count": 0,
              "failure_count": 1,
              "total_duration_ms": 1200.0,
              "average_duration_ms": 1200.0,
              "success_rate": 0.0,
              "last_used": "2026-11-15T00:00:09Z"
            }
          },
          "summary": {
            "total_calls": 1,
            "total_success": 0,
            "total_failures": 1,
            "success_rate": 0.0,
            "total_duration_ms": 1200.0,
            "tools_used": 1
          }
        }
        "#);
    }

    #[test]
    fn no_runs_give_zeros_and_not_errors() {
        let empty = ToolStatistics::of_events(&[]);
        assert_eq!(empty, ToolStatistics::default());
        assert!(serde_json::to_string(&empty).unwrap().contains("\"success_rate\":0.0"));
    }

    #[test]
    fn log_statistics_tolerate_invalid_lines() {
        let lines = [
            json!({"event_type": "tool_result", "tool_name": "Read", "success": true}),
            json!({"event_type": "tool_result", "tool_name": "Read", "success": false,
                "duration_ms": 3, "timestamp": "2026-01-01T00:00:00"}),
            json!({"event_type": "tool_result", "tool_name": "Read", "outcome": "denied"}),
            json!({"event_type": "tool_call", "tool_name": "Read"}),
            json!([]),
        ];
        let statistics = ToolStatistics::of_log(&lines);
        let read = &statistics.tools["Read"];
        assert_eq!((read.call_count, read.success_count, read.failure_count), (2, 1, 1));
        assert_eq!(read.last_used.as_deref(), Some("2026-01-01T00:00:00"));
        assert!((read.success_rate - 50.0).abs() < f64::EPSILON);
        assert!((read.average_duration_ms - 1.5).abs() < f64::EPSILON);
    }
}
