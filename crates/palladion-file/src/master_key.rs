//! Master keys, and key files.

use std::fmt;

use hkdf::Hkdf;
use palladion::subtle::ConstantTimeEq;
use palladion::{Algorithm, Tag};
use sha2::Sha256;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::error::{Error, KeyFileError};

/// In bytes. A longer file is something else.
const LONGEST_KEY_FILE: usize = 64 << 10;
pub(crate) const KEY_FILE_PREFIX: &str = "palladion-key-1:";
/// Begins the comment after the key, which ends with the key's fingerprint. Older readers ignore
/// it.
const CHECK_PREFIX: &str = "# check: ";
/// Bytes in a fingerprint.
const FINGERPRINT_LEN: usize = 4;

/// 32 random bytes from which the keys of any number of files are derived. Wiped on drop.
///
/// ```
/// use palladion_file::MasterKey;
///
/// let key = MasterKey::generate()?;
/// let text = key.to_key_file();
/// assert!(text.starts_with("palladion-key-1:"));
/// assert!(text.ends_with(&format!("\n# check: {}\n", key.fingerprint())));
/// assert_eq!(MasterKey::from_key_file(&text).unwrap().as_bytes(), key.as_bytes());
/// # Ok::<(), palladion_file::Error>(())
/// ```
#[derive(Clone)]
pub struct MasterKey(Zeroizing<[u8; 32]>);

impl MasterKey {
    /// A key from the system's random number generator.
    pub fn generate() -> Result<Self, Error> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(Error::no_randomness)?;
        Ok(Self(key))
    }

    /// The bytes of the key. Keep them secret.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn as_mut_bytes(&mut self) -> &mut [u8; 32] {
        &mut self.0
    }

    /// Eight hexadecimal digits to tell keys apart by. They reveal nothing else about the key, so
    /// they may be shown.
    ///
    /// ```
    /// use palladion_file::MasterKey;
    ///
    /// assert_eq!(MasterKey::from([0x5a; 32]).fingerprint(), "72109520");
    /// ```
    pub fn fingerprint(&self) -> String {
        let mut digits = [0; 2 * FINGERPRINT_LEN];
        let digits = base16ct::lower::encode_str(&self.fingerprint_bytes(), &mut digits);
        digits.expect("two digits for each byte").to_string()
    }

    fn fingerprint_bytes(&self) -> [u8; FINGERPRINT_LEN] {
        let mut fingerprint = [0; FINGERPRINT_LEN];
        Hkdf::<Sha256>::new(None, &*self.0)
            .expand(b"palladion key fingerprint v1", &mut fingerprint)
            .expect("HKDF gives up to 8160 bytes");
        fingerprint
    }

    /// Reads the text of a key file: one line `palladion-key-1:` and 64 hexadecimal digits. Lines
    /// that begin with `#` are comments; they, empty lines and a byte order mark are ignored. But
    /// if there are comments such as [`to_key_file`](Self::to_key_file) writes, `# check:` and a
    /// [fingerprint](Self::fingerprint), one of them must have the fingerprint of the key. A text
    /// of more than 64 KiB is refused.
    ///
    /// ```
    /// use palladion_file::{KeyFileError, MasterKey};
    ///
    /// let text = format!("# for the backups\npalladion-key-1:{}\n", "5a".repeat(32));
    /// assert_eq!(MasterKey::from_key_file(&text)?.as_bytes(), &[0x5a; 32]);
    /// assert_eq!(MasterKey::from_key_file("ssh-rsa AAAA").unwrap_err(), KeyFileError::NoKey);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn from_key_file(text: &str) -> Result<Self, KeyFileError> {
        if text.len() > LONGEST_KEY_FILE {
            return Err(KeyFileError::TooLong);
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // The digits are found by their position. Only `decode` looks at them, in constant time.
        let line = without_comments(text);
        // This never fails. An index would format the text with `Debug` if it did: see `Reason`.
        let before = text.get(..text.len() - line.len()).unwrap_or_default();
        let line = line.strip_prefix(KEY_FILE_PREFIX).ok_or_else(|| {
            if text.contains('\0') { KeyFileError::NotUtf8 } else { KeyFileError::NoKey }
        })?;
        let line = line.as_bytes();
        let spaces = line.iter().take_while(|byte| is_space(**byte)).count();
        let (digits, rest) = line[spaces..].split_first_chunk().ok_or(KeyFileError::NotHex)?;
        let mut key = Zeroizing::new([0; 32]);
        decode(digits, &mut key)?;
        // This never fails: after ASCII digits comes a whole character.
        let rest = text.get(text.len() - rest.len()..).ok_or(KeyFileError::NotHex)?;
        let (end, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        if !end.trim().is_empty() {
            return Err(KeyFileError::NotHex);
        }
        if !without_comments(rest).is_empty() {
            return Err(KeyFileError::NotOneKey);
        }
        let key = Self(key);
        // `Tag` compares in constant time.
        let fingerprint = Tag::from(key.fingerprint_bytes());
        let mut checks = before.lines().chain(rest.lines()).filter_map(check_of).peekable();
        match checks.peek().is_some() && !checks.any(|check| Tag::from(check) == fingerprint) {
            true => Err(KeyFileError::WrongCheck),
            false => Ok(key),
        }
    }

    /// The text of a key file that holds this key: a line with the key, and one that checks it.
    pub fn to_key_file(&self) -> Zeroizing<String> {
        let check = [CHECK_PREFIX, &self.fingerprint(), "\n"].concat();
        // Large enough from the start: growing would leave copies in freed memory.
        let len = KEY_FILE_PREFIX.len() + 65 + check.len();
        let mut text = Zeroizing::new(String::with_capacity(len));
        text.push_str(KEY_FILE_PREFIX);
        let mut digits = Zeroizing::new([0; 64]);
        text.push_str(
            base16ct::lower::encode_str(&*self.0, &mut *digits).expect("two digits for each byte"),
        );
        text.push('\n');
        text.push_str(&check);
        text
    }

    /// The key under which [`Mac`](crate::Mac) authenticates with this algorithm. It is independent
    /// of all file keys, so one master key can serve both.
    pub(crate) fn mac_key(&self, algorithm: Algorithm) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0; 32]);
        Hkdf::<Sha256>::new(None, &*self.0)
            .expand_multi_info(
                &[b"palladion mac v1", &[algorithm.id()]],
                &mut key[..algorithm.key_len()],
            )
            .expect("HKDF gives up to 8160 bytes");
        key
    }
}

