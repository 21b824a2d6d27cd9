//! Programs of which single commands are denied, where nobody has seen yet which one they are told: it is what another
//! program prints. Sees too many rather than too few; never used to allow.

use contract::policy::Decision;

use super::sweep::subcommand;
use crate::call::Call;
use crate::findings::{FLOOR, Finding, Lift, ask};
use crate::floor::shown;
use crate::rules::Target;
use crate::shell::{Fit, Found, Piece, Survey, base_name};

/// The question about the first of them.
pub(super) fn unseen(call: &Call<'_>, survey: &Survey) -> Option<Finding> {
    let patterns = call.rules_that(Decision::Deny).filter_map(|rule| match &rule.matcher.target {
        Target::Command(pattern) if pattern.has_subcommand() && pattern.programs().is_none() => {
            Some((base_name(pattern.program()), rule))
        }
        Target::Command(_)
        | Target::Anything
        | Target::AnyCommand
        | Target::Host(_)
        | Target::Path(..)
        | Target::What(_) => None,
    });
    let denied: Vec<(&str, _)> = patterns.collect();
    if denied.is_empty() {
        return None;
    }
    survey.commands.iter().filter(|found| found.fit == Fit::Exact).find_map(|found| {
        let name = told_elsewhere(found)?;
        let (_, rule) = denied.iter().find(|(program, _)| *program == name)?;
        let why = format!("what it is told is not known, and some is denied ({})", rule.why());
        Some(ask(&shown(found.argv()), &why, FLOOR).lifted_by(Lift::Never))
    })
}

/// The program that is told by others what to do.
fn told_elsewhere(found: &Found) -> Option<&str> {
    let (program, args) = found.argv().split_first()?;
    let name = base_name(&program.text);
    if name == "xargs" {
        let last = args.iter().rposition(|word| !is_filled(word))?;
        return Some(base_name(&args[last].text));
    }
    subcommand(name, args).is_some_and(Piece::is_printed).then_some(name)
}

/// Whether `xargs` puts something in the place of a word.
fn is_filled(word: &Piece) -> bool {
    word.text == "{}"
}
