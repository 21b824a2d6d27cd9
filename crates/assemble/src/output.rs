//! Output of commands: data on standard output, messages on standard error.

use std::borrow::Cow;

use contract::text::escaped;
pub use line_ui::output::{
    EscapingWriter, error, fields, hint, json, line, note, plugin, quiet, report_to, table, text,
    titled_table, warning,
};
pub use line_ui::style;

/// An answer with control characters made visible. As prose it keeps joiners of letters and emoji.
pub fn answer(text: &str) -> Cow<'_, str> {
    escaped(text, plugins::hidden::places(text))
}

/// Warns about problems with files.
pub fn problems(problems: &[plugins::problem::Problem]) {
    for problem in problems {
        warning(&format!("{problem} ({})", problem.hint));
    }
}
