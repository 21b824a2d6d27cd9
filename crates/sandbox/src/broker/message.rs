//! The message of a commit, tidied as git does for one that is given on the command line.

use contract::broker::BrokerError;

const LONGEST: usize = 1 << 20;

/// The message without blanks at line ends, without leading, trailing and repeated empty lines.
pub(crate) fn tidy(message: &str) -> Result<String, BrokerError> {
    let refuse = |why: &str| Err(BrokerError::Refused(why.to_owned()));
    if message.contains('\0') {
        return refuse("the message holds a NUL byte, which no commit can hold");
    }
    if message.len() > LONGEST {
        return refuse("the message is longer than a megabyte");
    }
    let mut tidied = String::with_capacity(message.len() + 1);
    let mut gap = false;
    for line in message.lines().map(str::trim_end) {
        if line.is_empty() {
            gap = !tidied.is_empty();
            continue;
        }
        if std::mem::take(&mut gap) {
            tidied.push('\n');
        }
        tidied.push_str(line);
        tidied.push('\n');
    }
    if tidied.is_empty() {
        return refuse("the message is empty: say what the commit does");
    }
    Ok(tidied)
}

/// Its first line.
pub(crate) fn subject(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_tidied_and_never_empty() {
        assert_eq!(tidy("\n\n one \t\r\n\n\n\n# two\n\n").unwrap(), " one\n\n# two\n");
        for bad in ["", " \n\t\n", "a\0b"] {
            assert!(tidy(bad).is_err(), "{bad:?}");
        }
    }
}
