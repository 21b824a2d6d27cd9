//! The first start: choose a provider, give its key, choose a model.

use std::fmt::Write as _;
use std::io;

use contract::secret::Secret;
use contract::text::visible;

/// At most so many models are listed; any other can be typed.
const LISTED_MODELS: usize = 12;

/// A provider to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The name in the configuration.
    pub name: String,
    /// The name in messages.
    pub label: String,
    /// The state of its key or server.
    pub state: OfferState,
}

/// The state of a provider that can be chosen; the order is that of the list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OfferState {
    /// Its key was found at this place.
    KeyFound(String),
    /// Its server answers at this address.
    Answering(String),
    /// Its key is missing; this environment variable can hold it.
    KeyNeeded(String),
}

/// The answer to the list of providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Use the provider at this position.
    Provider(usize),
    /// Watch the demo.
    Demo,
    /// Leave.
    Quit,
}

/// Shows text and reads lines. None is the end of the input.
pub trait Dialog {
    /// Shows text.
    ///
    /// # Errors
    ///
    /// If it cannot be shown.
    fn show(&mut self, text: &str) -> io::Result<()>;
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn line(&mut self) -> io::Result<Option<String>>;
    /// Shows a prompt and reads a line. Stops the echo before the prompt, so that a key which is
    /// pasted at once is not shown either.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn hidden_line(&mut self, prompt: &str) -> io::Result<Option<Secret<String>>>;
}

/// Sorts offers for the list: found keys, answering servers, then the others in their order.
pub fn sort(offers: &mut [Offer]) {
    let rank = |offer: &Offer| match offer.state {
        OfferState::KeyFound(_) => 0,
        OfferState::Answering(_) => 1,
        OfferState::KeyNeeded(_) => 2,
    };
    offers.sort_by_key(rank);
}

/// Asks which provider to use.
///
/// # Errors
///
/// If the dialog fails.
pub fn choose_provider(dialog: &mut dyn Dialog, offers: &[Offer]) -> io::Result<Answer> {
    let mut text = String::from("Choose a model provider:\n\n");
    let width = offers.iter().map(|offer| offer.label.chars().count()).max().unwrap_or_default();
    for (number, offer) in (1..).zip(offers) {
        let state = match &offer.state {
            OfferState::KeyFound(place) => format!("key found in {place}"),
            OfferState::Answering(address) => format!("answers at {address}"),
            OfferState::KeyNeeded(_) => "paste a key".to_owned(),
        };
        let label = &offer.label;
        let _ = writeln!(text, "  {number:>2}  {label:width$}  {}", visible(&state));
    }
    let _ = write!(text, "   d  {:width$}  no key needed\n   q  Quit\n\n", "Watch the demo");
    dialog.show(&text)?;
    loop {
        dialog.show(&format!("Number [1-{}], d or q: ", offers.len()))?;
        let Some(line) = dialog.line()? else { return Ok(Answer::Quit) };
        match line.trim() {
            "d" | "demo" => return Ok(Answer::Demo),
            "q" | "quit" => return Ok(Answer::Quit),
            word => {
                let number =
                    word.parse::<usize>().ok().filter(|it| (1..=offers.len()).contains(it));
                let named = || offers.iter().position(|offer| offer.name == word);
                if let Some(at) = number.map(|number| number - 1).or_else(named) {
                    return Ok(Answer::Provider(at));
                }
            }
        }
    }
}

/// Asks for the key of a provider. None if nothing was given.
///
/// # Errors
///
/// If the dialog fails.
pub fn ask_key(dialog: &mut dyn Dialog, label: &str) -> io::Result<Option<Secret<String>>> {
    let key = dialog.hidden_line(&format!("Paste the API key of {label} (it is not shown): "))?;
    dialog.show("\n")?;
    Ok(key.filter(|key| !key.expose().trim().is_empty()))
}

