//! Which hosts a process may reach, and the dialing of those: the address that is dialed is the one
//! that was judged.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contract::sandbox::{Blocked, Hosts, is_usual_port};
use contract::text::visible;
use formats::address;
use tokio::net::{TcpStream, lookup_host};

use super::request::authority;
use crate::blocked::BlockedLog;
use crate::{HostRules, Notice, ProxyObserver, ProxyRequest, Verdict};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How many refused hosts are told of, and written down.
const MAX_REFUSED_HOSTS: usize = 50;
/// How many ways that were open are written down.
const OPENED: usize = 10_000;

/// The hosts that a process may reach.
pub(super) struct Gate {
    grants: Vec<Grant>,
    key: String,
    rules: Option<HostRules>,
    told: Mutex<BTreeSet<String>>,
    notice: Option<Notice>,
    on_proxy_request: Option<ProxyObserver>,
    seen: Mutex<Seen>,
    blocked: BlockedLog,
    /// Held by whoever has something written down.
    writing: tokio::sync::Mutex<()>,
}

/// Ways out that were written down. Those that were refused take no place of the others.
#[derive(Default)]
struct Seen {
    open: BTreeSet<(String, u16)>,
    shut: BTreeSet<(String, u16)>,
}

impl Seen {
    fn of(&mut self, verdict: Verdict) -> (&mut BTreeSet<(String, u16)>, usize) {
        match verdict {
            Verdict::Allowed => (&mut self.open, OPENED),
            Verdict::Denied => (&mut self.shut, MAX_REFUSED_HOSTS),
        }
    }
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

/// Returns true if the loopback of this machine is among `hosts`.
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

    fn covers(&self, host: &str, port: u16) -> bool {
        self.names(host) && self.has_port(host, port)
    }

    fn names(&self, host: &str) -> bool {
        match &self.name {
            Name::Any => true,
            Name::Beneath(end) => host.len() > end.len() && host.ends_with(end.as_str()),
            Name::Exact(name) => name == host,
            Name::Address(address) => host.parse() == Ok(*address),
        }
    }

    /// Returns true if it grants the address itself, whatever name resolved to it.
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
    /// A gate for `hosts` without those that `rules` deny, which tells `notice` of what it refuses, and
    /// `on_proxy_request` of what it opens too.
    pub(super) fn new(
        hosts: &Hosts,
        rules: Option<HostRules>,
        notice: Option<Notice>,
        on_proxy_request: Option<ProxyObserver>,
    ) -> Self {
        let mut grants = Vec::new();
        for text in &hosts.names {
            if let Some(grant) = Grant::parse(text) {
                grants.push(grant);
            } else if let Some(notice) = &notice {
                notice(format!(
                    "`{}` in `{}` is not a host and grants nothing; write a name like `example.org`, \
                     `*.example.org` or `example.org:8080`",
                    visible(text),
                    hosts.key
                ));
            }
        }
        let key = hosts.key.clone();
        let (told, seen, blocked, writing) = Default::default();
        Self { grants, key, rules, told, notice, on_proxy_request, seen, blocked, writing }
    }

    /// Records refused hosts in `blocked`.
    pub(super) fn with_log(self, blocked: BlockedLog) -> Self {
        Self { blocked, ..self }
    }

    /// Returns true if a host was granted by name.
    pub(super) fn is_granted(&self, host: &str, port: u16) -> bool {
        self.grants.iter().any(|grant| grant.covers(host, port))
    }

    /// Returns true if a connection to an address of a granted host is allowed.
    pub(super) fn is_open(&self, host: &str, address: SocketAddr) -> bool {
        !address::is_private(address.ip())
            || self.grants.iter().any(|grant| grant.opens(host, address))
    }

