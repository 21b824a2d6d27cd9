//! Patterns for hosts. An allow rule covers one spelling of a name; deny and ask rules cover every
//! spelling that some program would take for it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use contract::policy::Decision;
use formats::percent;

use crate::glob::{Reading, meet};

/// A pattern for hosts: a name, or `*.` and a name for all beneath it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPattern(String);

impl HostPattern {
    /// Reads a pattern.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = ascii(&text.trim().to_lowercase());
        let body = text.strip_prefix("*.").unwrap_or(&text);
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
        (text == "*" || (!body.is_empty() && body.chars().all(plain))).then_some(Self(text))
    }

    /// Returns true if a rule of this decision matches `host`, which may end in a port.
    pub(crate) fn matches(&self, host: &str, decision: Decision) -> bool {
        match decision {
            Decision::Allow => {
                let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
                if !host.chars().all(plain) {
                    return false;
                }
                let lower = host.to_ascii_lowercase();
                // Only the ports of the web belong to a host's bare name.
                let name = lower
                    .strip_suffix(":443")
                    .or_else(|| lower.strip_suffix(":80"))
                    .filter(|name| !name.ends_with(':') && !self.0.contains(':'))
                    .unwrap_or(&lower);
                self.0 == "*" || self.fits(name)
            }
            Decision::Ask | Decision::Deny => {
                let (_, port) = self.parts();
                let same_port = port.is_none_or(|port| host.rsplit(':').next() == Some(port));
                self.0 == "*" || (same_port && self.could_be_in(host))
            }
        }
    }

    /// Returns true if it matches every host.
    pub(crate) fn is_any(&self) -> bool {
        self.0 == "*"
    }

    /// Returns true if a text contains such a host: an address with anything around the
    /// host, in any spelling.
    pub(crate) fn could_be_in(&self, text: &str) -> bool {
        let wanted = canonical(self.parts().0);
        // An address has nothing beneath it.
        let beneath = numeric(&wanted).is_none().then(|| format!(".{wanted}"));
        let is_in = |text: &str| {
            candidates(text).any(|candidate| {
                let name = canonical(candidate);
                let open = name.contains(['[', '{']);
                name == wanted
                    || beneath.as_ref().is_some_and(|beneath| name.ends_with(beneath))
                    // Some programs have patterns of their own in addresses.
                    || (open && meet((&name, Reading::Shell), (&wanted, Reading::Literal)))
            })
        };
        let text = folded(text);
        // Programs that follow the older standard write these two letters otherwise.
        is_in(&text)
            || (text.contains(['ß', 'ς']) && is_in(&text.replace('ß', "ss").replace('ς', "σ")))
    }

    /// The name, without a leading `*.`, and the port where it has one.
    fn parts(&self) -> (&str, Option<&str>) {
        let text = self.0.strip_prefix("*.").unwrap_or(&self.0);
        match text.rsplit_once(':') {
            Some((name, port))
                if is_number(port) && (name.ends_with(']') || !name.contains(':')) =>
            {
                (name, Some(port))
            }
            Some(_) | None => (text, None),
        }
    }

    fn fits(&self, name: &str) -> bool {
        match self.0.strip_prefix("*.") {
            Some(domain) => {
                meet((&format!("*?.{domain}"), Reading::Rule), (name, Reading::Literal))
            }
            None => self.0 == name,
        }
    }

    /// The pattern as it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// The text in lower case, escapes of addresses decoded, letters and dots of other forms made
/// plain.
fn folded(text: &str) -> String {
    let decoded = String::from_utf8_lossy(&percent::decode(text)).to_lowercase();
    if decoded.is_ascii() {
        return decoded;
    }
    let plain = |c: char| match c {
        '\u{3002}' | '\u{ff61}' => Some('.'),
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0),
        c if contract::text::is_hidden(c) => None,
        c => Some(c),
    };
    decoded.chars().filter_map(plain).collect::<String>().to_lowercase()
}

/// Every part of a text that could be a host.
fn candidates(text: &str) -> impl Iterator<Item = &str> {
    let in_name = |c: char| c.is_alphanumeric() || ".-_[]{}".contains(c);
    let in_number = |c: char| c.is_ascii_hexdigit() || ":.".contains(c);
    let names = text.split(move |c: char| !in_name(c));
    let numbers =
        text.split(move |c: char| !in_number(c)).filter(|part| part.matches(':').count() > 1);
    // Marks that follow their letter, and signs, are parts of names too; quotes and blanks are not.
    let is_around =
        |c: char| matches!(c, '\0'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}');
    let rest = if text.is_ascii() { "" } else { text };
    let others = rest.split(move |c: char| is_around(c) && !in_name(c));
    let others = others.filter(|part| !part.is_ascii());
    names.chain(numbers).chain(others).filter(|part| !part.is_empty())
}

/// A name as it is asked for: letters beyond ASCII by their code (`bücher.de` is `xn--bcher-kva.de`).
fn ascii(name: &str) -> String {
    if name.is_ascii() {
        return name.to_owned();
    }
    idna::domain_to_ascii(name).unwrap_or_else(|_| name.to_owned())
}

