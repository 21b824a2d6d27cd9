//! The line that shows progress, and questions while the whole screen is in use.

pub use line_ui::status_line::StatusLinePause;
pub use tui::inquiries::{ask_on_screen, is_full_screen, take_screen};
