//! Passphrases of words that can be spoken.

use zeroize::Zeroizing;

const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
const VOWELS: &[u8; 4] = b"aiou";

/// Words that can be spoken, one for each number of 16 bits: the proquints of arXiv:0901.4016. The
/// page in bindings/js/demo draws the same.
pub fn spoken(numbers: &[u16]) -> Zeroizing<String> {
    // Large enough from the start: growing would leave copies in freed memory.
    let mut words = Zeroizing::new(String::with_capacity(6 * numbers.len()));
    for number in numbers {
        if !words.is_empty() {
            words.push('-');
        }
        let bits = |shift: u32, mask: u16| usize::from(number >> shift & mask);
        words.push(CONSONANTS[bits(12, 15)].into());
        words.push(VOWELS[bits(10, 3)].into());
        words.push(CONSONANTS[bits(6, 15)].into());
        words.push(VOWELS[bits(4, 3)].into());
        words.push(CONSONANTS[bits(0, 15)].into());
    }
    words
}

#[cfg(test)]
mod tests {
    /// The same numbers and words are in bindings/js/test/browser/demo.test.mjs.
    #[test]
    fn the_page_has_the_same_words() {
        let words = super::spoken(&[0x7f00, 0x0001, 0x3f54, 0xdcc1, 0xffff]);
        assert_eq!(*words, "lusab-babad-gutih-tugad-zuzuz");
    }
}
