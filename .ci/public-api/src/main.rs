//! Prints the public API of a crate, one item a line, from what `rustdoc --output-format json` has
//! written: scripts/check-api.sh.

#![forbid(unsafe_code)]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    // What every type has, for whatever reason, says nothing. That a type is `Send` does.
    let api = public_api::Builder::from_rustdoc_json(path).omit_blanket_impls(true).build()?;
    for item in api.items() {
        let line = item.to_string();
        let of_no_interest =
            ["Freeze", "RefUnwindSafe", "UnwindSafe", "UnsafeUnpin", "StructuralPartialEq"];
        if !of_no_interest.iter().any(|name| line.contains(&format!("::{name} for "))) {
            println!("{line}");
        }
    }
    Ok(())
}
