//! Brace expansion, for finding what a command could become.

/// More words than this are not made of one.
const WORDS: usize = 64;
/// Of a longer word only a few are made: no program has such a name.
const LONG: usize = 1024;
const FEW: usize = 4;

/// The words that `a{b,c}d` becomes. A word without such braces stays as it is.
pub(crate) fn expand(word: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut waiting = vec![word.to_owned()];
    let most = if word.len() > LONG { FEW } else { WORDS };
    while let Some(word) = waiting.pop() {
        if done.len() + waiting.len() >= most {
            done.push(word);
            continue;
        }
        match split(&word) {
            Some((before, choices, after)) => waiting
                .extend(choices.into_iter().rev().map(|choice| format!("{before}{choice}{after}"))),
            None => done.push(word),
        }
    }
    done
}

/// The first brace group with a comma: what stands before it, its choices, what
/// stands after.
fn split(word: &str) -> Option<(&str, Vec<String>, &str)> {
    let mut opened: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, byte) in word.bytes().enumerate() {
        match byte {
            b'{' => opened.push((at, Vec::new())),
            b',' => {
                if let Some((_, commas)) = opened.last_mut() {
                    commas.push(at);
                }
            }
            b'}' => {
                let Some((start, commas)) = opened.pop() else {
                    continue;
                };
                if commas.is_empty() {
                    continue;
                }
                let mut choices: Vec<String> = Vec::new();
                let mut from = start + 1;
                for comma in commas {
                    choices.push(word[from..comma].to_owned());
                    from = comma + 1;
                }
                choices.push(word[from..at].to_owned());
                return Some((&word[..start], choices, &word[at + 1..]));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn every_choice_becomes_a_word_in_order() {
        assert_eq!(expand("{curl,x}"), ["curl", "x"]);
        assert_eq!(expand("a{b,c}d"), ["abd", "acd"]);
        assert_eq!(expand("c{u,{v,w}}"), ["cu", "cv", "cu", "cw"]);
        assert_eq!(expand("HEAD@{1}"), ["HEAD@{1}"]);
    }

    #[test]
    fn the_number_of_words_is_bounded() {
        assert!(expand(&"{a,b}".repeat(40)).len() <= 128);
        assert!(expand(&"{a,b}".repeat(400)).len() <= 8);
    }
}
