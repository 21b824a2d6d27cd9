//! Bytes of an address that are written as `%` and two digits.

/// Returns the bytes that a text stands for. A `%` without two digits is text.
pub fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        let code = digit(0).zip(digit(1)).filter(|_| *byte == b'%');
        let code = code.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    bytes
}

/// Writes a value as one piece of a path or of a query: nothing in it can end the piece.
pub fn encode(value: &str) -> String {
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
    fn value_is_encoded_and_decoded() {
        let value = "a/../b?c=d&e#f%2e é";
        assert_eq!(encode(value), "a%2F..%2Fb%3Fc%3Dd%26e%23f%252e%20%C3%A9");
        assert_eq!(decode(&encode(value)), value.as_bytes());
        assert_eq!(encode("A-z_0.9~"), "A-z_0.9~");
    }

    #[test]
    fn sign_without_two_digits_is_text() {
        assert_eq!(decode("%2f%+1%4%zz%é%"), "/%+1%4%zz%é%".as_bytes());
    }
}
