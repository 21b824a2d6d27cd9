//! Clipboards that a terminal does not reach by itself: that of tmux, which keeps what programs send
//! to its terminal to itself, and that of the desktop, which some terminals keep programs from.

use crate::assemble::run_context::RunContext;
use crate::environment::Environment;

/// Puts a text there. Nobody is told where there is none: the terminal has been given it too.
pub(super) fn put(run: &RunContext, text: &str) {
    let environment = &run.environment;
    let ways = ways(environment);
    let takes = |(program, args): &Way| {
        let fed = sandbox::feed(program, args, &environment.cwd, text.as_bytes());
        fed.is_ok_and(|is_taken| is_taken)
    };
    ways.iter().any(takes);
}

/// A program that takes a text, with its arguments.
type Way = (&'static str, &'static [&'static str]);

/// The programs that may take a text, the best first.
fn ways(environment: &Environment) -> &'static [Way] {
    let has = |name: &str| environment.variable(name).is_some_and(|value| !value.is_empty());
    if has("TMUX") {
        // An old one does not pass it on to its terminal.
        return &[("tmux", &["load-buffer", "-w", "-"]), ("tmux", &["load-buffer", "-"])];
    }
    // The desktop of this machine is not the one that the user sits at.
    if has("SSH_CONNECTION") || has("SSH_TTY") {
        return &[];
    }
    if cfg!(target_os = "macos") {
        &[("pbcopy", &[])]
    } else if has("WAYLAND_DISPLAY") {
        &[("wl-copy", &[])]
    } else if has("DISPLAY") {
        &[("xclip", &["-selection", "clipboard"]), ("xsel", &["-ib"])]
    } else {
        &[]
    }
}
