//! Detects replies that end with an announcement of work instead of the work. Anything unclear is an answer.

const OPENINGS: [&str; 7] =
    ["i will ", "i'll ", "i am going to ", "i'm going to ", "let me ", "let us ", "let's "];
/// Words that may surround an opening.
const FILLERS: [&str; 22] = [
    "now", "first", "next", "then", "so", "ok", "okay", "sure", "great", "alright", "and", "just",
    "also", "quickly", "start", "begin", "by", "go", "ahead", "proceed", "to", "take",
];
const DEEDS: &str = "read look check inspect open run search find fix edit write create update \
                     implement examine list explore execute view test modify apply investigate \
                     rename delete remove refactor reading looking running checking";
/// Phrases that make it depend on the user, who is expected to answer.
const CONDITIONS: &str = "if you|once you|when you|after you|before you|as soon as|unless|\
                          let me know|whenever";

pub(crate) fn announces(text: &str) -> bool {
    let text = text.trim();
    if text.ends_with('?') {
        return false;
    }
    let text = text.trim_end_matches(['.', ':', '!', '…']);
    let last = ["\n", ". ", "! ", "? ", ": "]
        .iter()
        .filter_map(|end| text.rfind(end).map(|at| at + end.len()))
        .max()
        .map_or(text, |at| &text[at..]);
    let last = last.to_lowercase().replace('’', "'");
    if CONDITIONS.split('|').any(|condition| last.contains(condition)) {
        return false;
    }
    let Some(deed) =
        OPENINGS.iter().find_map(|opening| without_fillers(&last).strip_prefix(opening))
    else {
        return false;
    };
    // Words about nothing in particular are a way of speaking.
    let deed = without_fillers(deed).split_once(' ');
    deed.is_some_and(|(deed, _)| DEEDS.split(' ').any(|known| known == deed))
}

fn without_fillers(sentence: &str) -> &str {
    let mut rest = sentence.trim_start();
    while let Some((word, after)) = rest.split_once(' ') {
        if !FILLERS.contains(&word.trim_end_matches(',')) {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_action_is_distinguished_from_an_answer() {
        for text in [
            "I will now read the file and fix it.",
            "The test is red. Let me look at src/main.rs:",
            "Okay, I'll start by reading a.txt",
            "Now I’m going to run the tests.",
            "Sure!\n\nFirst, let me check the configuration…",
        ] {
            assert!(announces(text), "{text}");
        }
        for text in [
            "I am done",
            "Let me know if you want me to read more.",
            "I will fix it if you agree.",
            "Shall I run the tests?",
            "I'll read the file.\nIt holds one line.",
            "Let me explain: a trait is an interface.",
            "I will be here.",
            "I will look.",
            "",
        ] {
            assert!(!announces(text), "{text}");
        }
    }
}
