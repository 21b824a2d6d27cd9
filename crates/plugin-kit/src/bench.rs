//! The cost of the tools of a plugin, as ratios to a bare process of the same interpreter. Measures
//! bare processes; the binary starts the plugin and times its calls.

pub mod measurement;
pub mod process;
mod reference;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

/// A figure of a tool beside that of a bare process, in milliseconds or megabytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub value: f64,
    /// None if there is no process to compare with.
    pub bare: Option<f64>,
}

/// The figures of one tool.
#[derive(Debug)]
pub struct ToolFigures {
    pub name: String,
    pub program: Option<PathBuf>,
    /// The commands that it is compared with.
    pub compared_with: Option<String>,
    pub start: Figure,
    pub first_call: Figure,
    pub warm_call: Figure,
    pub memory: Option<Figure>,
}

/// The figures of a plugin.
#[derive(Debug, Default)]
pub struct BenchReport {
    pub tools: Vec<ToolFigures>,
    /// Names of tools that were not measured, with the reason.
    pub skipped: Vec<(String, String)>,
}

impl Figure {
    fn of_times(times: &[Duration], bare: &[Duration]) -> Self {
        Self { value: median(times).unwrap_or_default(), bare: median(bare) }
    }

    fn ratio(&self) -> Option<f64> {
        self.bare.filter(|bare| *bare > 0.0).map(|bare| self.value / bare)
    }

    fn text(&self, unit: &str) -> String {
        let mut text = format!("{} {unit}", rounded(self.value));
        if let Some(ratio) = self.ratio() {
            let _ = write!(text, " ({ratio:.1}x)");
        }
        text
    }

    fn to_json(self) -> Value {
        json!({"value": self.value, "bare": self.bare, "ratio": self.ratio()})
    }
}

impl BenchReport {
    pub const TITLES: [&str; 5] = ["TOOL", "START", "FIRST CALL", "WARM CALL", "MEMORY"];

    /// The rows of the table, one for each tool.
    pub fn rows(&self) -> Vec<[String; 5]> {
        let row = |tool: &ToolFigures| {
            let memory = tool.memory.map_or_else(|| "-".to_owned(), |it| it.text("MB"));
            let times = [tool.start, tool.first_call, tool.warm_call].map(|it| it.text("ms"));
            let [start, first_call, warm_call] = times;
            [tool.name.clone(), start, first_call, warm_call, memory]
        };
        self.tools.iter().map(row).collect()
    }

    /// The lines below the table: the meaning of the ratios, and the skipped tools.
    pub fn notes(&self) -> String {
        let mut notes = String::new();
        let commands: BTreeSet<&str> =
            self.tools.iter().filter_map(|it| it.compared_with.as_deref()).collect();
        for command in commands {
            let _ = writeln!(notes, "x: times {command}");
        }
        for tool in self.tools.iter().filter(|it| it.compared_with.is_none()) {
            let _ =
                writeln!(notes, "{}: none of its processes was found for comparison", tool.name);
        }
        for (name, reason) in &self.skipped {
            let _ = writeln!(notes, "skipped {name}: {}", reason.replace('\n', "\n    "));
        }
        notes
    }

    pub fn to_json(&self, plugin: &str) -> Value {
        let tool = |it: &ToolFigures| {
            json!({
                "name": it.name,
                "program": it.program,
                "compared_with": it.compared_with,
                "start_ms": it.start.to_json(),
                "first_call_ms": it.first_call.to_json(),
                "warm_call_ms": it.warm_call.to_json(),
                "memory_mb": it.memory.map(Figure::to_json),
            })
        };
        let skipped = |(name, reason): &(String, String)| json!({"name": name, "reason": reason});
        json!({
            "path": plugin,
            "tools": self.tools.iter().map(tool).collect::<Vec<_>>(),
            "skipped": self.skipped.iter().map(skipped).collect::<Vec<_>>(),
        })
    }
}

/// The median in milliseconds.
fn median(times: &[Duration]) -> Option<f64> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).map(|time| time.as_secs_f64() * 1000.0)
}

/// A number with about two significant digits.
fn rounded(value: f64) -> String {
    let digits = if value < 1.0 { 3 } else { usize::from(value < 10.0) };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_shows_ratios_and_skipped_tools() {
        let times = [3, 1, 2].map(Duration::from_millis);
        let start = Figure::of_times(&times, &[Duration::from_millis(1)]);
        assert_eq!(start, Figure { value: 2.0, bare: Some(1.0) });
        let tool = ToolFigures {
            name: "a".to_owned(),
            program: None,
            compared_with: Some("`true`".to_owned()),
            start,
            first_call: Figure { value: 70.4, bare: None },
            warm_call: Figure { value: 0.0412, bare: Some(0.04) },
            memory: None,
        };
        let skipped = vec![("b".to_owned(), "no example".to_owned())];
        let report = BenchReport { tools: vec![tool], skipped };
        let row = ["a", "2.0 ms (2.0x)", "70 ms", "0.041 ms (1.0x)", "-"];
        assert_eq!(report.rows(), [row.map(str::to_owned)]);
        assert_eq!(report.notes(), "x: times `true`\nskipped b: no example\n");
        assert_eq!(report.to_json("p")["tools"][0]["start_ms"]["ratio"], 2.0);
    }
}
