//! The screen of an empty conversation: where the program runs, with which rights, and what can be
//! resumed.

use ratatui_core::layout::{Position, Rect};

use super::App;
use crate::canvas::Canvas;
use crate::keymap::Action;
use crate::text::{clipped, columns, narrow, one_line};
use crate::theme::Role;

impl App {
    pub(super) fn draw_welcome(&self, area: Rect, canvas: &mut Canvas<'_>) {
        let width = usize::from(area.width);
        let mut lines = self.surroundings();
        lines.extend(self.recent_sessions(width));
        let keys = [(Role::Soft, String::new()), (Role::Soft, self.first_keys())];
        // The keys are the last to go on a low screen.
        let room = usize::from(area.height).saturating_sub(2);
        lines.truncate(room.saturating_sub(keys.len()));
        lines.extend(keys);
        lines.truncate(room);
        // The heading keeps its place when more becomes known.
        let top = area.y + (area.height / 6).min(area.height.saturating_sub(narrow(lines.len())));
        for (y, (role, line)) in (top..).zip(lines) {
            let line = clipped(&line, width);
            let x = area.x + (area.width - narrow(columns(&line))) / 2;
            canvas.text(Position { x, y }, &line, role, area.width);
        }
    }

    fn surroundings(&self) -> Vec<(Role, String)> {
        let (status, facts) = (&self.status, &self.status.facts);
        let name = format!("Brynhild {}", self.settings.version);
        let mut lines = vec![(Role::Heading, name.trim_end().to_owned())];
        if !facts.directory.is_empty() {
            let branch = facts.branch.as_ref().map(|branch| format!(" · {branch}"));
            let place = format!("{}{}", facts.directory, branch.unwrap_or_default());
            lines.push((Role::Text, one_line(&place)));
        }
        if !status.model.is_empty() {
            lines.push((Role::Text, status.model.clone()));
        }
        let (mode, sandbox) = (status.mode, facts.confinement.description(status.mode));
        if let Some(sandbox) = sandbox {
            lines.push((Role::Soft, String::new()));
            lines.push((Role::Soft, format!("{} mode: {}", mode.as_str(), mode.summary())));
            lines.push((Role::Soft, sandbox));
        }
        lines
    }

    /// The sessions that can be resumed, with their ages in a column.
    fn recent_sessions(&self, width: usize) -> Vec<(Role, String)> {
        let recent = &self.status.facts.recent;
        if recent.is_empty() {
            return Vec::new();
        }
        let widest = |texts: &mut dyn Iterator<Item = &String>| texts.map(|it| columns(it)).max();
        let age_width = widest(&mut recent.iter().map(|it| &it.age)).unwrap_or_default();
        let titles: Vec<String> = recent.iter().map(|it| one_line(&it.title)).collect();
        let title_width = widest(&mut titles.iter()).unwrap_or_default();
        let title_width = title_width.min(width.saturating_sub(age_width + 2));
        let row = |(title, age): (String, &str)| {
            let title = clipped(&title, title_width);
            let gap = title_width - columns(&title) + age_width - columns(age) + 2;
            (Role::Text, format!("{title}{}{age}", " ".repeat(gap)))
        };
        let key = self.keymap.hint(Action::Sessions);
        let heading = format!("Recent sessions here ({key} to resume)");
        let rows = titles.into_iter().zip(recent.iter().map(|it| it.age.as_str())).map(row);
        [(Role::Soft, String::new()), (Role::Soft, heading)].into_iter().chain(rows).collect()
    }

    fn first_keys(&self) -> String {
        let hint = |action: Action| self.keymap.hint(action);
        let leader = self.keymap.leader().map_or_else(String::new, |it| format!(" · {it} keys"));
        let (send, help) = (hint(Action::Send), hint(Action::Help));
        format!("{help} help · / command · @ file · ! shell{leader} · {send} send")
    }
}
