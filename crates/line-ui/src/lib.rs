//! The line front end: events of a conversation in, text or JSON out, line by line. Names no tool and
//! no provider; the layout of Markdown and the questions to the user come from the binary.

pub mod exit;
pub mod json;
pub mod lines;
pub mod output;
pub mod panics;
pub mod plain;
pub mod quiet;
pub mod status_line;
pub mod steering;
pub mod stream_json;
pub mod style;
pub mod tee;
pub mod terminal_filter;
pub mod turn;
pub mod verdict;
pub mod view;
