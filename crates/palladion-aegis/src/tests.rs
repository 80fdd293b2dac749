//! Tests of the limit on a message's length, which need its state.

macro_rules! limits {
    ($($module:ident, $cipher:ident;)*) => { $(
        mod $module {
            use crate::Error;
            use crate::$module::{$cipher, Key, Nonce};
            use palladion::MAX_LEN;

            fn cipher() -> $cipher<16> {
                $cipher::new(&Key::default(), &Nonce::default())
            }

            #[test]
            fn encryption_ends_at_the_limit() {
                let mut encryptor = cipher().encryptor(b"");
                encryptor.set_consumed_length_for_tests(MAX_LEN - 1);
                encryptor.update_in_place(&mut [0]);
            }

            #[test]
            #[should_panic(expected = "total message length exceeds 2^61 - 1 bytes")]
            fn encryption_past_the_limit_panics() {
                let mut encryptor = cipher().encryptor(b"");
                encryptor.set_consumed_length_for_tests(MAX_LEN);
                encryptor.update_in_place(&mut [0]);
            }

            #[test]
            fn decryption_past_the_limit_fails() {
                let mut output = [0; 2];
                let mut decryptor = cipher().decryptor(b"", &mut output);
                decryptor.set_consumed_length_for_tests(MAX_LEN - 1);
                decryptor.update(&[0]).unwrap();
                assert_eq!(decryptor.update(&[0]), Err(Error::MessageTooLong));
                decryptor.update(&[]).unwrap();
            }
        }
    )* };
}

limits! {
    aegis128l, Aegis128L;
    aegis128x2, Aegis128X2;
    aegis128x4, Aegis128X4;
    aegis256, Aegis256;
    aegis256x2, Aegis256X2;
    aegis256x4, Aegis256X4;
}
