//! Checks that some call produces each variant of an error, and that its message says what was
//! expected and what came. These tests are inside the crates: outside, where the enums are
//! `non_exhaustive`, the compiler could not tell that one is missing.

use std::error::Error;
use std::fmt::Debug;
use std::prelude::v1::*; // also included in crates without the standard library
use std::{format, println};

/// Returns the names of all variants of an error, and a function that names a value's variant:
/// `variants!(TYPE: NAME NAME ...)`. A variant that is not named here fails to compile; one that is
/// named and not produced fails the test.
macro_rules! variants {
    ($type:ident: $($name:ident)*) => {
        (&[$(stringify!($name)),*] as &[&str], |error: &$type| match error {
            $($type::$name { .. } => stringify!($name),)*
        })
    };
}
pub(crate) use variants;

/// An error that a call returned: its variant and its message.
pub struct Came {
    variant: String,
    text: String,
}

impl Came {
    #[track_caller]
    pub fn new<E: Error + Debug>(error: &E, name: impl Fn(&E) -> &'static str) -> Self {
        let (variant, text) = (name(error).to_string(), error.to_string());
        let debug = format!("{error:?}");
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