/// Returns what comes after empty lines and comments.
fn without_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        if !text.starts_with('#') {
            return text;
        }
        text = text.split_once('\n').map_or("", |(_, rest)| rest);
    }
}

/// The fingerprint in a comment, if it has the form of one that checks a key.
fn check_of(line: &str) -> Option<[u8; FINGERPRINT_LEN]> {
    let comment = line.trim_start().strip_prefix('#')?.trim_start();
    let digits = comment.strip_prefix("check:")?.trim();
    let mut check = [0; FINGERPRINT_LEN];
    let decoded = base16ct::mixed::decode(digits, &mut check).ok()?;
    (decoded.len() == FINGERPRINT_LEN).then_some(check)
}

/// Returns whether a byte is a space or a tab, in constant time, because it may be the first digit.
/// `Tag` compares that way.
fn is_space(byte: u8) -> bool {
    Tag::from([byte]) == Tag::from([b' ']) || Tag::from([byte]) == Tag::from([b'\t'])
}

/// Decodes hexadecimal digits in constant time. Of wrong digits, only their presence is revealed.
fn decode(digits: &[u8; 64], key: &mut [u8; 32]) -> Result<(), KeyFileError> {
    /// All bits set if the number is within the limits.
    fn within(number: u32, first: u8, last: u8) -> u32 {
        let below = number.wrapping_sub(first.into());
        let above = u32::from(last).wrapping_sub(number);
        (((below | above) >> 31) ^ 1).wrapping_neg()
    }
    let mut wrong = 0;
    let mut value = |digit: u8| {
        let (digit, lower) = (u32::from(digit), u32::from(digit | 0x20));
        let (is_decimal, is_letter) = (within(digit, b'0', b'9'), within(lower, b'a', b'f'));
        wrong |= !(is_decimal | is_letter);
        (is_decimal & digit.wrapping_sub(b'0'.into()))
            | (is_letter & lower.wrapping_sub(u32::from(b'a' - 10)))
    };
    for (byte, digits) in key.iter_mut().zip(digits.as_chunks().0) {
        let [high, low] = *digits;
        *byte = (value(high) << 4 | value(low)) as u8;
    }
    // `Tag` compares all four bytes at once.
    if Tag::from(wrong.to_ne_bytes()) == Tag::from([0; 4]) {
        Ok(())
    } else {
        Err(KeyFileError::NotHex)
    }
}

