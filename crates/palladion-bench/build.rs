//! Builds the libraries in peer-aegis/ in all their forms and records the compilers.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The libraries in their forms: feature, name, flags for C and for Rust. `hiae` chooses AES
/// instructions when it is compiled, the others at run time.
const FORMS: [(&str, &str, &str, &str); 8] = [
    ("aegis", "aegis C", "", ""),
    ("aegis", "aegis C native", "-march=native", ""),
    ("aegis,pure-rust", "aegis Rust", "", ""),
    ("aegis,pure-rust", "aegis Rust native", "", NATIVE),
    ("rscrypto", "rscrypto", "", ""),
    ("rscrypto", "rscrypto native", "", NATIVE),
    ("hiae", "hiae", "", ""),
    ("hiae", "hiae native", "", NATIVE),
];
const NATIVE: &str = "-Ctarget-cpu=native";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=peer-aegis");
    println!("cargo:rerun-if-env-changed=CC");
    export("BENCH_RUSTC", &version(&env::var("RUSTC").expect("cargo sets it")));
    let compiler = c_compiler();
    export("BENCH_CC", &version(&compiler));
    // Only release builds measure, so tests and lints do not wait for the peers.
    let forms = if env::var("PROFILE").as_deref() == Ok("release") { &FORMS[..] } else { &[] };
    let mut built = Vec::new();
    for form in forms {
        match build(form, &compiler) {
            Ok(path) => built.push(format!("{}={}", form.1, path.display())),
            Err(error) => println!("cargo:warning=cannot compare with {}: {error}", form.1),
        }
    }
    export("BENCH_PEERS", &built.join(";"));
}

fn export(name: &str, value: &str) {
    println!("cargo:rustc-env={name}={value}");
}

/// The first line that `--version` prints; empty if there is no such program.
fn version(program: &str) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

/// `$CC`, or else the newest clang, or else `cc`. With clang, libaegis is fastest.
fn c_compiler() -> String {
    if let Ok(compiler) = env::var("CC") {
        return compiler;
    }
    let clangs = (13..40).map(|number| format!("clang-{number}")).chain(["clang".into()]);
    let major = |compiler: &String| -> Option<u32> {
        let version = version(compiler);
        version.split_once("clang version ")?.1.split('.').next()?.parse().ok()
    };
    let newest = clangs.filter(|clang| major(clang).is_some()).max_by_key(major);
    newest.unwrap_or_else(|| "cc".into())
}

fn build(
    (features, name, c_flags, rust_flags): &(&str, &str, &str, &str),
    compiler: &str,
) -> Result<PathBuf, String> {
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let dir = out.join(name.replace(' ', "-"));
    let mut cargo = Command::new(env::var("CARGO").expect("cargo sets it"));
    cargo.args(["build", "--release", "--locked", "--quiet", "--no-default-features"]);
    cargo.args(["--manifest-path", "peer-aegis/Cargo.toml", "--features", features]);
    cargo.arg("--target-dir").arg(&dir);
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
    choose(compiler, &mut cargo, &out)?;
    let output = cargo.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).replace('\n', " "));
    }
    let file =
        format!("{}palladion_bench_peer_aegis{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    Ok(dir.join("release").join(file))
}

/// Makes crate `aegis` use a compiler. It takes the one named `clang`, if there is one, instead of
/// `$CC`.
#[cfg(unix)]
fn choose(compiler: &str, cargo: &mut Command, out: &Path) -> Result<(), String> {
    cargo.env("CC", compiler);
    let path = env::var_os("PATH").unwrap_or_default();
    let mut found = env::split_paths(&path).map(|folder| folder.join(compiler));
    let Some(program) = found.find(|program| program.is_file()) else { return Ok(()) };
    let first = out.join("compiler");
    let link = first.join("clang");
    let _ = std::fs::remove_file(&link);
    std::fs::create_dir_all(&first)
        .and_then(|()| std::os::unix::fs::symlink(program, link))
        .map_err(|error| error.to_string())?;
    let path = env::join_paths([first].into_iter().chain(env::split_paths(&path)));
    cargo.env("PATH", path.map_err(|error| error.to_string())?);
    Ok(())
}

/// On Windows, it finds clang or Microsoft's compiler by itself.
#[cfg(not(unix))]
fn choose(_: &str, _: &mut Command, _: &Path) -> Result<(), String> {
    Ok(())
}
