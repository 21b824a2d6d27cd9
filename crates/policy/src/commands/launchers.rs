//! Programs that nobody knows and that are given the words of a denied command: they may run it, as
//! wrappers do. Sees too many rather than too few; never used to allow.

use std::collections::HashMap;

use contract::policy::Decision;

use super::writes;
use crate::call::Call;
use crate::findings::{FLOOR, Finding, Lift, ask};
use crate::floor::shown;
use crate::programs;
use crate::rules::{CommandPattern, Target};
use crate::shell::{Fit, Found, Piece, Survey, base_name, wrappers};

/// In one command so many places where a denied command could begin are looked at.
const PLACES: usize = 16;

/// Programs whose first operand is often the name of a program that they do not run.
const ORDINARY: &str = "\
    alias apropos asdf cd chdir clear code complete export file git groups hash help info just kill killall \
    let local make man mapfile mkdir pgrep pidof pkill popd pushd read readonly service set snap \
    systemctl task tldr touch type typeset unalias unset whatis whereis which who";

/// Tools whose first operand is a command of their own, such as `rm`, and not a program.
const TOOLS: &str = "\
    apk apt apt-get aws az brew bzr cargo composer conda crictl ctr dnf dvc flatpak gcloud gem gh git-lfs glab \
    gradle helm hg jj kubectl minikube mvn n nerdctl npm ollama pacman pip pip3 pnpm poetry rake rclone rustup \
    sl svn terraform vagrant virsh yarn yum zypper";

/// A command that is denied, and why.
struct Denied {
    pattern: CommandPattern,
    why: String,
}

/// The question about the first such command.
pub(super) fn launched(call: &Call<'_>, survey: &Survey) -> Option<Finding> {
    let mut denied: HashMap<String, Vec<Denied>> = HashMap::new();
    let mut add = |pattern: CommandPattern, why: String| {
        let name = base_name(pattern.program()).to_ascii_lowercase();
        denied.entry(name).or_default().push(Denied { pattern, why });
    };
    for rule in call.rules_that(Decision::Deny) {
        if let Target::Command(pattern) = &rule.matcher.target {
            add(pattern.clone(), rule.why());
        }
    }
    let shell = call.shell.iter().flat_map(|shell| &shell.blocked_commands);
    for text in call.settings.blocked_commands.iter().chain(shell) {
        if let Ok(pattern) = CommandPattern::parse_prefix(text) {
            add(pattern, format!("`{text}` is blocked"));
        }
    }
    if denied.is_empty() {
        return None;
    }
    survey.commands.iter().filter(|found| could_launch(found)).find_map(|found| {
        let args = found.argv().get(1..).unwrap_or_default();
        let named = args.iter().enumerate().filter_map(|(at, word)| {
            let name = base_name(&word.text);
            let is_lower = !name.bytes().any(|byte| byte.is_ascii_uppercase());
            let known =
                if is_lower { denied.get(name) } else { denied.get(&name.to_ascii_lowercase()) };
            Some((at, known?))
        });
        let is_own = |at: usize| is_tool(found) && !args[..at].iter().any(is_operand);
        let named = named.filter(|(at, _)| !is_own(*at));
        let (at, hit) = named.take(PLACES).find_map(|(at, known)| {
            let hit = known.iter().find(|denied| denied.pattern.is_given_at(args, at))?;
            Some((at, hit))
        })?;
        if !is_unknown(found) {
            return None;
        }
        let why = format!("nobody knows what it does with what is denied ({})", hit.why);
        let subject = format!("{} .. {}", shown(&found.argv()[..1]), shown(&args[at..]));
        Some(ask(&subject, &why, FLOOR).lifted_by(Lift::Never))
    })
}

/// Whether the survey leaves open what a command runs: of wrappers and shells it knows. Quick to tell,
/// since long texts have many commands.
fn could_launch(found: &Found) -> bool {
    let name = found.argv().first().map_or("", |program| base_name(&program.text));
    found.fit == Fit::Exact
        && !name.is_empty()
        && wrappers::find(name).is_none()
        && !wrappers::is_shell(name)
        && !wrappers::launches(name)
        && !wrappers::embeds(name)
}

/// Whether the first operand of a command is the tool's own.
fn is_tool(found: &Found) -> bool {
    let name = found.argv().first().map_or("", |program| base_name(&program.text));
    TOOLS.split(' ').any(|known| known == name)
}

fn is_operand(word: &Piece) -> bool {
    !word.text.starts_with('-')
}

/// Whether nothing is known of the program of such a command. What an interpreter runs, nobody knows.
fn is_unknown(found: &Found) -> bool {
    let name = found.argv().first().map_or("", |program| base_name(&program.text));
    !(ORDINARY.split(' ').any(|known| known == name)
        || writes::is_known(name)
        || programs::is_known(name))
}
