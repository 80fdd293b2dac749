//! The suites.

use std::marker::PhantomData;

use palladion::family::{Aegis128, Aegis256};
use rustls::{CipherSuite, CipherSuiteCommon, SupportedCipherSuite, Tls13CipherSuite};

use crate::hash::{SHA256, SHA512};
use crate::iv::KeySchedule;
use crate::quic::Quic;
use crate::record::Aead;

macro_rules! suites {
    ($(
        $(#[$feature:meta])?
        $name:ident = $code:literal, $text:literal: $family:ident of $degree:literal,
            $hash:ident, IV of $iv_len:literal;
    )*) => {
        $(
            $(#[$feature])?
            #[doc = concat!("TLS_", $text, " (", stringify!($code), ").")]
            pub static $name: SupportedCipherSuite =
                SupportedCipherSuite::Tls13(&Tls13CipherSuite {
                    common: CipherSuiteCommon {
                        suite: CipherSuite::Unknown($code), // rustls has no name for it
                        hash_provider: &$hash,
                        confidentiality_limit: crate::MAX_MESSAGES,
                    },
                    hkdf_provider: &KeySchedule { hmac: &$hash, iv_len: $iv_len },
                    aead_alg: &Aead::<$family, $degree>(PhantomData),
                    quic: Some(&Quic::<$family, $degree>(PhantomData)),
                });
        )*

        /// Returns the AEGIS suites, in the order of preference, for providers of your own. Use a
        /// suite as a whole: its AEAD panics if the HKDF is not its own.
        #[must_use]
        pub fn suites() -> &'static [SupportedCipherSuite] {
            static SUITES: &[SupportedCipherSuite] = &[$( $(#[$feature])? $name, )*];
            SUITES
        }

        /// Returns the name of a suite, such as "TLS_AEGIS_128L_SHA256", if it is known. rustls
        /// itself has no names for AEGIS and prints "Unknown(0x1307)".
        #[must_use]
        pub fn name(suite: CipherSuite) -> Option<&'static str> {
            match suite {
                $( $(#[$feature])? CipherSuite::Unknown($code) => Some(concat!("TLS_", $text)), )*
                _ => suite.as_str(),
            }
        }
    };
}

suites! {
    TLS13_AEGIS_128L_SHA256 = 0x1307, "AEGIS_128L_SHA256": Aegis128 of 1, SHA256, IV of 16;
    TLS13_AEGIS_256_SHA512 = 0x1306, "AEGIS_256_SHA512": Aegis256 of 1, SHA512, IV of 32;
    #[cfg(feature = "experimental-parallel")]
    TLS13_AEGIS_128X2_SHA256 = 0xff01, "AEGIS_128X2_SHA256": Aegis128 of 2, SHA256, IV of 16;
    #[cfg(feature = "experimental-parallel")]
    TLS13_AEGIS_256X2_SHA512 = 0xff02, "AEGIS_256X2_SHA512": Aegis256 of 2, SHA512, IV of 32;
    #[cfg(feature = "experimental-parallel")]
    TLS13_AEGIS_128X4_SHA256 = 0xff03, "AEGIS_128X4_SHA256": Aegis128 of 4, SHA256, IV of 16;
    #[cfg(feature = "experimental-parallel")]
    TLS13_AEGIS_256X4_SHA512 = 0xff04, "AEGIS_256X4_SHA512": Aegis256 of 4, SHA512, IV of 32;
}
