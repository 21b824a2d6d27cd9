//! Which hosts a process may reach, and the dialing of those: the address that is dialed is the one
//! that was judged.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contract::sandbox::{Hosts, is_usual_port};
use contract::text::visible;
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::mpsc;

use super::address::is_private;
use super::request::authority;
use crate::{Egress, Passage, Way};

const PATIENCE: Duration = Duration::from_secs(30);
/// How many refused hosts are told of.
const TOLD: usize = 50;

/// What a process was granted.
pub(super) struct Gate {
    grants: Vec<Grant>,
    key: String,
    told: Mutex<BTreeSet<String>>,
    teller: mpsc::Sender<String>,
    egress: Option<Egress>,
    seen: Mutex<BTreeSet<(String, u16, Passage)>>,
}

/// One entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Grant {
    name: Name,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    /// Every host of the internet.
    Any,
    /// All beneath this name, which begins with a dot.
    Beneath(String),
    Exact(String),
    Address(IpAddr),
}

/// Why a host is not reached.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: &'static str,
    pub(super) why: String,
}

/// Whether the loopback of this machine is among `hosts`.
pub(super) fn has_loopback(hosts: &Hosts) -> bool {
    hosts.names.iter().filter_map(|text| Grant::parse(text)).any(|grant| match grant.name {
        Name::Address(address) => address.to_canonical().is_loopback(),
        Name::Exact(name) => name == "localhost",
        Name::Any | Name::Beneath(_) => false,
    })
}

impl Grant {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self { name: Name::Address(address), port: None });
        }
        if text == "*" {
            return Some(Self { name: Name::Any, port: None });
        }
        let (host, port) = authority(text.strip_prefix("*.").unwrap_or(text)).ok()?;
        let name = match host.parse::<IpAddr>() {
            Ok(address) => Name::Address(address),
            Err(_) if text.starts_with("*.") => Name::Beneath(format!(".{host}")),
            Err(_) => Name::Exact(host),
        };
        Some(Self { name, port })
    }

    /// Whether it speaks of `host`.
    fn covers(&self, host: &str, port: u16) -> bool {
        let is_named = match &self.name {
            Name::Any => true,
            Name::Beneath(end) => host.len() > end.len() && host.ends_with(end.as_str()),
            Name::Exact(name) => name == host,
            Name::Address(address) => host.parse() == Ok(*address),
        };
        is_named && self.has_port(host, port)
    }

    /// Whether it speaks of an address by itself, whatever name led there.
    fn opens(&self, host: &str, address: SocketAddr) -> bool {
        let is_meant = match &self.name {
            Name::Address(granted) => granted.to_canonical() == address.ip().to_canonical(),
            Name::Exact(name) => {
                name == "localhost" && host == "localhost" && address.ip().is_loopback()
            }
            Name::Any | Name::Beneath(_) => false,
        };
        is_meant && self.has_port(&address.ip().to_string(), address.port())
    }

    fn has_port(&self, host: &str, port: u16) -> bool {
        self.port.map_or_else(|| is_usual_port(host, port), |granted| granted == port)
    }
}

impl Gate {
    /// A gate for `hosts`, which tells `teller` of what it refuses, and `egress` of all.
    pub(super) fn new(hosts: &Hosts, teller: mpsc::Sender<String>, egress: Option<Egress>) -> Self {
        let mut grants = Vec::new();
        for text in &hosts.names {
            match Grant::parse(text) {
                Some(grant) => grants.push(grant),
                None => {
                    let _ = teller.try_send(format!(
                        "`{}` in `{}` is no host and grants nothing; write a name like \
                         `example.org`, `*.example.org` or `example.org:8080`",
                        visible(text),
                        hosts.key
                    ));
                }
            }
        }
        let key = hosts.key.clone();
        Self { grants, key, told: Mutex::default(), teller, egress, seen: Mutex::default() }
    }

    /// Whether a host was granted by name.
    pub(super) fn is_granted(&self, host: &str, port: u16) -> bool {
        self.grants.iter().any(|grant| grant.covers(host, port))
    }

    /// Whether an address may be dialed for a host that was granted.
    pub(super) fn is_open(&self, host: &str, address: SocketAddr) -> bool {
        !is_private(address.ip()) || self.grants.iter().any(|grant| grant.opens(host, address))
    }

    /// Connects to a host that was granted.
    pub(super) async fn dial(&self, host: &str, port: u16) -> Result<TcpStream, Refusal> {
        let key = &self.key;
        if !self.is_granted(host, port) {
            let is_elsewhere = [80, 443].into_iter().any(|usual| self.is_granted(host, usual));
            let why = if is_elsewhere {
                format!(
                    "the host `{host}` is granted for the ports 80 and 443; `{host}:{port}` in \
                     `{key}` would open port {port}"
                )
            } else {
                format!(
                    "the host `{host}` is not granted; `{key}` lists those that are (asked for \
                     port {port})"
                )
            };
            return Err(self.refuse(host, port, why));
        }
        let broken = |error: io::Error| Refusal {
            status: "502 Bad Gateway",
            why: format!("cannot reach {host}:{port}: {error}"),
        };
        let found = tokio::time::timeout(PATIENCE, lookup_host((host, port))).await;
        let found = found.map_err(|_| broken(io::ErrorKind::TimedOut.into()))?.map_err(broken)?;
        let (open, shut): (Vec<_>, Vec<_>) =
            found.partition(|address| self.is_open(host, *address));
        if let ([], [address, ..]) = (&open[..], &shut[..]) {
            let why = format!(
                "the host `{host}` leads to the private address {}; add `{address}` to `{key}` as \
                 well if that is meant",
                address.ip()
            );
            return Err(self.refuse(host, port, why));
        }
        self.witness(host, port, Passage::Allowed);
        let dialed = tokio::time::timeout(PATIENCE, TcpStream::connect(&open[..])).await;
        dialed.map_err(|_| broken(io::ErrorKind::TimedOut.into()))?.map_err(broken)
    }

