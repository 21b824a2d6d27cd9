//! The front end of the program, as far as servers reach the user: messages, and questions at the
//! terminal. The crate `assemble` implements it.

use async_trait::async_trait;

/// Shows messages to the user and asks questions.
#[async_trait]
pub trait Frontend: Send + Sync {
    /// Shows a warning.
    fn warn(&self, text: &str);

    /// Shows what the user can do.
    fn hint(&self, text: &str);

    /// Returns true if a full-screen interface owns the terminal.
    fn is_full_screen(&self) -> bool;

    /// Returns true if the user can answer by typing lines.
    fn has_terminal(&self) -> bool;

    /// Stops what moves on the terminal until the result is dropped.
    fn pause_animation(&self) -> Box<dyn Send>;

    /// Asks in a dialog of the full-screen interface. None if the user cancels it.
    async fn dialog(&self, title: &str, body: &str, input: DialogInput) -> Option<String>;

    /// Shows `text`, then asks for a line on the terminal. None if there is no line.
    async fn line(&self, text: &str, prompt: &str) -> Option<String>;
}

/// The kind of answer that a dialog takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogInput {
    /// Consent, with the label of the button for it.
    Consent(String),
    /// One of a few.
    Choice {
        /// Each value with its label.
        choices: Vec<(String, String)>,
        /// The index of the preselected one.
        default: Option<usize>,
    },
    /// A text, with the label of its field.
    Text(String),
}

/// No front end: messages are dropped, and nobody answers.
#[cfg(test)]
pub(crate) struct NoFrontend;

#[cfg(test)]
#[async_trait]
impl Frontend for NoFrontend {
    fn warn(&self, _: &str) {}

    fn hint(&self, _: &str) {}

    fn is_full_screen(&self) -> bool {
        false
    }

    fn has_terminal(&self) -> bool {
        false
    }

    fn pause_animation(&self) -> Box<dyn Send> {
        Box::new(())
    }

    async fn dialog(&self, _: &str, _: &str, _: DialogInput) -> Option<String> {
        None
    }

    async fn line(&self, _: &str, _: &str) -> Option<String> {
        None
    }
}
