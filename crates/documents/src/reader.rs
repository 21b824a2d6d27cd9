//! The process that reads documents in binary formats: it gets a document on its standard input and
//! writes the text. It sees no files of the project and no network.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use contract::sandbox::{Channel, Child, Exit, Limits, Network, Profile, Sandbox, Spawn, Stdin};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// The first argument with which the program starts itself as the reader.
pub const READER_COMMAND: &str = "__read_document";

const FORMATS: [&str; 3] = ["docx", "pdf", "xlsx"];
const TIME: Duration = Duration::from_mins(1);
const MEMORY: u64 = 512 << 20;
const MAX_TEXT: u64 = 64 << 20;
/// The exit code if the document is wrong; its text says how.
const WRONG: u8 = 1;

/// Starts the process for each document in a binary format.
pub struct Reader {
    /// The program whose `main` calls [`reader_main`].
    pub program: PathBuf,
    pub sandbox: Arc<dyn Sandbox>,
    /// The usual access of a process, of which the reader gets less.
    pub profile: Profile,
}

impl Reader {
    /// The text of a document, by the extension of its file. None if the format is not known; an
    /// error is for the user.
    pub async fn text(&self, extension: &str, bytes: Vec<u8>) -> Option<Result<String, String>> {
        if !FORMATS.contains(&extension) {
            return crate::plain(extension, bytes);
        }
        let text = self.read(extension, &bytes).await;
        Some(text.map_err(|what| format!("its text cannot be extracted: {what}")).flatten())
    }

    async fn read(&self, extension: &str, bytes: &[u8]) -> Result<Result<String, String>, String> {
        // Its usual name, /proc/self/exe, is that of another program in another process.
        let program = self.program.canonicalize().map_err(|error| error.to_string())?;
        let spawn = Spawn {
            program: program.clone(),
            args: [READER_COMMAND, extension].map(OsString::from).into(),
            cwd: self.profile.workspace.clone(),
            stdin: Stdin::Piped,
            channel: Channel::None,
            env: BTreeMap::new(),
            home: None,
        };
        let profile = Profile {
            read: vec![program],
            write: Vec::new(),
            own: Vec::new(),
            network: Network::None,
            env: BTreeMap::new(),
            limits: Limits { memory: MEMORY, ..Limits::default() },
            ..self.profile.clone()
        };
        let child = self.sandbox.start(&spawn, &profile).map_err(|error| error.to_string())?;
        let Child { mut stdin, stdout, mut process, .. } = child;
        let (mut stdout, mut text) = (stdout.take(MAX_TEXT), Vec::new());
        let feed = async {
            if let Some(mut stdin) = stdin.take() {
                // A reader that ended early says why by its exit code.
                let _ = stdin.write_all(bytes).await;
            }
        };
        let work = async { tokio::join!(feed, stdout.read_to_end(&mut text)).1 };
        let late = |_| format!("it takes more than {} s", TIME.as_secs());
        timeout(TIME, work).await.map_err(late)?.map_err(|error| error.to_string())?;
        let exit = timeout(TIME, process.wait()).await.map_err(late)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        match exit.map_err(|error| error.to_string())? {
            Exit::Code(0) => Ok(Ok(text)),
            Exit::Code(code) if code == i32::from(WRONG) => Ok(Err(text)),
            Exit::Code(code) => Err(format!("the reader ended with exit code {code}")),
            Exit::Signal(signal) => Err(format!("the reader was ended by signal {signal}")),
        }
    }
}

/// Reads a document of a format from standard input and writes its text, or what is wrong with it.
pub fn reader_main(args: &[OsString]) -> ExitCode {
    let format = args.first().and_then(|format| format.to_str()).unwrap_or_default();
    let mut bytes = Vec::new();
    let text = match io::stdin().read_to_end(&mut bytes) {
        Ok(_) => crate::binary(format, &bytes).unwrap_or_else(|| Err(String::from("no format"))),
        Err(error) => Err(error.to_string()),
    };
    let (code, text) = text.map_or_else(|error| (WRONG, error), |text| (0, text));
    // Without a listener there is nothing to say.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::from(code)
}