    /// Connects to a host that was granted.
    pub(super) async fn dial(&self, host: &str, port: u16) -> Result<TcpStream, Refusal> {
        if !self.is_granted(host, port) {
            return Err(self.refuse(host, port, self.not_granted(host, port)).await);
        }
        if let Some(why) = self.denial(host, &place(host, port)) {
            return Err(self.refuse(host, port, why).await);
        }
        // To look up a name is a way out too.
        self.witness(host, port, Verdict::Allowed).await?;
        let broken = |error: io::Error| Refusal {
            status: "502 Bad Gateway",
            why: format!("cannot reach {host}:{port}: {error}"),
        };
        let found = tokio::time::timeout(CONNECT_TIMEOUT, lookup_host((host, port))).await;
        let found = found.map_err(|_| broken(io::ErrorKind::TimedOut.into()))?.map_err(broken)?;
        let found: Vec<SocketAddr> = found.collect();
        let mut places = found.iter().map(SocketAddr::to_string);
        if let Some(why) = places.find_map(|address| self.denial(host, &address)) {
            return Err(self.refuse(host, port, why).await);
        }
        let (open, shut): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|address| self.is_open(host, *address));
        if let ([], [address, ..]) = (&open[..], &shut[..]) {
            let why = format!(
                "the host `{host}` leads to the private address {}; add `{address}` to `{key}` as \
                 well if that is meant",
                address.ip(),
                key = self.key
            );
            return Err(self.refuse(host, port, why).await);
        }
        let dialed = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(&open[..])).await;
        dialed.map_err(|_| broken(io::ErrorKind::TimedOut.into()))?.map_err(broken)
    }

    /// Why a host is not reached at a place that rules deny.
    fn denial(&self, host: &str, place: &str) -> Option<String> {
        let rule = self.rules.as_ref().and_then(|rules| rules(place))?;
        Some(format!("the host `{host}` is denied by the rule `{rule}` (asked for {place})"))
    }

    /// Why a host is not granted at this port, with the entry that would grant it.
    fn not_granted(&self, host: &str, port: u16) -> String {
        let key = &self.key;
        if key.is_empty() {
            return format!(
                "the host `{host}` is not reachable: this process has no network access"
            );
        }
        let named = self.grants.iter().filter(|grant| grant.names(host));
        let ports: BTreeSet<u16> =
            named.flat_map(|grant| grant.port.map_or(vec![80, 443], |port| vec![port])).collect();
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        let (word, ports) = match &ports[..] {
            [] => {
                return format!(
                    "the host `{host}` is not granted; `{key}` lists those that are (asked for \
                     port {port})"
                );
            }
            [only] => ("port", only.clone()),
            [first @ .., last] => ("the ports", format!("{} and {last}", first.join(", "))),
        };
        let place = place(host, port);
        format!(
            "the host `{host}` is granted for {word} {ports}; `{place}` in `{key}` would open port \
             {port}"
        )
    }

    async fn refuse(&self, host: &str, port: u16, why: String) -> Refusal {
        self.blocked.add(Blocked::Host(host.to_owned(), port));
        if let Err(refusal) = self.witness(host, port, Verdict::Denied).await {
            return refusal;
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < MAX_REFUSED_HOSTS
            && told.insert(host.to_owned())
            && let Some(notice) = &self.notice
        {
            notice(why.clone());
        }
        Refusal { status: "403 Forbidden", why }
    }

    /// Has a way out written down, once for each, before anybody takes it. Whoever writes may wait
    /// for a file, so that happens beside the other tasks.
    async fn witness(&self, host: &str, port: u16, verdict: Verdict) -> Result<(), Refusal> {
        let Some(on_proxy_request) = self.on_proxy_request.clone() else { return Ok(()) };
        let way = (host.to_owned(), port);
        let is_settled = || {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let (seen, most) = seen.of(verdict);
            (seen.contains(&way) || seen.len() > most, seen.len() == most)
        };
        if is_settled().0 {
            return Ok(());
        }
        let _writing = self.writing.lock().await;
        let (is_settled, is_last) = is_settled();
        if is_settled {
            return Ok(());
        }
        let (host, key) = (host.to_owned(), self.key.clone());
        let written = tokio::task::spawn_blocking(move || {
            on_proxy_request(&ProxyRequest { host: &host, port, key: &key, verdict, is_last });
        });
        written.await.map_err(|error| Refusal {
            status: "500 Internal Server Error",
            why: format!("cannot record the request: {error}"),
        })?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.of(verdict).0.insert(way);
        Ok(())
    }
}

