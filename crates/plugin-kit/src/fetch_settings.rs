//! The files and variables of programs that fetch plugins.

/// Files of the home that git and npm read for addresses and credentials.
pub const SETTINGS: [&str; 7] =
    [".gitconfig", ".config/git", ".git-credentials", ".netrc", ".ssh", ".npmrc", ".config/pip"];
/// Variables with which package managers find their servers.
pub const VARIABLES: [&str; 10] = [
    "SSH_AUTH_SOCK",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "PIP_INDEX_URL",
    "NPM_CONFIG_REGISTRY",
];
