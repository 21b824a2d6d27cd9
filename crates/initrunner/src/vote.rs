//! Chooses one answer among several.

use serde_json::{Value, json};

use crate::compose::Vote;
use crate::evals;
use crate::member_run::{MemberRuns, VoteRecord};
use crate::role::Role;

impl Vote {
    /// The place of the best answer to a task; the first of equal ones.
    pub(crate) async fn winner(
        &self,
        task: &str,
        answers: &[&str],
        (runs, lead): (&MemberRuns<'_>, &Role),
    ) -> Result<usize, String> {
        let mut verdicts = Vec::new();
        let scores = match self {
            Self::Majority => by_text(answers, &vec![1.0; answers.len()]),
            Self::Weighted(weights) => by_text(answers, weights),
            Self::Judge { model, criteria } => {
                let mut judge = lead.clone();
                judge.model = model.as_deref().cloned().unwrap_or(judge.model);
                judge.model.temperature = Some(0.0);
                let mut scores = Vec::new();
                for answer in answers {
                    let prompt = evals::judge_prompt(task, answer, criteria);
                    let run = runs.run("judge", &judge, &prompt).await;
                    if let Some(error) = run.error {
                        return Err(format!("the judge did not answer: {error}"));
                    }
                    let passed = evals::passed_criteria(&run.output, criteria);
                    verdicts.push(evals::verdicts(&run.output));
                    scores.push(u32::try_from(passed).map_or(0.0, f64::from));
                }
                scores
            }
        };
        let mut best = 0;
        for (place, score) in scores.iter().enumerate() {
            if *score > scores[best] {
                best = place;
            }
        }
        let mode = match self {
            Self::Majority => "majority",
            Self::Weighted(_) => "weighted",
            Self::Judge { .. } => "judge",
        };
        runs.votes.borrow_mut().push(VoteRecord {
            task: task.to_owned(),
            winner: answers[best].to_owned(),
            details: json!({"mode": mode, "scores": scores, "winner": best}),
            verdicts: if verdicts.is_empty() { Value::Null } else { verdicts.into() },
        });
        Ok(best)
    }
}

/// For each answer, the weight of all that say the same.
fn by_text(answers: &[&str], weights: &[f64]) -> Vec<f64> {
    let weight = |answer: &&str| {
        let equal = answers.iter().zip(weights).filter(|(other, _)| other.trim() == answer.trim());
        equal.map(|(_, weight)| weight).sum()
    };
    answers.iter().map(weight).collect()
}