/// A host in the one form that equal hosts share.
fn canonical(host: &str) -> String {
    let bare = host.trim_matches(['[', ']']).trim_end_matches('.');
    if let Some(address) = numeric(bare) {
        return address.to_string();
    }
    match bare.parse::<Ipv6Addr>() {
        Ok(address) => match address.to_ipv4_mapped() {
            Some(mapped) => mapped.to_string(),
            None => IpAddr::V6(address).to_string(),
        },
        Err(_) => ascii(host.trim_matches('.')),
    }
}

/// An IPv4 address as the C library reads it: one to four numbers, each decimal, octal or
/// hexadecimal, the last of which fills what is left.
fn numeric(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, leading) = parts.split_last()?;
    if leading.len() > 3 || leading.iter().any(|part| *part > 255) {
        return None;
    }
    let left = 4 - leading.len();
    if *last >= 1_u64 << (8 * left) {
        return None;
    }
    let high = leading.iter().fold(0, |sum, part| (sum << 8) | part);
    u32::try_from((high << (8 * left)) | last).ok().map(Ipv4Addr::from_bits)
}

fn number(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    match text.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => u64::from_str_radix(digits, 8).ok(),
        Some(_) | None => is_number(text).then(|| text.parse().ok()).flatten(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(pattern: &str, host: &str, decision: Decision) -> bool {
        HostPattern::parse(pattern).unwrap().matches(host, decision)
    }

    #[test]
    fn allowed_host_matches_exactly() {
        assert!(host("docs.x.com", "docs.x.com", Decision::Allow));
        assert!(host("docs.x.com", "DOCS.x.com:443", Decision::Allow));
        for other in [
            "docs.x.com.evil.test",
            "docs.x.com@evil.test",
            "evil.test/docs.x.com",
            "docs.x.com:1",
            "docs.x.com.",
            "xn--docs-x.com",
            "a.docs.x.com",
            "docs.x.com%2e",
            "evil\0.docs.x.com",
        ] {
            assert!(!host("docs.x.com", other, Decision::Allow), "{other}");
        }
    }

    #[test]
    fn denied_host_covers_subdomains_and_spellings() {
        for other in ["x.com", "a.x.com", "X.COM.", "x.com:8080", "u@x.com"] {
            assert!(host("x.com", other, Decision::Deny), "{other}");
        }
        assert!(!host("x.com", "ax.com", Decision::Deny));
    }

    #[test]
    fn punycode_and_unicode_names_are_one_host() {
        for pattern in ["bücher.de", "xn--bcher-kva.de", "BÜCHER.de", "bu\u{308}cher.de"] {
            for other in [
                "bücher.de",
                "BÜCHER.DE",
                "bu%CC%88cher.de",
                "b%C3%BCcher.de",
                "http://www.bücher。de/",
                "XN--BCHER-KVA.de",
                "“bücher.de”",
                "“bu\u{308}cher.de”",
            ] {
                assert!(host(pattern, other, Decision::Deny), "{pattern} {other}");
            }
            for other in ["bucher.de", "buecher.de", "bücher.de.evil.test"] {
                assert!(!host(pattern, other, Decision::Deny), "{pattern} {other}");
            }
            assert!(host(pattern, "xn--bcher-kva.de", Decision::Allow));
            assert!(!host(pattern, "bücher.de", Decision::Allow));
        }
        assert!(host("*.bücher.de", "a.xn--bcher-kva.de", Decision::Deny));
        assert!(host("fass.de", "faß.de", Decision::Deny));
        assert!(host("faß.de", "xn--fa-hia.de", Decision::Deny));
        assert!(host("☃.net", "http://☃.net/", Decision::Deny));
        assert!(host("bücher.de:81", "xn--bcher-kva.de:81", Decision::Deny));
        assert!(HostPattern::parse("bü cher.de").is_none());
    }

    #[test]
    fn every_spelling_of_a_denied_address_is_denied() {
        for other in [
            "127.1",
            "0x7f000001",
            "2130706433",
            "0177.0.0.1",
            "[::ffff:127.0.0.1]:80",
            "127.0.0.1.",
            "127.0.0.1:8080",
            "%31%32%37.0.0.1",
        ] {
            assert!(host("127.0.0.1", other, Decision::Deny), "{other}");
        }
        for other in ["ｅvil.test", "evil。test", "ev%69l.test", "EVIL.TEST..", "ev\u{200b}il.test"]
        {
            assert!(host("evil.test", other, Decision::Deny), "{other}");
        }
        for other in ["127.0.0.2", "10.127.0.0.1x", "evil.tests", "notevil.test"] {
            assert!(!host("127.0.0.1", other, Decision::Deny), "{other}");
            assert!(!host("evil.test", other, Decision::Deny), "{other}");
        }
        assert!(host("x.com:81", "X.com:81", Decision::Deny));
        assert!(!host("x.com:81", "x.com:82", Decision::Deny));
        assert!(host("[::1]", "[0:0:0:0:0:0:0:1]:443", Decision::Deny));
    }

    #[test]
    fn star_host_covers_subdomains_only() {
        assert!(host("*.x.com", "a.b.x.com", Decision::Allow));
        assert!(!host("*.x.com", "x.com", Decision::Allow));
        assert!(!host("*.x.com", "x.com.evil", Decision::Allow));
    }
}
