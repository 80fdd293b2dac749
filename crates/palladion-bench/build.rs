//! Builds the crate `aegis` in all its forms (peer-aegis/) and records the compilers.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The forms of the crate `aegis`: name, arguments for cargo, and flags for C and for Rust.
const FORMS: [(&str, &[&str], &str, &str); 4] = [
    ("C", &[], "", ""),
    ("C native", &[], "-march=native", ""),
    ("Rust", &["--features", "pure-rust"], "", ""),
    ("Rust native", &["--features", "pure-rust"], "", "-Ctarget-cpu=native"),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=peer-aegis");
    export("BENCH_RUSTC", &version(env::var("RUSTC").expect("cargo sets it")));
    // The crate `aegis` prefers clang, so report clang if there is one.
    let compilers = ["clang", "cc"].map(version);
    export("BENCH_CC", compilers.iter().find(|v| !v.is_empty()).map_or("unknown", |v| v));
    // Only release builds measure, so tests and lints do not wait for the peers.
    let forms = if env::var("PROFILE").as_deref() == Ok("release") { &FORMS[..] } else { &[] };
    let mut built = Vec::new();
    for form in forms {
        match build(form) {
            Ok(path) => built.push(format!("{}={}", form.0, path.display())),
            Err(error) => {
                println!("cargo:warning=cannot compare with crate aegis ({}): {error}", form.0)
            }
        }
    }
    export("BENCH_AEGIS", &built.join(";"));
}

fn export(name: &str, value: &str) {
    println!("cargo:rustc-env={name}={value}");
}

/// The first line that `--version` prints; empty if there is no such program.
fn version(program: impl AsRef<str>) -> String {
    let output = Command::new(program.as_ref()).arg("--version").output();
    let text = output
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

fn build(
    (name, args, c_flags, rust_flags): &(&str, &[&str], &str, &str),
) -> Result<PathBuf, String> {
    let dir = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join(name.replace(' ', "-"));
    let mut cargo = Command::new(env::var("CARGO").expect("cargo sets it"));
    cargo.args([
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--manifest-path",
        "peer-aegis/Cargo.toml",
    ]);
    cargo.arg("--target-dir").arg(&dir).args(*args);
    // Remove what cargo set for this build, so that the peers are built as their users build them.
    for (variable, _) in env::vars_os() {
        let text = variable.to_string_lossy();
        let ours =
            text.starts_with("CARGO_") && text != "CARGO_HOME" && !text.starts_with("CARGO_NET");
        if ours
            || ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "TARGET", "OPT_LEVEL"]
                .contains(&&*text)
        {
            cargo.env_remove(&variable);
        }
    }
    cargo.env("CFLAGS", c_flags).env("RUSTFLAGS", rust_flags);
    let output = cargo.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).replace('\n', " "));
    }
    let file =
        format!("{}palladion_bench_peer_aegis{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    Ok(dir.join("release").join(file))
}
