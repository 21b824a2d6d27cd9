//! The words for the reasons of a ruling.

use contract::policy::{Reason, Ruling};
use contract::text::head;

/// The reasons that decided, each once; of very many the first few.
pub(crate) fn why(ruling: &Ruling) -> String {
    const TOLD: usize = 12;
    let deciding = || ruling.reasons.iter().filter(|reason| reason.decision == ruling.decision);
    let first = deciding().next().map(|reason| &reason.subject);
    let is_of_parts = deciding().any(|reason| Some(&reason.subject) != first);
    let mut told: Vec<String> = Vec::new();
    for reason in deciding() {
        let words = format!("{} ({})", reason.why, reason.origin);
        let words = if is_of_parts { format!("`{}`: {words}", part(reason)) } else { words };
        if !told.contains(&words) {
            told.push(words);
        }
    }
    if told.len() > TOLD {
        let more = told.len() - TOLD;
        told.truncate(TOLD);
        told.push(format!("and {more} more"));
    }
    if told.is_empty() { "no rule allows it".to_owned() } else { told.join("; ") }
}

fn part(reason: &Reason) -> String {
    let shown = head(&reason.subject, 60);
    if shown.len() < reason.subject.len() { format!("{shown}…") } else { shown.to_owned() }
}

/// The reasons for a question; empty if the mode alone asks, which the user knows.
pub(crate) fn asked_because(ruling: &Ruling) -> String {
    let mut words: Vec<String> = Vec::new();
    for reason in ruling.reasons.iter().filter(|reason| reason.decision == ruling.decision) {
        let text = match reason.origin.as_str() {
            "mode" => continue,
            "built-in" | "destructive" => reason.why.clone(),
            origin => format!("{} ({origin})", reason.why),
        };
        if !words.contains(&text) {
            words.push(text);
        }
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use contract::policy::Decision;
    use contract::sandbox::Access;

    use super::*;

    #[test]
    fn question_names_the_origin_of_rules_only() {
        let reason = |why: &str, origin: &str| Reason {
            decision: Decision::Ask,
            subject: "x".to_owned(),
            why: why.to_owned(),
            origin: origin.to_owned(),
        };
        let reasons = vec![
            reason("connects to a.example", "mode"),
            reason("`git clean -f` is destructive", "destructive"),
            reason("matches `Bash(git:*)`", "config.yaml"),
        ];
        let access = Access::Workspace;
        let ruling = Ruling { decision: Decision::Ask, reasons, access, destructive: true };
        let words = "`git clean -f` is destructive; matches `Bash(git:*)` (config.yaml)";
        assert_eq!(asked_because(&ruling), words);
    }
}
