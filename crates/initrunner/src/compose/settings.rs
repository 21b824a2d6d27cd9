//! The settings of teams, of votes, and of the memory that members share.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::role::{Fields, ModelSettings};

const USUAL_HANDOFF: usize = 4000;
const USUAL_ROUNDS: u64 = 3;
const USUAL_CRITERIA: [&str; 3] = ["clarity", "completeness", "accuracy"];

pub struct TeamSettings {
    pub(crate) strategy: TeamStrategy,
    /// Characters of earlier outputs that a member reads, all together.
    pub(crate) handoff_limit: usize,
    pub(crate) token_budget: Option<u64>,
    pub(crate) time: Option<Duration>,
}

pub(crate) enum TeamStrategy {
    Sequential,
    Parallel,
    Debate { rounds: u64, synthesizes: bool },
    Ensemble(Vote),
}

/// The choice of one answer among several.
#[derive(Debug)]
pub(crate) enum Vote {
    Majority,
    /// The weight of each candidate.
    Weighted(Vec<f64>),
    Judge {
        model: Option<Box<ModelSettings>>,
        criteria: Vec<String>,
    },
}

impl TeamSettings {
    /// The value of the key `run`.
    pub fn strategy_name(&self) -> &'static str {
        match self.strategy {
            TeamStrategy::Sequential => "sequential",
            TeamStrategy::Parallel => "parallel",
            TeamStrategy::Debate { .. } => "debate",
            TeamStrategy::Ensemble(_) => "ensemble",
        }
    }

    pub(super) fn read(document: &Map<String, Value>, names: &[&str], fields: &mut Fields) -> Self {
        let run = fields.text(document, "run", "");
        let strategy = match run.as_deref() {
            None | Some("sequential") => TeamStrategy::Sequential,
            Some("parallel") => TeamStrategy::Parallel,
            Some("debate") => debate(document.get("debate"), fields),
            Some("ensemble") => TeamStrategy::Ensemble(Vote::read(
                document.get("ensemble"),
                "ensemble",
                ("team ensemble", names),
                fields,
            )),
            Some(other) => {
                let known = "there are sequential, parallel, debate and ensemble";
                fields.error("run", format!("`{other}` is not known; {known}"));
                TeamStrategy::Sequential
            }
        };
        for key in ["debate", "ensemble"] {
            if document.contains_key(key) && run.as_deref() != Some(key) {
                fields.warning(key, format!("it has no effect without `run: {key}`"));
            }
        }
        let limits = document.get("guardrails").and_then(Value::as_object);
        let (mut token_budget, mut time) = (None, None);
        if let Some(limits) = limits {
            token_budget = fields.count(limits, "guardrails.team_token_budget", (1, u64::MAX));
            time = fields.number(limits, "guardrails.team_timeout_seconds", (0.001, 1e9));
        }
        Self {
            strategy,
            handoff_limit: fields.size(document, "handoff_max_chars").unwrap_or(USUAL_HANDOFF),
            token_budget,
            time: time.map(Duration::from_secs_f64),
        }
    }
}

fn debate(value: Option<&Value>, fields: &mut Fields) -> TeamStrategy {
    let Some(debate) = fields.mapping(value, "debate") else {
        return TeamStrategy::Debate { rounds: USUAL_ROUNDS, synthesizes: true };
    };
    fields.warn_unknown(debate, "debate", &["max_rounds", "synthesize"]);
    TeamStrategy::Debate {
        rounds: fields.count(debate, "debate.max_rounds", (2, 10)).unwrap_or(USUAL_ROUNDS),
        synthesizes: fields.flag(debate, "debate.synthesize", true),
    }
}

impl Vote {
    /// Reads a vote among candidates; `owner` begins its messages.
    pub(super) fn read(
        value: Option<&Value>,
        path: &str,
        (owner, names): (&str, &[&str]),
        fields: &mut Fields,
    ) -> Self {
        let Some(keys) = fields.mapping(value, path) else { return Self::Majority };
        fields.warn_unknown(keys, path, &["mode", "judge_model", "judge_criteria", "weights"]);
        match fields.text(keys, "mode", &format!("{path}.")).as_deref() {
            None | Some("majority") => Self::Majority,
            Some("weighted") => {
                let path = format!("{path}.weights");
                let weights = fields.mapping(keys.get("weights"), &path);
                let Some(weights) = weights.filter(|weights| !weights.is_empty()) else {
                    let needs = "requires a non-empty 'weights' map";
                    fields.error(&path, format!("{owner} mode 'weighted' {needs}"));
                    return Self::Majority;
                };
                for name in weights.keys().filter(|name| !names.contains(&name.as_str())) {
                    fields.error(&format!("{path}.{name}"), "there is no agent of this name");
                }
                let mut weight = |name: &&str| {
                    fields.number(weights, &format!("{path}.{name}"), (0.0, 1e9)).unwrap_or(1.0)
                };
                let weights: Vec<f64> = names.iter().map(&mut weight).collect();
                if weights.iter().all(|weight| *weight <= 0.0) {
                    fields.error(&path, "all weights are zero");
                }
                Self::Weighted(weights)
            }
            Some("judge") => {
                let model = keys.get("judge_model").filter(|model| !model.is_null());
                let criteria = fields.texts(keys, "judge_criteria");
                let usual = || USUAL_CRITERIA.map(str::to_owned).to_vec();
                Self::Judge {
                    model: model.map(|model| Box::new(fields.model(Some(model)))),
                    criteria: if criteria.is_empty() { usual() } else { criteria },
                }
            }
            Some(other) => {
                let known = "there are majority, weighted and judge";
                fields.error(&format!("{path}.mode"), format!("`{other}` is not known; {known}"));
                Self::Majority
            }
        }
    }
}
