//! Which functions were called, by the names that the compiler has for them:
//! scripts/check-secret-calls.py compares them with the public API. What is written in the source
//! would be no evidence, as types have methods of the same names.

use std::any::type_name;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hint::black_box;
use std::sync::Mutex;

static CALLED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// Notes the name of a function: the type of each is its own.
pub fn note<Function>(_: &Function) {
    CALLED.lock().expect("no panic before").insert(type_name::<Function>());
}

/// All that were noted, one a line.
pub fn called() -> String {
    CALLED.lock().expect("no panic before").iter().map(|name| format!("{name}\n")).collect()
}

/// Calls a function and notes it.
macro_rules! call {
    ($function:expr $(, $argument:expr)* $(,)?) => {{
        let function = $function;
        $crate::watched::calls::note(&function);
        function($($argument),*)
    }};
}
pub(super) use call;

/// Prints something secret, of which nothing should be seen.
pub fn shown<Secret: Debug>(secret: &Secret) {
    note(&<Secret as Debug>::fmt);
    black_box(format!("{secret:?}"));
}

/// A copy of something secret.
pub fn cloned<Secret: Clone>(secret: &Secret) -> Secret {
    call!(<Secret as Clone>::clone, secret)
}
