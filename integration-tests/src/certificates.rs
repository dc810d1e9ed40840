//! A certificate for `localhost` that nobody trusts who was not told to.

use std::path::PathBuf;

use base64::{Engine, engine::general_purpose::STANDARD};
use tempfile::TempDir;

use crate::error::{Result, io};

const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";

/// Files in a folder of their own, gone when this is dropped.
#[derive(Debug)]
pub struct Certificates(TempDir);

impl Certificates {
    /// Makes a certificate and its key.
    ///
    /// # Panics
    /// If there is no randomness, which no test can mend.
    pub fn make() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("gengfu-tls-")
            .tempdir()
            .map_err(io("creating a folder for certificates"))?;
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        for (name, label, der) in [
            (CERTIFICATE, "CERTIFICATE", made.cert.der().to_vec()),
            (KEY, "PRIVATE KEY", made.signing_key.serialize_der()),
        ] {
            let text = format!(
                "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
                STANDARD.encode(der)
            );
            std::fs::write(folder.path().join(name), text).map_err(io(format!("writing {name}")))?;
        }
        Ok(Self(folder))
    }

    /// The certificate, which is also what a client has to trust.
    pub fn certificate(&self) -> PathBuf {
        self.0.path().join(CERTIFICATE)
    }

    /// Its key.
    pub fn key(&self) -> PathBuf {
        self.0.path().join(KEY)
    }
}
