//! Texts in the languages of `sed` and `awk`, and whether they run something.

/// Whether the words of `sed` are none that run something.
pub(super) fn is_sed_inert(texts: &[String]) -> bool {
    let has_option =
        texts.iter().any(|it| it.starts_with("-e") || it.ends_with('e') && it.starts_with('-'));
    let (mut is_script, mut has_script) = (false, has_option);
    let is_inert = texts.iter().all(|text| {
        if is_script || (!has_script && !text.starts_with('-')) {
            (is_script, has_script) = (false, true);
            return is_sed_plain(text);
        }
        is_script = text == "-e";
        let letters = text.strip_prefix('-');
        is_script || letters.is_none_or(|it| it.chars().all(|c| "nErisuz".contains(c)))
    });
    is_inert && has_script
}

/// Whether a script of `sed` is made of commands that run nothing and read no others.
fn is_sed_plain(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        if rest.is_empty() {
            return true;
        }
        let Some(after) = addresses(rest) else { return false };
        rest = after.trim_start_matches([' ', '!']);
        let mut letters = rest.chars();
        let Some(command) = letters.next() else { return false };
        rest = match command {
            'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'l' | 'n' | 'N' | 'p' | 'P' | 'x' | '=' => {
                letters.as_str()
            }
            'q' | 'Q' => letters
                .as_str()
                .trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']),
            's' => {
                let Some(flags) = parted(letters.as_str(), 2) else { return false };
                flags.trim_start_matches(|c: char| "gpiIM".contains(c) || c.is_ascii_digit())
            }
            'y' => match parted(letters.as_str(), 2) {
                Some(rest) => rest,
                None => return false,
            },
            _ => return false,
        };
        let is_ended = rest.trim_start_matches([' ', '\t']).starts_with([';', '}', '\n']);
        if !is_ended && !rest.trim().is_empty() {
            return false;
        }
    }
}

/// What follows the lines that a command is for.
fn addresses(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = match rest.chars().next()? {
            '/' => parted(rest, 1)?.trim_start_matches('I'),
            c if c.is_ascii_digit() || "$+~".contains(c) => &rest[1..],
            ',' => rest[1..].trim_start_matches(' '),
            _ => return Some(rest),
        };
    }
}

/// What follows so many parts that stand between the sign at the start.
fn parted(text: &str, count: usize) -> Option<&str> {
    let mut letters = text.chars();
    let sign = letters.next().filter(|it| !it.is_alphanumeric() && !"\\\n[]".contains(*it))?;
    let mut ended = 0;
    let mut in_class = false;
    while ended < count {
        match letters.next()? {
            '\\' => drop(letters.next()?),
            // Whether the sign ends a part there is not the same to every program.
            it if it == sign && in_class => return None,
            it if it == sign => ended += 1,
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
    }
    Some(letters.as_str())
}

/// Whether the words of `awk` are none that run something.
pub(super) fn is_awk_inert(texts: &[Option<&str>]) -> bool {
    // The text itself is the first word that is neither an option nor its value.
    let (mut is_value, mut has_text) = (false, false);
    texts.iter().all(|text| {
        if has_text {
            return true;
        }
        if std::mem::take(&mut is_value) {
            return true;
        }
        match text {
            Some("-F" | "-v") => is_value = true,
            Some(option) if option.starts_with("-F") || option.starts_with("-v") => {}
            Some(option) if option.starts_with('-') => return false,
            Some(text) => {
                has_text = true;
                let odd = ["system", "|", "getline", "@", ">>"];
                let prints = text.contains('>') && text.contains("print");
                return !prints && !odd.iter().any(|it| text.contains(it));
            }
            None => return false,
        }
        true
    })
}
