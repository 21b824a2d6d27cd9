//! Output of commands: data on standard output, messages on standard error.

pub(crate) mod question;
pub(crate) mod status_line;

use std::borrow::Cow;
use std::io::{self, Write};

use contract::text::{escaped, is_hidden, visible};
pub(crate) use line_ui::output::{
    EscapingWriter, error, fields, hint, json, line, note, plugin, quiet, report_to, table, text,
    titled_table, warning,
};
pub(crate) use line_ui::style;

/// An answer with control characters made visible. As prose it keeps joiners of letters and emoji.
pub(crate) fn answer(text: &str) -> Cow<'_, str> {
    escaped(text, plugins::hidden::places(text))
}

/// Prints an error in the command line, or the help.
pub(crate) fn usage(error: &clap::Error) {
    let plain = error.render().to_string();
    // Colors are kept if the text has no hidden characters. A closed output is ignored.
    let _ = if error.use_stderr() && plain.contains(is_hidden) {
        write!(io::stderr().lock(), "{}", visible(&plain))
    } else {
        error.print()
    };
}

/// Warns about problems with files.
pub(crate) fn problems(problems: &[plugins::problem::Problem]) {
    for problem in problems {
        warning(&format!("{problem} ({})", problem.hint));
    }
}
