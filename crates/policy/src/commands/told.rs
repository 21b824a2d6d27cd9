//! Programs that open files whose names stand in a file: which they are nobody has seen, so that they may be
//! what a rule speaks of. Sees too many rather than too few; never used to allow.

use super::sweep::{done_by, has_rules_about, sweeps_folders};
use super::writes;
use crate::call::Call;
use crate::findings::{FLOOR, Finding, Lift, ask};
use crate::floor::shown;
use crate::programs::{self, Knowledge};
use crate::rules::Touch;
use crate::shell::{Fit, Found, NAME, Piece, Survey, Word, base_name};

/// Options by which programs take the names of files out of a file.
const LISTS: &[&str] = &["--files-from", "--files0-from"];

/// The question about such a program, where rules deny what it could do or ask about it.
pub(super) fn told_by_files(call: &Call<'_>, survey: &Survey) -> Option<Finding> {
    let is_ruled = |touch: &Touch| has_rules_about(call, *touch);
    let given = survey.told.iter().filter(|words| opened(words).as_ref().is_some_and(is_ruled));
    let given = given.map(|words| shown(words).replace(NAME, ".."));
    let takes = |words: &&[Piece]| takes_list(words) && has_rules_about(call, Touch::Read);
    let commands = survey.commands.iter().filter(|found| found.fit == Fit::Exact);
    let taking = commands.map(Found::argv).filter(takes).map(shown);
    let subject = given.chain(taking).min()?;
    let why = "it takes names of files out of a file, and rules deny files or ask about them";
    Some(ask(&subject, why, FLOOR).lifted_by(Lift::Never))
}

/// Whether a program is told by an option to take names out of a file.
fn takes_list(words: &[Piece]) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    let is_tar = matches!(base_name(&program.text), "tar" | "gtar" | "bsdtar");
    let is_list = |word: &Piece| {
        let text = word.text.as_str();
        LISTS.iter().any(|option| text.starts_with(option)) || (is_tar && text.starts_with("-T"))
    };
    args.iter().any(is_list)
}

/// What a program does to a file of this name; none where it is no file to it, or nobody knows.
fn opened(words: &[Piece]) -> Option<Touch> {
    let name = words.first().map_or("", |program| base_name(&program.text));
    if writes::is_known(name) || matches!(name, "<" | ">") {
        return done_by(words);
    }
    let word = |piece: &Piece| Word {
        text: piece.text.clone(),
        range: 0..0,
        glob: piece.glob,
        quoted: false,
    };
    let checked: Vec<Word> = words.iter().map(word).collect();
    match programs::check(&checked) {
        _ if name == "git" => None,
        Knowledge::Checked { outcome: Ok(looked), .. } => {
            looked.contents.iter().any(|it| it.text == NAME).then_some(Touch::Read)
        }
        Knowledge::Checked { outcome: Err(_), .. } => done_by(words),
        Knowledge::Unknown => sweeps_folders(name).then_some(Touch::Read),
    }
}
