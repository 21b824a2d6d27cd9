//! Which addresses are private: of this machine, of its network, or without meaning on the internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(super) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    // This network, private use, loopback; multicast, reserved, broadcast.
    let whole = matches!(a, 0 | 10 | 127 | 224..);
    // Carriers' own, link-local and the metadata of clouds, private use, benchmarks.
    let half = matches!((a, b), (100, 64..=127) | (169, 254) | (172, 16..=31) | (192, 168))
        || matches!((a, b), (198, 18 | 19));
    // Protocol assignments, documentation, relays.
    let small =
        matches!((a, b, c), (192, 0, 0 | 2) | (192, 88, 99) | (198, 51, 100) | (203, 0, 113));
    whole || half || small
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = embedded(address) {
        return is_private_v4(inner);
    }
    let segments = address.segments();
    match segments[0] {
        // Unspecified, loopback and the rest of their block; translation, documentation, routing.
        0 | 0x0064 | 0x3fff | 0x5f00 => true,
        0x0100 => segments[1..4] == [0, 0, 0],
        0x2001 => segments[1] == 0x0db8 || segments[1] < 0x0200,
        // Unique local, link-local, site-local, multicast.
        first => first & 0xfe00 == 0xfc00 || first & 0xff80 == 0xfe80 || first >= 0xfec0,
    }
}

fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let at = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0 | 0xffff, 0 | 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(at(high, low)),
        [0x2001, 0, _, _, _, _, high, low] => Some(at(!high, !low)),
        _ => None,
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
            "fe80::1",
            "fd00::1",
            "fec0::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
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
            "2002:808:808::",
        ] {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }
}
