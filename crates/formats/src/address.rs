//! Addresses on the network: which are of this machine, of the network around it, or without
//! meaning on the internet. A name that leads to one of them could be meant to reach something that
//! is not public.

use std::net::{IpAddr, Ipv4Addr};

/// Networks of IPv4 that are private or mean nothing outside, as first address and length.
const PRIVATE: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Returns true if an address is not of the public internet.
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => match address.segments() {
            // NAT64 carries an IPv4 address.
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                is_private_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
            }
            // Protocol assignments such as Teredo; documentation.
            [0x2001, second, ..] => second < 0x0200 || second == 0x0db8,
            // Only global unicast is public, less 6to4 and documentation.
            [first, ..] => first & 0xe000 != 0x2000 || [0x2002, 0x3fff].contains(&first),
        },
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    PRIVATE.iter().any(|(first, length)| {
        let mask = u32::MAX << (32 - length);
        address.to_bits() & mask == Ipv4Addr::from(*first).to_bits()
    })
}

/// The literal address that a host of a URL is, if it is one. IPv6 may stand in brackets.
pub fn parse(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Returns true for `localhost` and literal addresses of this machine.
pub fn is_loopback(host: &str) -> bool {
    parse(host).map_or(host == "localhost", |address| address.is_loopback())
}

/// Returns true for `localhost` and for literal addresses of this machine or of a private network,
/// but not for link-local ones, at which clouds serve credentials.
pub fn is_local(host: &str) -> bool {
    match parse(host) {
        Some(IpAddr::V4(address)) => address.is_loopback() || address.is_private(),
        Some(IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
        None => host == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_its_surroundings_are_private() {
        for address in [
            "127.0.0.1",
            "127.8.8.8",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "240.1.1.1",
            "192.0.2.1",
            "198.18.0.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "::7f00:1",
            "2001::1",
            "fe80::1",
            "fd00::1",
            "fec0::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:808:808::",
            "2001:db8::1",
            "2001:0:0:0:0:0:80ff:fffe",
            "100::1",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn addresses_of_the_internet_are_not() {
        for address in [
            "8.8.8.8",
            "1.1.1.1",
            "100.63.0.1",
            "172.32.0.1",
            "93.184.216.34",
            "192.0.1.1",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "64:ff9b::808:808",
        ] {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn local_hosts_are_of_this_machine_or_its_network() {
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            assert!(is_loopback(host) && is_local(host), "{host}");
        }
        for host in ["10.1.2.3", "192.168.0.1", "[fd00::1]"] {
            assert!(!is_loopback(host) && is_local(host), "{host}");
        }
        for host in ["example.org", "127.example.org", "8.8.8.8", "169.254.169.254", ""] {
            assert!(!is_loopback(host) && !is_local(host), "{host}");
        }
    }
}