impl ZeroizeOnDrop for MasterKey {}

/// Compares in constant time.
impl PartialEq for MasterKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl Eq for MasterKey {}

impl From<[u8; 32]> for MasterKey {
    fn from(key: [u8; 32]) -> Self {
        Self(Zeroizing::new(key))
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_digits() {
        for place in 0..64 {
            for digit in 0..=u8::MAX {
                let (mut digits, mut key) = ([b'0'; 64], [1; 32]);
                digits[place] = digit;
                let value = char::from(digit).to_digit(16);
                assert_eq!(
                    decode(&digits, &mut key).is_ok(),
                    value.is_some(),
                    "{digit:02x} at {place}"
                );
                if let Some(value) = value {
                    let mut expected = [0; 32];
                    expected[place / 2] = (value as u8) << if place % 2 == 0 { 4 } else { 0 };
                    assert_eq!(key, expected);
                }
            }
        }
    }

    #[test]
    fn comparison() {
        let key = |byte| MasterKey::from([byte; 32]);
        assert!(key(1) == key(1) && key(1) != key(2));
    }

    #[test]
    fn key_files() {
        use KeyFileError::{NoKey, NotHex, NotOneKey};
        let (hex, line) = ("0123456789abcdefABCDEF9876543210".repeat(2), KEY_FILE_PREFIX);
        for (text, expected) in [
            (format!("{line}{hex}"), Ok(())),
            (format!("\n # a\r\n#b\n\n  {line} \t{hex}\t\r\n\n#{line}\n \n# c"), Ok(())),
            (format!("{line}{hex}\u{a0}\n"), Ok(())),
            (String::new(), Err(NoKey)),
            (format!("# {line}{hex}"), Err(NoKey)),
            (format!("x{line}{hex}"), Err(NoKey)),
            (line.into(), Err(NotHex)),
            (format!("{line}{}", &hex[1..]), Err(NotHex)),
            (format!("{line}{}\n", &hex[1..]), Err(NotHex)),
            (format!("{line}{hex}0\n"), Err(NotHex)),
            (format!("{line}{}é", &hex[1..]), Err(NotHex)),
            (format!("{line}{hex}é"), Err(NotHex)),
            (format!("\u{feff}{line}{hex}\n"), Ok(())),
            (format!("{line}{hex}\nx"), Err(NotOneKey)),
            (format!("{line}{hex}\n{line}{hex}\n"), Err(NotOneKey)),
        ] {
            assert_eq!(MasterKey::from_key_file(&text).map(|_| ()), expected, "{text:?}");
        }
    }

    /// Every wrong digit of a key and of its check line is noticed, and comments that only look
    /// like a check line are not taken for one.

    #[test]
    fn checks() {
        let text = MasterKey::from(std::array::from_fn(|i| i as u8)).to_key_file();
        let (line, check) = text.split_once('\n').unwrap();
        assert_eq!(check, "# check: ff920f45\n");
        let check_digits = text.len() - 9..text.len() - 1;
        for at in (KEY_FILE_PREFIX.len()..line.len()).chain(check_digits) {
            let digit = char::from(text.as_bytes()[at]);
            for other in "0123456789abcdef".chars().filter(|&other| other != digit) {
                let mut wrong = text.to_string();
                wrong.replace_range(at..at + 1, other.encode_utf8(&mut [0; 4]));
                let error = MasterKey::from_key_file(&wrong).unwrap_err();
                assert_eq!(error, KeyFileError::WrongCheck, "{wrong}");
            }
        }
        for (before, after) in [
            ("", "\n"),
            ("", "\r\n# check: FF920F45 \t\r\n"),
            ("#check:ff920f45\n", "\n"),
            ("", "\n\n# mine\n #\tcheck:  ff920f45\n"),
            // An old key's.
            ("# palladion-key-1:00\n# check: 00000000\n\n", "\n# check: ff920f45\n"),
            ("# check: the backups\n", "\n# check: 0000000\n# check: 000000000\n"),
        ] {
            let text = format!("{before}{line}{after}");
            assert!(MasterKey::from_key_file(&text).is_ok(), "{text:?}");
            let wrong = text.replacen(line, &line.replace("-1:00", "-1:01"), 1);
            let is_checked = text.to_lowercase().contains("ff920f45");
            assert_eq!(MasterKey::from_key_file(&wrong).is_err(), is_checked, "{wrong:?}");
        }
    }
}
