//! Chooses one answer among several.

use crate::compose::Vote;
use crate::evals;
use crate::member_run::MemberRuns;
use crate::role::Role;

impl Vote {
    /// The place of the best answer to a task; the first of equal ones.
    pub(crate) async fn winner(
        &self,
        task: &str,
        answers: &[&str],
        (runs, lead): (&MemberRuns<'_>, &Role),
    ) -> Result<usize, String> {
        let scores = match self {
            Self::Majority => by_text(answers, &vec![1.0; answers.len()]),
            Self::Weighted(weights) => by_text(answers, weights),
            Self::Judge { model, criteria } => {
                let mut judge = lead.clone();
                judge.model = model.clone().unwrap_or(judge.model);
                judge.model.temperature = Some(0.0);
                let mut scores = Vec::new();
                for answer in answers {
                    let prompt = evals::judge_prompt(task, answer, criteria);
                    let run = runs.run("judge", &judge, &prompt).await;
                    if let Some(error) = run.error {
                        return Err(format!("the judge did not answer: {error}"));
                    }
                    let passed = evals::passed_criteria(&run.output, criteria);
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
