//! `datetime`: what time it is somewhere, and dates in the words of people as ISO 8601.

use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use jiff::civil::{Date, DateTime};
use jiff::fmt::{rfc2822, strtime};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use serde_json::{Value, json};

use super::options::Options;
use super::{About, Built, ToolHost, text};

const MOMENT: &str = "%Y-%m-%dT%H:%M:%S%:z";
const TOLD: &str = "%Y-%m-%dT%H:%M:%S%:z (%A, %B %d, %Y %I:%M:%S %p %Z)";
const CIVIL: &str = "%Y-%m-%dT%H:%M:%S";

/// Ways of writing a date that are tried in this order, the unambiguous ones first.
const WAYS: &str = "%Y-%m-%d %H:%M:%S|%Y-%m-%d %H:%M|%Y/%m/%d %H:%M:%S|%Y/%m/%d|%Y%m%d|%B %d, %Y|%b %d, %Y|\
    %d %B %Y|%d %b %Y|%B %d %Y|%d.%m.%Y %H:%M|%d.%m.%Y|%m/%d/%Y %H:%M|%m/%d/%Y";

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let zone = options.text("default_timezone")?.unwrap_or("UTC");
    let zone = named(zone).map_err(|what| format!("`default_timezone`: {what}"))?;
    let made = |work, name, description, properties, required| {
        let (kind, risk) = ("datetime", Risk::ReadOnly);
        let about = About { name, description, kind, risk, properties, required };
        Arc::new(Clock { spec: about.spec(tool_host).into(), work, zone: zone.clone() })
            as Arc<dyn Tool>
    };
    Ok(Built::of([
        made(
            Work::Now,
            "current_time",
            "Get the current date and time as ISO 8601.",
            json!({"timezone": {
                "type": "string", "default": "", "description": "Such as Europe/Oslo",
            }}),
            &[],
        ),
        made(
            Work::Parse,
            "parse_date",
            "Turn a date in words or figures into ISO 8601.",
            json!({
                "text": {"type": "string", "description": "The date"},
                "format": {
                    "type": "string", "default": "",
                    "description": "How it is written, such as %d/%m/%Y; guessed where empty",
                },
            }),
            &["text"][..],
        ),
    ]))
}

fn named(zone: &str) -> Result<TimeZone, String> {
    if ["UTC", "Z"].contains(&zone.to_uppercase().as_str()) {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(zone).map_err(|_| format!("Error: invalid timezone '{zone}'"))
}

#[derive(Clone, Copy)]
enum Work {
    Now,
    Parse,
}

struct Clock {
    spec: Arc<ToolSpec>,
    work: Work,
    zone: TimeZone,
}

#[async_trait]
impl Tool for Clock {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _args: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    async fn run(&self, call: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let done = match self.work {
            Work::Now => {
                let zone = match text(&call.args, "timezone") {
                    "" => Ok(self.zone.clone()),
                    name => named(name),
                };
                zone.map(|zone| Timestamp::now().to_zoned(zone).strftime(TOLD).to_string())
            }
            Work::Parse => parsed(text(&call.args, "text").trim(), text(&call.args, "format")),
        };
        Ok(done.map_or_else(ToolOutput::failure, ToolOutput::success))
    }
}

fn parsed(text: &str, format: &str) -> Result<String, String> {
    if !format.is_empty() {
        return by_format(text, format).map_err(|error| {
            format!("Could not parse '{text}' with the format '{format}': {error}")
        });
    }
    let zoned = text.parse::<Zoned>().ok().or_else(|| rfc2822::parse(text).ok());
    if let Some(zoned) = zoned {
        return Ok(zoned.strftime(MOMENT).to_string());
    }
    // A moment keeps the distance that it was written with.
    if text.parse::<Timestamp>().is_ok() {
        for way in ["%Y-%m-%dT%H:%M:%S%.f%:z", "%Y-%m-%d %H:%M:%S%.f%:z", "%Y-%m-%dT%H:%M%:z"] {
            if let Ok(found) = by_format(text, way) {
                return Ok(found);
            }
        }
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment.to_zoned(TimeZone::UTC).strftime(MOMENT).to_string());
    }
    if let Ok(time) = text.parse::<DateTime>() {
        return Ok(time.strftime(CIVIL).to_string());
    }
    if let Ok(date) = text.parse::<Date>() {
        return Ok(DateTime::from(date).strftime(CIVIL).to_string());
    }
    let found = WAYS.split('|').find_map(|way| by_format(text, way).ok());
    found.ok_or_else(|| format!("Could not parse '{text}'; say how it is written with `format`"))
}

fn by_format(text: &str, format: &str) -> Result<String, jiff::Error> {
    let parts = strtime::parse(format, text)?;
    let time = parts.to_datetime().or_else(|_| parts.to_date().map(DateTime::from))?;
    Ok(match parts.offset() {
        Some(offset) => with_offset(time, offset)?,
        None => time.strftime(CIVIL).to_string(),
    })
}

fn with_offset(time: DateTime, offset: Offset) -> Result<String, jiff::Error> {
    let zoned = time.to_zoned(TimeZone::fixed(offset))?;
    Ok(zoned.strftime(MOMENT).to_string())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::fixture;
    use super::*;

    fn tools(entry: &Value) -> Result<Built, String> {
        build(&Options::new(entry.as_object().unwrap()), &fixture::tool_host(Path::new("/")))
    }

    #[tokio::test]
    async fn time_is_shown_in_a_time_zone() {
        let built = tools(&json!({"default_timezone": "Asia/Kolkata"})).unwrap();
        let now = fixture::output(&built.tools[0], json!({})).await;
        assert!(now.contains("+05:30 (") && now.ends_with("M IST)"), "{now}");
        let now = fixture::output(&built.tools[0], json!({"timezone": "UTC"})).await;
        assert!(now.contains("+00:00 ("), "{now}");
        let said = fixture::ran(&built.tools[0], json!({"timezone": "Mars/Base"})).await;
        assert_eq!(said.unwrap_err(), "Error: invalid timezone 'Mars/Base'");
        let wrong = tools(&json!({"default_timezone": "x"})).err().unwrap();
        assert_eq!(wrong, "`default_timezone`: Error: invalid timezone 'x'");
    }

    #[test]
    fn dates_are_parsed_in_common_formats() {
        for (text, wanted) in [
            ("2026-11-15", "2026-11-15T00:00:00"),
            ("2026-11-15T08:30:00", "2026-11-15T08:30:00"),
            ("2026-11-15 08:30", "2026-11-15T08:30:00"),
            ("2026-11-15T08:30:00Z", "2026-11-15T08:30:00+00:00"),
            ("2026-11-15T08:30:00.5+02:00", "2026-11-15T08:30:00+02:00"),
            ("November 15, 2026", "2026-11-15T00:00:00"),
            ("15 Nov 2026", "2026-11-15T00:00:00"),
            ("11/15/2026", "2026-11-15T00:00:00"),
            ("15.11.2026", "2026-11-15T00:00:00"),
            ("Sun, 15 Nov 2026 08:30:00 +0100", "2026-11-15T08:30:00+01:00"),
        ] {
            assert_eq!(parsed(text, "").unwrap(), wanted, "{text}");
        }
        assert_eq!(parsed("15/11/2026", "%d/%m/%Y").unwrap(), "2026-11-15T00:00:00");
        assert!(parsed("soon", "").unwrap_err().starts_with("Could not parse 'soon'"));
        assert!(parsed("x", "%Y").unwrap_err().starts_with("Could not parse 'x' with the format"));
    }
}
