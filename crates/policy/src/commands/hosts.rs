//! Hosts that a command could talk to, as far as its words name them: what deny and ask rules for
//! hosts look at. Sees too many rather than too few; never used to allow.

use crate::programs;
use crate::rules::{HostPattern, Rule, Target};
use crate::shell::{Fit, Found, Piece, Survey, base_name, wrappers};

/// Programs that talk to the hosts in their arguments.
const CLIENTS: &[&str] = &[
    "curl",
    "wget",
    "wget2",
    "aria2c",
    "http",
    "https",
    "xh",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "mosh",
    "autossh",
    "sshfs",
    "ssh-copy-id",
    "ssh-keyscan",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "telnet",
    "ftp",
    "lftp",
    "tftp",
    "ping",
    "ping6",
    "traceroute",
    "tracepath",
    "mtr",
    "nmap",
    "dig",
    "drill",
    "host",
    "nslookup",
    "whois",
    "getent",
    "openssl",
    "redis-cli",
    "psql",
    "mysql",
    "mongosh",
    "lynx",
    "w3m",
    "links",
    "elinks",
    "youtube-dl",
    "yt-dlp",
    "svn",
    "hg",
];
/// What git does with other hosts.
const GIT: &[&str] = &[
    "clone",
    "fetch",
    "pull",
    "push",
    "ls-remote",
    "remote",
    "submodule",
    "archive",
    "config",
    "fetch-pack",
    "send-pack",
    "request-pull",
    "lfs",
    "svn",
];

/// The first word by which a command could talk to a host that a rule names.
pub(crate) fn named_host(text: &str, survey: &Survey, rule: &Rule) -> Option<String> {
    let Target::Host(pattern) = &rule.matcher.target else {
        return None;
    };
    let named = survey.commands.iter().find_map(|found| {
        let reach = reach(found)?;
        let mut words = words(found, reach);
        words.find(|word| names(word, pattern, reach)).map(|word| word.text.clone())
    });
    // A host that comes out of an expansion, a file or the standard input stands somewhere else in
    // the text, or nowhere.
    let is_fed = |found: &Found| {
        let comes = |word: &Piece| word.dynamic || reads_hosts(&word.text);
        reach(found) == Some(Reach::Client) && found.argv().iter().any(comes)
    };
    named.or_else(|| {
        if !pattern.is_qualified() || !survey.commands.iter().any(is_fed) {
            return None;
        }
        let words =
            survey.whole_commands().flat_map(|found| found.before().iter().chain(found.argv()));
        let words = words.map(|word| word.text.as_str());
        let is_end = |c: char| c.is_whitespace() || "'\"<>()|;&=,\\".contains(c);
        let mut words = words.chain(text.split(is_end)).filter(|word| pattern.could_be_in(word));
        words.next().map(str::to_owned)
    })
}

/// Whether a word makes a client read its addresses from a file or from its standard input.
fn reads_hosts(word: &str) -> bool {
    let options = ["-i", "-K", "--input", "--config", "--urls-from"];
    let is_cluster = word.starts_with('-') && !word.starts_with("--");
    options.iter().any(|option| word.starts_with(option))
        || (is_cluster && (word.ends_with('-') || word.ends_with(['i', 'K'])))
}

/// How a command is thought to use hosts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It talks to those in its arguments.
    Client,
    /// It may, if a word is an address.
    Perhaps,
    /// Only the variables that it sets may matter: what it runs is a command of its own.
    Wrapper,
}

fn reach(found: &Found) -> Option<Reach> {
    let argv = found.argv();
    let name = base_name(&argv.first()?.text);
    if found.fit == Fit::Loose {
        return Some(Reach::Perhaps);
    }
    if name == "git" {
        let talks = |word: &Piece| GIT.contains(&word.text.as_str()) || word.text == "-c";
        return argv[1..].iter().any(talks).then_some(Reach::Client);
    }
    if CLIENTS.contains(&name) {
        Some(Reach::Client)
    } else if wrappers::find(name).is_some() {
        Some(Reach::Wrapper)
    } else if programs::is_known(name) {
        None
    } else {
        Some(Reach::Perhaps)
    }
}

fn words(found: &Found, reach: Reach) -> impl Iterator<Item = &Piece> {
    let assigned = found.before().iter().filter(|word| wrappers::is_assignment(&word.text));
    let own = found.argv().iter().skip(usize::from(found.fit == Fit::Exact));
    let own = own.filter(move |word| reach != Reach::Wrapper || word.text.contains('='));
    assigned.chain(own)
}

/// Whether a word could be an address at a host that the pattern means.
fn names(word: &Piece, pattern: &HostPattern, reach: Reach) -> bool {
    if pattern.is_any() {
        return reach == Reach::Client && !word.text.starts_with('-');
    }
    let is_address = word.text.contains("://") || word.text.contains('@');
    if !is_address && reach != Reach::Client && !pattern.is_qualified() {
        return false;
    }
    // A value may be attached to the letter of its option.
    let attached = word.text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let attached = attached.and_then(|rest| rest.get(1..)).unwrap_or_default();
    pattern.could_be_in(&word.text) || (!attached.is_empty() && pattern.could_be_in(attached))
}
