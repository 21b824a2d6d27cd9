//! A client's own key, with which it signs who it is in place of showing a secret (RFC 7523).

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::{self, SystemRandom};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
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
            .map_err(|error| Failure::new(format!("this is no private key in PEM: {error}")))?;
        let bytes = key.secret_der();
        for (kind, algorithm) in [
            (&ECDSA_P256_SHA256_FIXED_SIGNING, "ES256"),
            (&ECDSA_P384_SHA384_FIXED_SIGNING, "ES384"),
        ] {
            if let Ok(pair) = EcdsaKeyPair::from_private_key_der(kind, bytes) {
                return Ok(Self { pair: Pair::Elliptic(pair), algorithm });
            }
        }
        let pair = RsaKeyPair::from_pkcs8(bytes).or_else(|_| RsaKeyPair::from_der(bytes));
        let pair = pair.map_err(|_| {
            Failure::new("this kind of private key is not known here").hinted(
                "an elliptic key (P-256, P-384) or one for RSA of 2048 bits or more can sign",
            )
        })?;
        Ok(Self { pair: Pair::Rsa(pair), algorithm: "RS256" })
    }

    /// Returns true if a server lists the algorithm of this key, or lists none at all.
    pub(super) fn is_among(&self, listed: Option<&Value>) -> bool {
        let listed = listed.and_then(Value::as_array);
        listed.is_none_or(|listed| listed.iter().any(|it| it == self.algorithm))
    }

    /// The name of its algorithm.
    pub(super) fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    /// A signed assertion of `client` for `audience` alone, valid once and for minutes.
    pub(super) fn assertion(&self, client: &str, audience: &str) -> Result<String, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut unique = [0; 16];
        rand::fill(&mut unique).map_err(|_| Failure::new("this machine has no random numbers"))?;
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

    fn sign(&self, words: &[u8]) -> Result<Vec<u8>, aws_lc_rs::error::Unspecified> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Elliptic(pair) => Ok(pair.sign(&random, words)?.as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, words, &mut signature)?;
                Ok(signature)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::{AsDer as _, EcPrivateKeyRfc5915Der, Pkcs8V1Der};
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, KeyPair as _, ParsedPublicKey,
        RSA_PKCS1_2048_8192_SHA256, VerificationAlgorithm,
    };

    use super::*;

    fn pem(label: &str, bytes: &[u8]) -> String {
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        let lines: Vec<&str> = (0..text.len()).step_by(64).map(|at| line(&text, at)).collect();
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
    }

    fn line(text: &str, at: usize) -> &str {
        &text[at..text.len().min(at + 64)]
    }

    /// One key of each kind, and of each way to write it down.
    fn keys() -> [(String, &'static str); 3] {
        let elliptic = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let other = EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap();
        let other: EcPrivateKeyRfc5915Der<'_> = other.private_key().as_der().unwrap();
        let rsa = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let rsa: Pkcs8V1Der<'_> = rsa.as_der().unwrap();
        [
            (pem("PRIVATE KEY", elliptic.to_pkcs8v1().unwrap().as_ref()), "ES256"),
            (pem("EC PRIVATE KEY", other.as_ref()), "ES384"),
            (pem("PRIVATE KEY", rsa.as_ref()), "RS256"),
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
            let public = ParsedPublicKey::new(kind, bytes).unwrap();
            public.verify_sig(words.as_bytes(), &signature).unwrap();
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
        assert!(error.contains("no private key in PEM"), "{error}");
        let [(text, _), ..] = keys();
        let key = SigningKey::from_pem(text.as_bytes()).unwrap();
        assert_eq!(format!("{key:?}"), "SigningKey { algorithm: \"ES256\", .. }");
    }
}
