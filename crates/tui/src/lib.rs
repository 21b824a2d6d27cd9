//! The interactive terminal: folds the event stream into a screen. Sees `contract` alone.
//!
//! The middle is pure. [`App`] is the state; `update` takes a [`message::Message`] (a key, an event,
//! an answer, a tick) and returns [`message::Effect`]s; `draw` paints. Time comes in with messages, so
//! a test is events in, screen out. Around it:
//!
//! - [`Screen`] takes the terminal and gives it back, whatever happens; `input` decodes its bytes.
//! - [`run()`] is the loop: keys first, frames at most sixty times a second, nothing while idle.
//! - [`host`] is the trait through which the interface uses the program around it.
//!
//! [`line`] reads lines for `--plain`, with the composer's keys; [`prose`] shows Markdown there.
//! [`user_command`] is the meaning of lines that begin with `!`, [`slash`] of those that begin with `/`.
//! [`permission`] is the text of a question about a call, [`question`] asks it line by line, and
//! [`masks`] makes deceptive characters visible; all are for every front end.
//!
//! Inside, each part is a module: `transcript` (blocks, laid out only where they are seen),
//! `markdown`, `highlight`, `diff`, `composer` (text, completion, history, vi), `layers` (dialogs and
//! pickers, topmost first), `keymap` (the one table of actions), `theme`, `status`. Text from outside
//! is made safe once: where events are folded (`transcript/fold.rs`) and where answers arrive.

mod ansi;
mod app;
mod ask;
mod canvas;
pub mod clipboard;
mod composer;
pub mod console;
mod diff;
mod fuzzy;
mod highlight;
pub mod host;
pub mod input;
pub mod inquiries;
pub mod key;
pub mod keymap;
mod layers;
pub mod line;
mod link;
mod markdown;
pub mod masks;
pub mod message;
pub mod permission;
pub mod picture;
pub mod prompt_source;
pub mod prose;
pub mod question;
pub mod requests;
pub mod role_line;
mod run;
mod screen;
pub mod slash;
mod slice;
mod status;
pub mod store;
pub mod text;
pub mod theme;
mod transcript;
pub mod user_command;

pub use app::{App, Settings};
pub use ask::ask;
pub use link::takes_links;
pub use run::{Link, run};
pub use screen::{Screen, ScreenOptions, fatal_signals};
