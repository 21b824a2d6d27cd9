//! Keys of LMAO manifests that other tools do not have.

use std::collections::BTreeMap;

use contract::hook::Moment;
use contract::policy::Mode;
use serde::Deserialize;
use serde_json::Value;

use crate::plugin::ReportLine;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Facts {
    pub(super) tools: BTreeMap<String, ToolFacts>,
    #[serde(deserialize_with = "moments")]
    pub(super) moments: Vec<Moment>,
    /// The files whose hooks these are, each with its moments.
    pub(super) guards: BTreeMap<String, Vec<String>>,
    /// The files that could not be loaded; none where not even that is known.
    pub(super) unloaded: Option<Vec<String>>,
    hooks: Vec<String>,
    unheard: Vec<String>,
}

#[expect(clippy::struct_excessive_bools, reason = "manifests say it in switches")]
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolFacts {
    pub(super) file: String,
    pub(super) is_destructive: bool,
    pub(super) allow_in_read_only: bool,
    pub(super) allow_in_normal: bool,
    pub(super) always_confirm: bool,
    pub(super) visible_to_agent: bool,
}

impl Facts {
    pub(super) fn read(offer: &Value) -> Self {
        offer.get("lmao").and_then(|facts| Self::deserialize(facts).ok()).unwrap_or_default()
    }

    pub(super) fn summary(&self) -> Vec<ReportLine> {
        let mut lines = Vec::new();
        if !self.hooks.is_empty() {
            let line = format!("hooks of this directory: {}", self.hooks.join(", "));
            lines.push(ReportLine::Note(line));
        }
        if !self.unheard.is_empty() {
            let line = format!("ignored: nothing here asks hooks of {}", self.unheard.join(", "));
            lines.push(ReportLine::Ignored(line));
        }
        lines
    }
}

impl ToolFacts {
    pub(super) fn is_allowed(&self, mode: Mode) -> bool {
        match mode {
            Mode::ReadOnly => self.allow_in_read_only,
            Mode::Ask | Mode::Normal => self.allow_in_normal,
            Mode::Yolo => true,
        }
    }

    pub(super) fn summary(&self) -> String {
        if !self.visible_to_agent {
            return String::from("hidden from models, for other plugins only");
        }
        let modes: Vec<&str> =
            Mode::ALL.into_iter().filter(|&mode| self.is_allowed(mode)).map(Mode::as_str).collect();
        let change = if self.is_destructive { ", changes things" } else { "" };
        let ask = if self.always_confirm { ", each run is asked about" } else { "" };
        format!("in {}{change}{ask}", modes.join(", "))
    }
}

fn moments<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Moment>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let moment = |name: &String| match name.as_str() {
        "before_tool" => Some(Moment::BeforeTool),
        "after_tool" => Some(Moment::AfterTool),
        "before_send" => Some(Moment::BeforeSend),
        "after_reply" => Some(Moment::AfterReply),
        "occasion" => Some(Moment::Notification),
        "before_compact" => Some(Moment::BeforeCompact),
        _ => None,
    };
    Ok(names.iter().filter_map(moment).collect())
}
