//! Credentials: tokens of programs, the one-time code of a link, and cookies of browsers. Only hashes
//! are kept, so that a comparison tells nothing by its duration.

use std::cell::RefCell;
use std::path::PathBuf;

use crate::host::Failure;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use blake3::Hash;
use contract::secret::Secret;
use files::private::{self, Durability};
use http::{HeaderMap, header};
use ring::rand::{SecureRandom as _, SystemRandom};

/// Browsers that are logged in at most; the longest unused one is logged out.
const BROWSERS: usize = 32;
/// The shortest token.
const SHORTEST: usize = 16;
/// Seconds that a cookie lives: 30 days.
const COOKIE_LIFE: u32 = 30 * 24 * 3600;

/// What a client may do. Everybody with credentials may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scopes {
    Read,
    /// Also send prompts and change sessions.
    Prompt,
    /// Also answer questions for this once, and change the mode.
    Approve,
    /// Also answer for longer, and allow `yolo`.
    ApproveAlways,
}

impl Scopes {
    /// Reads the scope that the command line names.
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "read" => Self::Read,
            "prompt" => Self::Prompt,
            "approve" => Self::Approve,
            "approve-always" => Self::ApproveAlways,
            _ => return None,
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Prompt => "prompt",
            Self::Approve => "approve",
            Self::ApproveAlways => "approve-always",
        }
    }
}

/// A token of programs.
#[derive(Clone, Debug)]
pub struct Token {
    name: String,
    hash: Hash,
    scopes: Scopes,
}

impl Token {
    /// Takes the token that `NAME[:SCOPE]` means; `variable` reads the environment.
    pub fn parse<'a>(
        named: &str,
        variable: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, Failure> {
        let (name, scope) = named.split_once(':').unwrap_or((named, "approve-always"));
        let scopes = Scopes::parse(scope).ok_or_else(|| {
            Failure::bad(format!("`{scope}` is not a scope")).hint(
                "`read`, `prompt`, `approve` or `approve-always`; each includes those before it",
            )
        })?;
        let value = variable(name);
        let value = value.ok_or_else(|| Failure::bad(format!("variable `{name}` is not set")))?;
        Self::new(name, &Secret::new(value.to_owned()), scopes).ok_or_else(|| {
            Failure::bad(format!("the token in `{name}` is too short"))
                .hint("a token has at least 16 characters: `openssl rand -hex 32` makes one")
        })
    }

    /// Takes a token by the name of its variable. None if it is so short that it can be guessed.
    pub(crate) fn new(name: &str, value: &Secret<String>, scopes: Scopes) -> Option<Self> {
        let value = value.expose().as_bytes();
        (value.len() >= SHORTEST).then(|| Self {
            name: name.to_owned(),
            hash: blake3::hash(value),
            scopes,
        })
    }
}

/// Somebody who sent a request with credentials.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The name that answers carry.
    pub(crate) name: String,
    pub(crate) scopes: Scopes,
}

pub(crate) struct Credentials {
    tokens: Vec<Token>,
    /// The code that the last link has.
    code: RefCell<Option<Hash>>,
    cookies: RefCell<Vec<Hash>>,
    /// The file that keeps cookies over a restart.
    file: Option<PathBuf>,
    cookie_name: String,
    is_secure: bool,
}

