//! The line that shows progress, and questions while the whole screen is in use.

pub(crate) use line_ui::status_line::StatusLinePause;
pub(crate) use tui::inquiries::{ask_on_screen, is_full_screen, take_screen};
