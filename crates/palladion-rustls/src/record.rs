//! TLS records (RFC 8446 §5.2).

use std::marker::PhantomData;

use palladion::family::Family;
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter,
    OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload, Tls13AeadAlgorithm,
    UnsupportedOperationError, make_tls13_aad,
};
use rustls::{ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion};

use crate::keys::{Keys, TAG_LEN};

/// The AEAD of a suite.
pub(crate) struct Aead<F, const D: usize>(pub(crate) PhantomData<fn() -> F>);

impl<F: Family + 'static, const D: usize> Tls13AeadAlgorithm for Aead<F, D> {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Box::new(Keys::<F, D>::new(&key, &iv))
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Box::new(Keys::<F, D>::new(&key, &iv))
    }

    fn key_len(&self) -> usize {
        F::KEY_LEN
    }

    /// rustls's type for keys that leave it, such as for kTLS, knows only AES-GCM and ChaCha20.
    fn extract_keys(
        &self,
        _: AeadKey,
        _: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Err(UnsupportedOperationError)
    }
}

impl<F: Family, const D: usize> MessageEncrypter for Keys<F, D> {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let len = self.encrypted_payload_len(msg.payload.len());
        let mut payload = PrefixedPayload::with_capacity(len);
        payload.extend_from_chunks(&msg.payload);
        payload.extend_from_slice(&msg.typ.to_array());
        let tag = self.seal(seq, &make_tls13_aad(len), payload.as_mut())?;
        payload.extend_from_slice(&tag);
        // TLS 1.3 sends the version number of TLS 1.2 (RFC 8446 §5.1).
        let version = ProtocolVersion::TLSv1_2;
        Ok(OutboundOpaqueMessage::new(ContentType::ApplicationData, version, payload))
    }

    fn encrypted_payload_len(&self, len: usize) -> usize {
        len + 1 + TAG_LEN // the message, its type, and the tag
    }
}

impl<F: Family, const D: usize> MessageDecrypter for Keys<F, D> {
    fn decrypt<'a>(
        &mut self,
        mut msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let aad = make_tls13_aad(msg.payload.len());
        let len = self.open(seq, &aad, &mut msg.payload)?.len();
        msg.payload.truncate(len);
        msg.into_tls13_unpadded_message()
    }
}
