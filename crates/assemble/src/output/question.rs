//! Asks on a terminal, line by line, whether a call may run, in the colors of commands.

use std::io;
use std::path::Path;
use std::sync::Arc;

use contract::event::{Answer, Event};
pub use tui::question::{line, show};
use tui::theme::Role;

use super::style::{self, Palette};

/// Asks about the calls of one reply, all at once or one by one. Dropping this gives no answer.
pub async fn ask(
    asked: &[Arc<Event>],
    project: Option<&Path>,
    palette: Palette,
) -> io::Result<Vec<Answer>> {
    tui::question::ask(asked, project, &|role, text| paint(palette, role, text)).await
}

pub fn about(event: &Event, project: Option<&Path>, palette: Palette) -> String {
    tui::question::about(event, project, &|role, text| paint(palette, role, text))
}

fn paint(palette: Palette, role: Role, text: &str) -> String {
    let style = match role {
        Role::Caution => palette.caution,
        Role::Soft => palette.soft,
        Role::Heading => palette.strong,
        Role::Code => palette.code,
        _ => anstyle::Style::new(),
    };
    style::paint(style, text)
}