/// Asks which model to use. Enter takes the default.
///
/// # Errors
///
/// If the dialog fails.
pub fn choose_model(
    dialog: &mut dyn Dialog,
    models: &[String],
    default: &str,
) -> io::Result<Option<String>> {
    let beginning = if models.is_empty() {
        "\nNo models are listed. Type the name of one, or press Enter.\n"
    } else {
        "\nChoose a model:\n\n"
    };
    let mut text = beginning.to_owned();
    let listed = &models[..models.len().min(LISTED_MODELS)];
    for (number, model) in (1..).zip(listed) {
        let _ = writeln!(text, "  {number:>2}  {}", visible(model));
    }
    if models.len() > listed.len() {
        let _ = writeln!(text, "      … and {} more by name", models.len() - listed.len());
    }
    dialog.show(&format!("{text}\nNumber or name [{}]: ", visible(default)))?;
    let Some(line) = dialog.line()? else { return Ok(None) };
    let word = line.trim();
    let number = word.parse::<usize>().ok().and_then(|number| listed.get(number.checked_sub(1)?));
    Ok(Some(match number {
        Some(model) => model.clone(),
        None if word.is_empty() => default.to_owned(),
        None => word.to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Played {
        lines: Vec<&'static str>,
        shown: String,
    }

    impl Dialog for Played {
        fn show(&mut self, text: &str) -> io::Result<()> {
            self.shown.push_str(text);
            Ok(())
        }

        fn line(&mut self) -> io::Result<Option<String>> {
            Ok((!self.lines.is_empty()).then(|| self.lines.remove(0).to_owned()))
        }

        fn hidden_line(&mut self, prompt: &str) -> io::Result<Option<Secret<String>>> {
            self.show(prompt)?;
            Ok(self.line()?.map(Secret::new))
        }
    }

    fn playing(lines: &[&'static str]) -> Played {
        Played { lines: lines.to_vec(), ..Played::default() }
    }

    fn offers() -> Vec<Offer> {
        let offer = |name: &str, state| Offer { name: name.into(), label: name.into(), state };
        let mut offers = vec![
            offer("openai", OfferState::KeyNeeded("OPENAI_API_KEY".into())),
            offer("groq", OfferState::KeyNeeded("GROQ_API_KEY".into())),
            offer("ollama", OfferState::Answering("localhost".into())),
            offer("anthropic", OfferState::KeyFound("ANTHROPIC_API_KEY".into())),
        ];
        sort(&mut offers);
        offers
    }

    #[test]
    fn providers_are_listed_with_found_ones_first() {
        let mut dialog = playing(&["9", "what", "3"]);
        assert_eq!(choose_provider(&mut dialog, &offers()).unwrap(), Answer::Provider(2));
        let lines: Vec<&str> = dialog.shown.lines().skip(2).take(5).map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "1  anthropic  key found in ANTHROPIC_API_KEY",
                "2  ollama     answers at localhost",
                "3  openai     paste a key",
                "4  groq       paste a key",
                "d  Watch the demo  no key needed",
            ]
        );
        for (line, answer) in
            [("groq", Answer::Provider(3)), ("d", Answer::Demo), ("q", Answer::Quit)]
        {
            assert_eq!(choose_provider(&mut playing(&[line]), &offers()).unwrap(), answer);
        }
        assert_eq!(choose_provider(&mut playing(&[]), &offers()).unwrap(), Answer::Quit);
    }

    #[test]
    fn model_is_chosen_by_number_name_or_default() {
        let models: Vec<String> = (1..20).map(|number| format!("m{number}")).collect();
        for (line, wanted) in [("2", "m2"), ("", "m7"), ("m19", "m19"), ("99", "99")] {
            let chosen = choose_model(&mut playing(&[line]), &models, "m7").unwrap();
            assert_eq!(chosen.as_deref(), Some(wanted));
        }
    }

    #[test]
    fn empty_key_is_no_key() {
        assert!(ask_key(&mut playing(&["  "]), "OpenAI").unwrap().is_none());
        let key = ask_key(&mut playing(&["sk-1"]), "OpenAI").unwrap();
        assert_eq!(key.unwrap().expose(), "sk-1");
    }
}