/// A host and its port, as they stand in an address.
fn place(host: &str, port: u16) -> String {
    let is_bare = host.parse::<Ipv6Addr>().is_ok();
    if is_bare { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;

    use super::*;

    /// A notice that sends its text to a receiver.
    fn notice() -> (Option<Notice>, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel(64);
        let notice: Notice = Arc::new(move |text| drop(sender.try_send(text)));
        (Some(notice), receiver)
    }

    fn gate(names: &[&str]) -> (Gate, mpsc::Receiver<String>) {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let (notice_sender, notices) = notice();
        let hosts = Hosts { names, key: "plugins.p.sandbox.network".into() };
        (Gate::new(&hosts, None, notice_sender, None), notices)
    }

    #[test]
    fn granted_name_matches_exactly() {
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

    /// A gate, and what it has written down.
    fn watched(names: &[&str]) -> (Gate, Arc<Mutex<Vec<String>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let ear = Arc::clone(&seen);
        let on_proxy_request: ProxyObserver = Arc::new(move |way: &ProxyRequest<'_>| {
            let last = if way.is_last { " last" } else { "" };
            let line = format!("{}:{} {:?}{last}", way.host, way.port, way.verdict);
            ear.lock().unwrap().push(line);
        });
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let notice_sender = None;
        (
            Gate::new(
                &Hosts { names, key: "k".into() },
                None,
                notice_sender,
                Some(on_proxy_request),
            ),
            seen,
        )
    }

    #[tokio::test]
    async fn refused_port_names_the_grant_that_allows_it() {
        let (gate, seen) = watched(&["docs.x.com", "localhost", "z.test:443", "2001:db8::1"]);
        assert!(gate.is_granted("localhost", 8000));
        for _ in 0..2 {
            let refusal = gate.dial("docs.x.com", 22).await.unwrap_err();
            assert!(refusal.why.contains("`docs.x.com:22` in `k`"), "{}", refusal.why);
            assert!(refusal.why.contains("for the ports 80 and 443"), "{}", refusal.why);
        }
        assert_eq!(*seen.lock().unwrap(), ["docs.x.com:22 Denied"]);
        let refusal = gate.dial("z.test", 80).await.unwrap_err();
        assert!(refusal.why.contains("is granted for port 443; `z.test:80`"), "{}", refusal.why);
        let refusal = gate.dial("2001:db8::1", 22).await.unwrap_err();
        assert!(refusal.why.contains("`[2001:db8::1]:22` in `k`"), "{}", refusal.why);
    }

    #[tokio::test]
    async fn refused_requests_are_capped_and_open_ones_recorded() {
        // No name has so long a part, so nobody is asked for it.
        let nowhere = format!("{}.test", "a".repeat(64));
        let (gate, seen) = watched(&["127.0.0.1", &nowhere]);
        for number in 0..MAX_REFUSED_HOSTS + 10 {
            gate.dial(&format!("h{number}.test"), 443).await.unwrap_err();
        }
        // Neither of them has a server.
        gate.dial(&nowhere, 443).await.unwrap_err();
        gate.dial("127.0.0.1", 1).await.unwrap_err();
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), MAX_REFUSED_HOSTS + 3, "{seen:?}");
        assert_eq!(
            seen[MAX_REFUSED_HOSTS - 1..=MAX_REFUSED_HOSTS],
            ["h49.test:443 Denied", "h50.test:443 Denied last"]
        );
        let open = [format!("{nowhere}:443 Allowed"), "127.0.0.1:1 Allowed".to_owned()];
        assert_eq!(seen[MAX_REFUSED_HOSTS + 1..], open);
    }

    #[tokio::test]
    async fn slow_observer_delays_only_its_own_request() {
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let (begun, mut beginning) = mpsc::channel(1);
        let wait = Mutex::new(wait);
        let on_proxy_request: ProxyObserver = Arc::new(move |way: &ProxyRequest<'_>| {
            if way.host == "slow.test" {
                begun.blocking_send(()).unwrap();
                wait.lock().unwrap().recv().unwrap();
            }
        });
        let notice_sender = None;
        let gate = Gate::new(&Hosts::default(), None, notice_sender, Some(on_proxy_request));
        gate.dial("known.test", 443).await.unwrap_err();
        let slow = async { gate.dial("slow.test", 443).await.unwrap_err() };
        let other = async {
            beginning.recv().await.unwrap();
            // All of it runs on one thread.
            gate.dial("known.test", 443).await.unwrap_err();
            release.send(()).unwrap();
        };
        assert_eq!(tokio::join!(slow, other).0.status, "403 Forbidden");
    }

    #[tokio::test]
    async fn a_rule_that_denies_a_host_wins_over_the_grant() {
        let rules: HostRules = Arc::new(|place: &str| {
            let denied = ["evil.test:", "127.0.0.1:", "[::1]:"];
            denied.iter().any(|it| place.starts_with(it)).then(|| String::from("Host(x)"))
        });
        let names = ["*", "localhost:1"].map(str::to_owned).into();
        let (notice_sender, mut notices) = notice();
        let gate = Gate::new(&Hosts { names, key: "k".into() }, Some(rules), notice_sender, None);
        // The address is denied where the name is not.
        for (host, port) in [("evil.test", 443), ("localhost", 1)] {
            let refusal = gate.dial(host, port).await.unwrap_err();
            assert_eq!(refusal.status, "403 Forbidden");
            assert!(notices.try_recv().unwrap().contains("by the rule `Host(x)`"), "{host}");
        }
    }

    #[test]
    fn private_address_needs_a_grant_of_its_own() {
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
    async fn refused_host_is_reported_once_with_the_key() {
        let (gate, mut notices) = gate(&["a.test", "https://b.test/x"]);
        assert!(notices.try_recv().unwrap().contains("`https://b.test/x` in `plugins.p.sandbox"));
        for _ in 0..2 {
            assert_eq!(gate.dial("c.test", 443).await.unwrap_err().status, "403 Forbidden");
        }
        let words = notices.try_recv().unwrap();
        assert!(words.contains("`c.test`") && words.contains("`plugins.p.sandbox.network`"));
        assert!(notices.try_recv().is_err());
    }
}
