//! Values at their places in an address.

/// A value as one piece of a path or of a query: nothing in it can end the piece.
pub(super) fn component(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            for digit in [byte >> 4, byte & 15] {
                encoded.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_percent_encoded_in_an_address() {
        assert_eq!(component("a/../b?c=d&e#f%2e é"), "a%2F..%2Fb%3Fc%3Dd%26e%23f%252e%20%C3%A9");
        assert_eq!(component("A-z_0.9~"), "A-z_0.9~");
    }
}