/// Text that nobody can guess.
pub(crate) fn random() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| std::io::Error::other("no random numbers are available"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

impl Credentials {
    /// `file` keeps the cookies of a server at `port`.
    pub(crate) fn new(
        tokens: Vec<Token>,
        port: u16,
        file: Option<PathBuf>,
        is_secure: bool,
    ) -> Self {
        let stored = file.as_ref().and_then(|file| private::read(file).ok()).flatten();
        let text = String::from_utf8(stored.unwrap_or_default()).unwrap_or_default();
        let cookies = text.lines().filter_map(|line| Hash::from_hex(line).ok()).collect();
        Self {
            tokens,
            code: RefCell::default(),
            cookies: RefCell::new(cookies),
            file,
            cookie_name: format!("brynhild-{port}"),
            is_secure,
        }
    }

    /// A code for a new link. The one before it ends.
    pub(crate) fn new_code(&self) -> std::io::Result<String> {
        let code = random()?;
        *self.code.borrow_mut() = Some(blake3::hash(code.as_bytes()));
        Ok(code)
    }

    /// Exchanges a code for the value of a `Set-Cookie` header; none if it is wrong or used.
    pub(crate) fn log_in(&self, code: &str) -> std::io::Result<Option<String>> {
        let hash = blake3::hash(code.as_bytes());
        if self.code.borrow().as_ref() != Some(&hash) {
            return Ok(None);
        }
        let cookie = random()?;
        self.code.borrow_mut().take();
        let mut cookies = self.cookies.borrow_mut();
        cookies.push(blake3::hash(cookie.as_bytes()));
        let excess = cookies.len().saturating_sub(BROWSERS);
        cookies.drain(..excess);
        if let Some(file) = &self.file {
            let lines: Vec<String> = cookies.iter().map(|hash| hash.to_hex().to_string()).collect();
            private::replace(file, lines.join("\n").as_bytes(), Durability::Synced)?;
        }
        let Self { cookie_name, is_secure, .. } = self;
        let secure = if *is_secure { "; Secure" } else { "" };
        Ok(Some(format!(
            "{cookie_name}={cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age={COOKIE_LIFE}{secure}"
        )))
    }

    /// The client that sent these headers; none without valid credentials.
    pub(crate) fn client(&self, headers: &HeaderMap) -> Option<Client> {
        let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if let Some(token) = sent.and_then(|value| value.strip_prefix("Bearer ")) {
            let hash = blake3::hash(token.as_bytes());
            let Token { name, scopes, .. } = self.tokens.iter().find(|it| it.hash == hash)?;
            return Some(Client { name: name.clone(), scopes: *scopes });
        }
        let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            pairs.flat_map(|value| value.split(';')).filter_map(|it| it.split_once('='));
        let (_, cookie) = pairs.find(|(name, _)| name.trim() == self.cookie_name)?;
        let hash = blake3::hash(cookie.trim().as_bytes());
        let is_known = self.cookies.borrow().contains(&hash);
        let name = "page".to_owned();
        is_known.then_some(Client { name, scopes: Scopes::ApproveAlways })
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn code_is_exchanged_once_for_a_cookie() {
        let credentials = Credentials::new(Vec::new(), 1, None, false);
        let code = credentials.new_code().unwrap();
        assert!(credentials.log_in("wrong").unwrap().is_none());
        let cookie = credentials.log_in(&code).unwrap().unwrap();
        assert!(credentials.log_in(&code).unwrap().is_none());
        let pair = cookie.split(';').next().unwrap();
        let client = credentials.client(&headers(header::COOKIE, pair)).unwrap();
        assert_eq!((client.name.as_str(), client.scopes), ("page", Scopes::ApproveAlways));
        let other = pair.replace("brynhild-1", "brynhild-2");
        assert!(credentials.client(&headers(header::COOKIE, &other)).is_none());
    }

    #[test]
    fn tokens_have_their_scopes_and_a_least_length() {
        let secret = |text: &str| Secret::new(text.to_owned());
        assert!(Token::new("T", &secret("short"), Scopes::Read).is_none());
        let token = Token::new("T", &secret("0123456789abcdef"), Scopes::Read).unwrap();
        let credentials = Credentials::new(vec![token], 1, None, false);
        let client = |value| credentials.client(&headers(header::AUTHORIZATION, value));
        assert_eq!(client("Bearer 0123456789abcdef").unwrap().scopes, Scopes::Read);
        assert!(client("Bearer 0123456789abcdeF").is_none());
        assert!(client("Basic 0123456789abcdef").is_none());
    }

    #[test]
    fn cookies_outlive_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let file = Some(directory.path().join("cookies"));
        let first = Credentials::new(Vec::new(), 1, file.clone(), false);
        let cookie = first.log_in(&first.new_code().unwrap()).unwrap().unwrap();
        let pair = cookie.split(';').next().unwrap();
        let second = Credentials::new(Vec::new(), 1, file, false);
        assert!(second.client(&headers(header::COOKIE, pair)).is_some());
    }
}
