//! The result of delegated work for the model: the agent's last words, and why there are no better
//! ones.

use contract::event::Outcome;
use contract::message::{StopReason, Usage};
use contract::text::head;
use contract::tool::{ToolError, ToolOutput};
use serde_json::json;

const MAX_REFUSALS: usize = 5;
const MAX_REFUSAL_CHARS: usize = 300;

/// The result of a call that delegated work to `agent`: its last words, and the calls that were not
/// permitted.
pub fn report(
    agent: &str,
    outcome: Outcome,
    (words, refused): (String, &[String]),
    usage: &Usage,
) -> Result<ToolOutput, ToolError> {
    let partial = |why: String| ToolOutput { output: words.clone(), ..ToolOutput::failure(why) };
    let mut output = match outcome {
        Outcome::Cancelled => return Err(ToolError::Cancelled),
        Outcome::Answered { .. } if words.trim().is_empty() => {
            ToolOutput::failure(format!("the agent {agent} ended without an answer"))
        }
        Outcome::Answered { stop_reason: StopReason::MaxTokens } => {
            ToolOutput::success(format!("{words}\n\n[its last message is truncated here]"))
        }
        Outcome::Answered { .. } => ToolOutput::success(words),
        Outcome::Finished(finish) => {
            let mut text = finish.summary;
            if let Some(next) = finish.next_steps {
                text.push_str("\n\nNext steps: ");
                text.push_str(&next);
            }
            if finish.status.is_failure() {
                let status = finish.status.as_str();
                let error = format!("the agent {agent} says that the task is {status}");
                ToolOutput { output: text, ..ToolOutput::failure(error) }
            } else {
                ToolOutput::success(text)
            }
        }
        Outcome::Limited { told, .. } => {
            partial(format!("the agent {agent} was stopped: a limit was reached: {told}"))
        }
        Outcome::Stuck { why } => {
            partial(format!("the agent {agent} was stopped: it repeated itself: {why}"))
        }
        Outcome::Blocked { hook, reason } => {
            partial(format!("the agent {agent} was stopped by hook {hook}: {reason}"))
        }
        Outcome::Failed { error, hint } => {
            let hint = hint.map_or_else(String::new, |hint| format!(" ({hint})"));
            partial(format!("the agent {agent} failed: {error}{hint}"))
        }
    };
    if let Some(note) = refusals(refused) {
        let gap = if output.output.is_empty() { "" } else { "\n\n" };
        output.output = format!("{}{gap}{note}", output.output);
    }
    output.facts.insert("agent".to_owned(), json!(agent));
    output.facts.insert("input_tokens".to_owned(), json!(usage.input_tokens));
    output.facts.insert("output_tokens".to_owned(), json!(usage.output_tokens));
    if let Some(cost) = usage.cost_usd {
        output.facts.insert("cost_usd".to_owned(), json!(cost));
    }
    Ok(output)
}

fn refusals(refused: &[String]) -> Option<String> {
    if refused.is_empty() {
        return None;
    }
    let one_line = |text: &String| {
        format!(
            "- {}",
            head(text, MAX_REFUSAL_CHARS).split_whitespace().collect::<Vec<_>>().join(" ")
        )
    };
    let mut lines = vec!["[Calls of this agent that were not permitted:".to_owned()];
    lines.extend(refused.iter().take(MAX_REFUSALS).map(one_line));
    let more = refused.len().saturating_sub(MAX_REFUSALS);
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    Some(format!("{}]", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use contract::tool::{Finish, FinishStatus};

    use super::*;

    fn told(outcome: Outcome, words: &str) -> ToolOutput {
        report("scout", outcome, (words.into(), &[]), &Usage::default()).unwrap()
    }

    #[test]
    fn every_end_reason_is_reported() {
        let answered = || Outcome::Answered { stop_reason: StopReason::EndTurn };
        assert_eq!(told(answered(), "found").for_model(), "found");
        assert!(!told(answered(), " ").success);
        let limit = Outcome::Limited {
            limit: "max_turns".into(),
            value: 2.into(),
            told: "maxTurns (2)".into(),
        };
        let limited = told(limit, "half");
        assert!(!limited.success);
        assert_eq!(
            limited.for_model(),
            "half\n\nthe agent scout was stopped: a limit was reached: maxTurns (2)"
        );
        let finish = |status| {
            Outcome::Finished(Finish {
                status,
                summary: "sum".into(),
                next_steps: Some("more".into()),
            })
        };
        assert_eq!(told(finish(FinishStatus::Partial), "").for_model(), "sum\n\nNext steps: more");
        assert!(!told(finish(FinishStatus::Blocked), "").success);
    }

    #[test]
    fn denied_actions_are_reported() {
        let outcome = Outcome::Answered { stop_reason: StopReason::EndTurn };
        let refused: Vec<String> = (0..7).map(|number| format!("Bash: no\n{number}")).collect();
        let words = ("tried".to_owned(), refused.as_slice());
        let output = report("scout", outcome, words, &Usage::default()).unwrap();
        assert!(output.output.starts_with("tried\n\n[Calls of this agent"), "{output:?}");
        assert!(output.output.ends_with("- Bash: no 4\n- and 2 more]"), "{output:?}");
    }
}
