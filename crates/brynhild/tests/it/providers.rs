//! Every wire format over HTTP: streams, errors, retries, choice of provider and model.

mod broken_replies;
mod choice;
mod effort;
mod failures;
mod fallback;
mod formats;
mod images;
mod models;
mod other_apis;
mod secrets;

use testkit::{ModelServer, Project};

use crate::project;

/// The types that speak to a server, one for each wire format and dialect.
const TYPES: [&str; 4] = ["openrouter", "openai", "anthropic", "ollama"];

/// A project whose default provider `test` is of this type, at `address`, with further lines of
/// its configuration.
fn project_at(kind: &str, address: &str, more: &[&str]) -> Project {
    let project = project();
    let mut config = format!(
        "providers:\n  default: test\n  instances:\n    test:\n      type: {kind}\n      \
         base_url: {address}\n      default_model: test-model\n"
    );
    for line in more {
        config.push_str("      ");
        config.push_str(line);
        config.push('\n');
    }
    project.config(&config);
    project
}

/// A project whose default provider is `server`, which it takes for one of this type.
pub(crate) fn project_of(kind: &str, server: &ModelServer) -> Project {
    project_at(kind, &server.url(), &[])
}

/// A project without a key, for which no server of this machine answers either.
pub(crate) fn nothing() -> Project {
    let project = project();
    let off = |name: &str| format!("  {name}: {{type: {name}, enabled: false}}\n");
    let off: String = ["ollama", "lmstudio", "vllm", "llamacpp"].map(off).concat();
    project.config(&format!("providers:\n{off}"));
    project
}

/// Does the same with every type at once: most of the time is waiting.
fn with_each_type(check: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for kind in TYPES {
            let check = &check;
            scope.spawn(move || check(kind));
        }
    });
}

/// An address on this machine where nothing listens.
fn closed_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}
