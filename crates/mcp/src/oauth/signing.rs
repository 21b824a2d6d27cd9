//! A client's own key, with which it signs who it is in place of showing a secret (RFC 7523).

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::error::Unspecified;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    RSA_PKCS1_SHA256, RsaKeyPair,
};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use crate::failure::Failure;

/// Seconds for which a signed word holds.
const LIFETIME: u64 = 300;

/// A private key.
pub struct SigningKey {
    pair: Pair,
    algorithm: &'static str,
}

enum Pair {
    Elliptic(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SigningKey")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads the text of a key: an elliptic one (P-256, P-384) or one for RSA, as PEM. The key says
    /// by which algorithm it signs.
    pub fn from_pem(text: &[u8]) -> Result<Self, Failure> {
        let key = PrivateKeyDer::from_pem_slice(text)
            .map_err(|error| Failure::new(format!("this is not a private key in PEM: {error}")))?;
        let (bytes, random) = (key.secret_der(), SystemRandom::new());
        for (kind, algorithm, curve) in [
            (&ECDSA_P256_SHA256_FIXED_SIGNING, "ES256", P256),
            (&ECDSA_P384_SHA384_FIXED_SIGNING, "ES384", P384),
        ] {
            let wrapped = matches!(key, PrivateKeyDer::Sec1(_)).then(|| pkcs8(curve, bytes));
            let bytes = wrapped.as_deref().unwrap_or(bytes);
            if let Ok(pair) = EcdsaKeyPair::from_pkcs8(kind, bytes, &random) {
                return Ok(Self { pair: Pair::Elliptic(pair), algorithm });
            }
        }
        let pair = RsaKeyPair::from_pkcs8(bytes).or_else(|_| RsaKeyPair::from_der(bytes));
        let pair = pair.map_err(|_| {
            Failure::new("this kind of private key is not known here").hinted(
                "an elliptic key (P-256, P-384) with its public part or one for RSA of 2048 bits or \
                 more can sign; `openssl pkey -in OLD -out NEW` adds a public part",
            )
        })?;
        Ok(Self { pair: Pair::Rsa(pair), algorithm: "RS256" })
    }

    /// Returns true if a server lists the algorithm of this key, or lists none at all.
    pub(super) fn is_among(&self, listed: Option<&Value>) -> bool {
        let listed = listed.and_then(Value::as_array);
        listed.is_none_or(|listed| listed.iter().any(|it| it == self.algorithm))
    }

    pub(super) fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    /// A signed assertion of `client` for `audience` alone, valid once and for minutes.
    pub(super) fn assertion(&self, client: &str, audience: &str) -> Result<String, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut unique = [0; 16];
        let filled = SystemRandom::new().fill(&mut unique);
        filled.map_err(|_| Failure::new("no random numbers are available"))?;
        let head = json!({"typ": "client-authentication+jwt", "alg": self.algorithm});
        let claims = json!({
            "iss": client,
            "sub": client,
            "aud": audience,
            "iat": now,
            "exp": now + LIFETIME,
            "jti": URL_SAFE_NO_PAD.encode(unique),
        });
        let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let words = format!("{}.{}", encode(head), encode(claims));
        let signature = self.sign(words.as_bytes());
        let signature = signature.map_err(|_| Failure::new("the private key cannot sign"))?;
        Ok(format!("{words}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn sign(&self, words: &[u8]) -> Result<Vec<u8>, Unspecified> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Elliptic(pair) => Ok(pair.sign(&random, words)?.as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, words, &mut signature)?;
                Ok(signature)
            }
        }
    }
}

/// The object identifiers of the curves, in DER.
const P256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22];
/// The object identifier of elliptic keys, in DER.
const EC_PUBLIC_KEY: &[u8] = &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// Wraps an elliptic key of RFC 5915 as PKCS #8.
fn pkcs8(curve: &[u8], key: &[u8]) -> Vec<u8> {
    let algorithm = der(0x30, &[EC_PUBLIC_KEY, curve].concat());
    der(0x30, &[&[0x02, 0x01, 0x00], algorithm.as_slice(), &der(0x04, key)].concat())
}

/// A value in DER, of at most 64 KiB.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let [.., high, low] = content.len().to_be_bytes();
    let length: &[u8] = match content.len() {
        ..0x80 => &[low],
        0x80..0x100 => &[0x81, low],
        _ => &[0x82, high, low],
    };
    [&[tag], length, content].concat()
}

#[cfg(test)]
mod tests {
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, KeyPair as _, RSA_PKCS1_2048_8192_SHA256,
        UnparsedPublicKey, VerificationAlgorithm,
    };

    use super::*;

    /// One key of each kind, and of each way to write it down.
    fn keys() -> [(&'static str, &'static str); 3] {
        [
            (include_str!("signing/p256.pem"), "ES256"),
            (include_str!("signing/p384-sec1.pem"), "ES384"),
            (include_str!("signing/rsa.pem"), "RS256"),
        ]
    }

    fn public(key: &SigningKey) -> (&'static dyn VerificationAlgorithm, Vec<u8>) {
        match &key.pair {
            Pair::Rsa(pair) => (&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref().to_vec()),
            Pair::Elliptic(pair) if key.algorithm == "ES256" => {
                (&ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref().to_vec())
            }
            Pair::Elliptic(pair) => (&ECDSA_P384_SHA384_FIXED, pair.public_key().as_ref().to_vec()),
        }
    }

    #[test]
    fn signatures_verify_with_the_public_key() {
        for (text, algorithm) in keys() {
            let key = SigningKey::from_pem(text.as_bytes()).unwrap();
            let word = key.assertion("me", "https://as.example").unwrap();
            let (words, signature) = word.rsplit_once('.').unwrap();
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            let (kind, bytes) = public(&key);
            let public = UnparsedPublicKey::new(kind, bytes);
            public.verify(words.as_bytes(), &signature).unwrap();
            let parts = words.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap());
            let parts: Vec<Value> = parts.map(|it| serde_json::from_slice(&it).unwrap()).collect();
            assert_eq!(parts[0]["alg"], algorithm);
            assert_eq!((&parts[1]["iss"], &parts[1]["sub"]), (&json!("me"), &json!("me")));
            assert_eq!(parts[1]["aud"], "https://as.example");
            assert_ne!(word, key.assertion("me", "https://as.example").unwrap());
            assert!(key.is_among(None) && key.is_among(Some(&json!([algorithm]))));
            assert!(!key.is_among(Some(&json!(["none"]))));
        }
    }

    #[test]
    fn invalid_keys_are_refused_and_keys_do_not_print() {
        let error = SigningKey::from_pem(b"hush").unwrap_err().to_string();
        assert!(error.contains("not a private key in PEM"), "{error}");
        let [(text, _), ..] = keys();
        let key = SigningKey::from_pem(text.as_bytes()).unwrap();
        assert_eq!(format!("{key:?}"), "SigningKey { algorithm: \"ES256\", .. }");
    }
}