    fn refuse(&self, host: &str, port: u16, why: String) -> Refusal {
        self.witness(host, port, Passage::Denied);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < TOLD && told.insert(host.to_owned()) {
            // Whoever does not listen any more need not be told.
            let _ = self.teller.try_send(why.clone());
        }
        Refusal { status: "403 Forbidden", why }
    }

    /// Tells whoever writes it down of a way out, once for each.
    fn witness(&self, host: &str, port: u16, passage: Passage) {
        let Some(egress) = &self.egress else { return };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < TOLD && seen.insert((host.to_owned(), port, passage)) {
            egress(&Way { host, port, key: &self.key, passage });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(names: &[&str]) -> (Gate, mpsc::Receiver<String>) {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let (teller, heard) = mpsc::channel(64);
        (Gate::new(&Hosts { names, key: "plugins.p.sandbox.network".into() }, teller, None), heard)
    }

    #[test]
    fn a_name_covers_itself_and_nothing_that_looks_like_it() {
        let (gate, _) = gate(&["docs.x.com", "*.y.com", "z.com:8080", "1.2.3.4", "[::1]:9"]);
        for (host, port) in
            [("docs.x.com", 443), ("docs.x.com", 80), ("a.y.com", 80), ("b.a.y.com", 80)]
        {
            assert!(gate.is_granted(host, port), "{host}:{port}");
        }
        assert!(gate.is_granted("z.com", 8080) && gate.is_granted("1.2.3.4", 443));
        assert!(gate.is_granted("::1", 9));
        for (host, port) in [
            ("docs.x.com.evil.test", 443),
            ("docs.x.com.", 443),
            ("xdocs.x.com", 443),
            ("evil.test", 443),
            ("y.com", 80),
            (".y.com", 80),
            ("ay.com", 80),
            ("z.com", 80),
            ("docs.x.com", 22),
            ("a.y.com", 3306),
            ("1.2.3.4", 25),
            ("1.2.3.5", 80),
            ("01.2.3.4", 80),
            ("::1", 10),
        ] {
            assert!(!gate.is_granted(host, port), "{host}:{port}");
        }
    }

    #[tokio::test]
    async fn a_port_that_was_not_granted_is_refused_with_the_form_that_grants_it() {
        let seen = std::sync::Arc::new(Mutex::new(Vec::new()));
        let ear = std::sync::Arc::clone(&seen);
        let egress: Egress = std::sync::Arc::new(move |way: &Way<'_>| {
            ear.lock().unwrap().push(format!("{}:{} {:?}", way.host, way.port, way.passage));
        });
        let (teller, _heard) = mpsc::channel(64);
        let names = vec!["docs.x.com".to_owned(), "localhost".to_owned()];
        let gate = Gate::new(&Hosts { names, key: "k".into() }, teller, Some(egress));
        assert!(gate.is_granted("localhost", 8000));
        for _ in 0..2 {
            let refusal = gate.dial("docs.x.com", 22).await.unwrap_err();
            assert!(refusal.why.contains("`docs.x.com:22` in `k`"), "{}", refusal.why);
        }
        assert_eq!(*seen.lock().unwrap(), ["docs.x.com:22 Denied"]);
    }

    #[test]
    fn a_private_address_is_dialed_only_where_it_is_granted_itself() {
        let open = |names: &[&str], host: &str, address: &str| {
            gate(names).0.is_open(host, address.parse().unwrap())
        };
        assert!(open(&["a.test"], "a.test", "1.1.1.1:80"));
        for private in ["127.0.0.1:80", "10.0.0.1:80", "169.254.169.254:80", "[::1]:80"] {
            assert!(!open(&["a.test", "*", "*.test"], "a.test", private), "{private}");
            assert!(!open(&["localhost"], "a.test", private), "{private}");
        }
        assert!(open(&["a.test", "10.0.0.1"], "a.test", "10.0.0.1:80"));
        assert!(!open(&["a.test", "10.0.0.1:81"], "a.test", "10.0.0.1:80"));
        assert!(open(&["localhost"], "localhost", "127.0.0.1:80"));
        assert!(!open(&["localhost"], "localhost", "10.0.0.1:80"));
        assert!(open(&["127.0.0.1"], "127.0.0.1", "127.0.0.1:80"));
    }

    #[tokio::test]
    async fn a_refused_host_is_told_of_once_with_the_key() {
        let (gate, mut heard) = gate(&["a.test", "https://b.test/x"]);
        assert!(heard.try_recv().unwrap().contains("`https://b.test/x` in `plugins.p.sandbox"));
        for _ in 0..2 {
            assert_eq!(gate.dial("c.test", 443).await.unwrap_err().status, "403 Forbidden");
        }
        let words = heard.try_recv().unwrap();
        assert!(words.contains("`c.test`") && words.contains("`plugins.p.sandbox.network`"));
        assert!(heard.try_recv().is_err());
    }
}
