//! The dialog on a terminal: shows on standard error, and reads a key without showing it.

use std::io::{self, BufRead as _, Read as _, Write as _};

use contract::secret::Secret;
use rustix::termios::{self, LocalModes, OptionalActions};

use crate::wizard::Dialog;

pub struct Screen;

impl Dialog for Screen {
    fn show(&mut self, text: &str) -> io::Result<()> {
        let mut err = io::stderr().lock();
        err.write_all(text.as_bytes())?;
        err.flush()
    }

    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let length = io::stdin().lock().read_line(&mut line)?;
        Ok((length > 0).then_some(line))
    }

    /// Reads byte by byte, so that Ctrl+C cannot leave the terminal without echo.
    fn hidden_line(&mut self, prompt: &str) -> io::Result<Option<Secret<String>>> {
        const INTERRUPT: u8 = 3;
        const END: u8 = 4;
        const ERASE: [u8; 2] = [8, 127];
        const ERASE_LINE: u8 = 21;
        let stdin = io::stdin();
        let before = termios::tcgetattr(&stdin)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        termios::tcsetattr(&stdin, OptionalActions::Now, &hidden)?;
        self.show(prompt)?;
        let mut bytes = Vec::new();
        let ended = loop {
            let mut byte = [0];
            match stdin.lock().read(&mut byte) {
                Err(error) => break Err(error),
                Ok(0) => break Ok(false),
                Ok(_) => {}
            }
            match byte[0] {
                b'\r' | b'\n' => break Ok(true),
                INTERRUPT | END => break Ok(false),
                ERASE_LINE => bytes.clear(),
                erase if ERASE.contains(&erase) => drop(bytes.pop()),
                byte => bytes.push(byte),
            }
        };
        termios::tcsetattr(&stdin, OptionalActions::Now, &before)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(ended?.then(|| Secret::new(text)))
    }
}
