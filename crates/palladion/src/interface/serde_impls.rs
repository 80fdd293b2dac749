//! Nonces and tags in serde's formats: hexadecimal in those for humans, bytes in others.

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::interface::types::{Hex, Nonce, Tag};

struct BytesVisitor<T, const N: usize>(PhantomData<T>);

impl<'de, T: From<[u8; N]>, const N: usize> Visitor<'de> for BytesVisitor<T, N> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{N} bytes or {} hexadecimal digits", 2 * N)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let wrong = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
        let (pairs, []) = text.as_bytes().as_chunks() else { return Err(wrong()) };
        if pairs.len() != N {
            return Err(wrong());
        }
        let mut bytes = [0; N];
        for (byte, pair) in bytes.iter_mut().zip(pairs) {
            let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
            let (high, low) = high.zip(low).ok_or_else(wrong)?;
            *byte = (high << 4 | low) as u8;
        }
        Ok(T::from(bytes))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        let array = <[u8; N]>::try_from(bytes);
        array.map(T::from).map_err(|_| E::invalid_length(bytes.len(), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<T, A::Error> {
        let mut bytes = [0; N];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = items.next_element()?.ok_or_else(|| A::Error::invalid_length(i, &self))?;
        }
        Ok(T::from(bytes))
    }
}

macro_rules! as_bytes {
    ($name:ident) => {
        impl<const N: usize> Serialize for $name<N> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(&Hex(self.as_bytes()))
                } else {
                    serializer.serialize_bytes(self.as_bytes())
                }
            }
        }

        impl<'de, const N: usize> Deserialize<'de> for $name<N> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let visitor = BytesVisitor::<Self, N>(PhantomData);
                if deserializer.is_human_readable() {
                    deserializer.deserialize_str(visitor)
                } else {
                    deserializer.deserialize_bytes(visitor)
                }
            }
        }
    };
}
as_bytes!(Nonce);
as_bytes!(Tag);
