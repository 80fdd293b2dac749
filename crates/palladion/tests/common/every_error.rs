//! Checks that some call produces each variant of an error, and that its message says what was
//! expected and what came.

use std::error::Error;
use std::prelude::v1::*; // also included in crates without the standard library
use std::{format, println};

/// Returns the names of all variants of an error, from its source. (The enums are `non_exhaustive`,
/// so a `match` in a test need not name them all.)
pub fn variants<'a>(source: &'a str, error: &str) -> Vec<&'a str> {
    let begin = format!("pub enum {error} {{");
    let lines = source.lines().skip_while(|line| *line != begin).take_while(|line| *line != "}");
    let names = lines.filter_map(|line| line.strip_prefix("    ").map(first_word));
    let names: Vec<_> = names.filter(|name| name.starts_with(char::is_uppercase)).collect();
    assert!(names.len() > 1);
    names
}

/// Returns the letters and digits that a text begins with.
fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap()
}

/// An error that a call returned: its variant and its message.
pub struct Came {
    variant: String,
    text: String,
}

impl Came {
    #[track_caller]
    pub fn new(error: &impl Error) -> Self {
        let (text, debug) = (error.to_string(), format!("{error:?}"));
        let variant = first_word(&debug).to_string();
        assert!(
            !text.is_empty() && !text.ends_with('.') && !text.contains('\n'),
            "{debug}: {text:?}"
        );
        // A debug dump of the error is not a message.
        assert!(
            !text.contains(&debug) && !text.contains(" { ") && !text.contains("Some("),
            "{text}"
        );
        let said_by_hand = variant.chars().filter(char::is_ascii_uppercase).count() < 2
            || !text.contains(&variant);
        assert!(said_by_hand, "{text}");
        Self { variant, text }
    }

    /// Prints it, in a child process, for the parent.
    pub fn print(&self) {
        println!("<came {}|{}>", self.variant, self.text);
    }

    /// Reads what a child process printed.
    pub fn from_child(output: &str) -> Self {
        let (_, rest) = output.split_once("<came ").expect("no error came");
        let (variant, text) = rest.split_once(">\n").unwrap().0.split_once('|').unwrap();
        Self { variant: variant.to_string(), text: text.to_string() }
    }
}

/// A call that must fail: the variant, words of the message, and the error that it returned.
pub type Call<'a> = (&'a str, &'a [&'a str], Came);

/// Panics unless every variant came from a call and all messages contain their words. Variants in
/// `not_here` cannot be produced on this system; each has the reason.
#[track_caller]
pub fn check(variants: &[&str], calls: &[Call<'_>], not_here: &[(&str, &str)]) {
    for (variant, words, came) in calls {
        assert_eq!(came.variant, *variant, "{}", came.text);
        for word in *words {
            assert!(came.text.contains(word), "{variant} does not say {word:?}: {}", came.text);
        }
    }
    for (variant, reason) in not_here {
        println!("not here: {variant}: {reason}");
    }
    let produced = |variant: &str| calls.iter().any(|call| call.0 == variant);
    let excused = |variant: &str| not_here.iter().any(|(name, _)| *name == variant);
    let missing: Vec<_> =
        variants.iter().filter(|variant| !produced(variant) && !excused(variant)).collect();
    assert!(missing.is_empty(), "no call produces {missing:?}");
    let needless: Vec<_> =
        variants.iter().filter(|variant| produced(variant) && excused(variant)).collect();
    assert!(needless.is_empty(), "produced, and excused: {needless:?}");
    assert!(
        not_here.iter().all(|(name, _)| variants.contains(name)),
        "no such variant: {not_here:?}"
    );
}
