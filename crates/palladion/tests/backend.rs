//! The choice of a backend: what the CPU supports, what the environment asks for, and what happens
//! if it is unavailable.

mod common;

use std::ffi::OsStr;

use common::{child, with_backends};
use palladion::historic;
use palladion::{
    Aegis128L, Aegis128LMac, Aegis128LStream, Aegis256X2, Backend, BackendError,
    ENVIRONMENT_VARIABLE, Error, Key128, Key256, Nonce128, Nonce256, Tag, backend, set_backend,
};

/// Returns whether a backend can run here, according to the standard library.
fn expected_here(backend: Backend) -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        use std::arch::is_x86_feature_detected as has;
        match backend {
            Backend::VaesAvx512 => has!("vaes") && has!("avx512vl"),
            Backend::VaesAvx2 => has!("vaes") && has!("avx2"),
            Backend::AesNiAvx => has!("aes") && has!("avx"),
            Backend::AesNi => has!("aes"),
            Backend::Avx2 => has!("avx2"),
            Backend::Ssse3 => has!("ssse3"),
            _ => backend == Backend::Portable,
        }
    }
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    {
        let aes = std::arch::is_aarch64_feature_detected!("aes");
        match backend {
            Backend::ArmAesSha3 => aes && std::arch::is_aarch64_feature_detected!("sha3"),
            Backend::ArmAes => aes,
            _ => matches!(backend, Backend::Portable | Backend::Neon),
        }
    }
    #[cfg(all(target_arch = "arm", target_endian = "little", target_os = "linux"))]
    {
        match backend {
            Backend::Neon => auxiliary(16) & 0x1000 != 0,
            _ => backend == Backend::Portable,
        }
    }
    #[cfg(target_arch = "powerpc64")]
    {
        match backend {
            // VSX and the AES instructions.
            Backend::Power8Crypto => {
                cfg!(target_endian = "little")
                    || auxiliary(16) & 0x80 != 0 && auxiliary(26) & 0x0200_0000 != 0
            }
            _ => backend == Backend::Portable,
        }
    }
    #[cfg(target_arch = "riscv64")]
    {
        match backend {
            Backend::RiscvZvkned => linux_reports_zvkned(),
            Backend::RiscvZkne => std::arch::is_riscv_feature_detected!("zkne"),
            _ => backend == Backend::Portable,
        }
    }
    #[cfg(target_arch = "s390x")]
    {
        match backend {
            // Vector registers.
            Backend::Z13Vector => auxiliary(16) & 0x800 != 0,
            _ => backend == Backend::Portable,
        }
    }
    #[cfg(target_family = "wasm")]
    {
        match backend {
            Backend::WasmRelaxedSimd => cfg!(target_feature = "relaxed-simd"),
            Backend::WasmSimd128 => cfg!(target_feature = "simd128"),
            _ => backend == Backend::Portable,
        }
    }
    #[cfg(not(any(
        target_arch = "x86",
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_endian = "little"),
        all(target_arch = "arm", target_endian = "little", target_os = "linux"),
        target_arch = "powerpc64",
        target_arch = "riscv64",
        target_arch = "s390x",
        target_family = "wasm"
    )))]
    {
        backend == Backend::Portable
    }
}

/// Returns a value of the pairs that Linux gives a program.
#[cfg(any(target_arch = "arm", target_arch = "powerpc64", target_arch = "s390x"))]
fn auxiliary(kind: usize) -> usize {
    const WORD: usize = size_of::<usize>();
    let word = |bytes: &[u8]| usize::from_ne_bytes(bytes[..WORD].try_into().unwrap());
    let pairs = std::fs::read("/proc/self/auxv").unwrap();
    let mut pairs = pairs.chunks_exact(2 * WORD).map(|pair| (word(pair), word(&pair[WORD..])));
    pairs.find(|pair| pair.0 == kind).map_or(0, |pair| pair.1)
}

/// Returns whether Linux reports Zvkned in its description of the CPUs.
#[cfg(target_arch = "riscv64")]
fn linux_reports_zvkned() -> bool {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cpus.lines().any(|line| line.starts_with("isa") && line.contains("_zvkned"))
}

/// Otherwise tests of all backends could silently test only some.
#[test]
fn all_that_the_cpu_has_are_available() {
    for &backend in Backend::ALL {
        let there = backend.is_available() || backend.is_faulty();
        assert_eq!(there, expected_here(backend), "{backend}");
        assert!(!(backend.is_available() && backend.is_faulty()), "{backend}");
        // A CPU that computes wrong is a finding. An emulator is known to: see
        // .ci/test-x86-tiers.sh.
        let emulated = std::env::var_os("PALLADION_TEST_EMULATOR").is_some();
        assert!(!backend.is_faulty() || emulated, "{backend} computes wrong results here");
    }
}

#[test]
fn names() {
    for (i, &backend) in Backend::ALL.iter().enumerate() {
        assert_eq!(backend.name().parse(), Ok(backend));
        assert_eq!(backend.to_string(), backend.name());
        assert_eq!(format!("{backend:>20}").len(), 20);
        assert!(!backend.description().is_empty() && !backend.timing().is_empty());
        assert!(Backend::ALL[..i].iter().all(|other| other.name() != backend.name()));
    }
    for unknown in ["", "Portable", " portable", "nonsense"] {
        assert_eq!(unknown.parse::<Backend>(), Err(BackendError::Unknown));
    }
}

/// The choices that an error message must list.
fn choices() -> String {
    let names: Vec<&str> =
        Backend::ALL.iter().filter(|b| b.is_available()).map(|b| b.name()).collect();
    names.join(", ")
}

#[test]
fn set_backend_takes_what_can_run() {
    with_backends(|_| {
        for &wanted in Backend::ALL {
            if wanted.is_available() {
                assert_eq!(set_backend(wanted), Ok(()));
                assert_eq!(backend(), Ok(wanted));
            } else {
                let before = backend();
                let error = set_backend(wanted).unwrap_err();
                let expected = match wanted.is_faulty() {
                    true => BackendError::Faulty(wanted),
                    false => BackendError::Unavailable(wanted),
                };
                assert_eq!(error, expected);
                let text = error.to_string();
                assert!(text.contains(wanted.name()) && text.contains(&choices()), "{text}");
                assert_eq!(backend(), before);
            }
        }
    });
}

/// Returns the results of every operation on the current backend. An operation that fails must
/// leave its buffers alone.
fn every_operation() -> Vec<Result<(), Error>> {
    let (key, nonce, tag) = (Key128::from([1; 16]), Nonce128::from([2; 16]), Tag::from([3; 16]));
    let cipher = Aegis128L::<16>::new(&key);
    let wide = Aegis256X2::<32>::new(&Key256::from([1; 32]));
    let nu = 2.try_into().unwrap();
    let mode128 = historic::Aegis128X::new(&key, nu, historic::TagForm::SevenWords);
    let mode256 = historic::Aegis256X::new(&Key256::from([1; 32]), nu);
    let iv256 = Nonce256::from([2; 32]);
    let mut bufs = vec![[9_u8; 40]; 11];
    let mut buf = bufs.iter_mut();
    let mut buf = || &mut buf.next().unwrap()[..];
    let results = vec![
        cipher.encrypt_in_place(&nonce, b"", buf()).map(drop),
        cipher.encrypt_into(&nonce, b"", &[0; 40], buf()).map(drop),
        cipher.seal_in_place(&nonce, b"", buf()),
        cipher.seal_into(&nonce, b"", &[0; 24], buf()),
        cipher.seal(&nonce, b"", b"hello").map(drop),
        wide.encrypt_in_place(&iv256, b"", buf()).map(drop),
        cipher.encryptor(&nonce, b"").map(drop),
        cipher.decryptor(&nonce, b"", buf()).map(drop),
        Aegis128LMac::<16>::new(&key, &nonce).map(drop),
        Aegis128LMac::<16>::mac(&key, &nonce, b"").map(drop),
        Aegis128LStream::new(&key, &nonce).map(drop),
        palladion::hazmat::Session::<palladion::family::Aegis128, 1>::new(&key, &nonce, b"")
            .map(drop),
        palladion::hazmat::encrypt_unauthenticated(&cipher, &nonce, buf()),
        historic::enc_128l::<16>(&[0; 16], &key, &nonce, b"", buf()).map(drop),
        historic::enc_256::<16>(&[0; 16], &Key256::from([1; 32]), &iv256, b"", buf()).map(drop),
        mode128.encrypt_in_place(&nonce, b"", buf()).map(drop),
        mode256.encrypt_in_place(&iv256, b"", buf()).map(drop),
    ];
    if results.iter().all(Result::is_err) {
        // These fail in any case, but must not call the ciphertext forged if nothing has verified
        // it.
        let mut results = results;
        let mut more = [[9_u8; 40]; 2];
        let [a, b] = &mut more;
        results.push(cipher.decrypt_in_place(&nonce, b"", a, &tag));
        results.push(cipher.open_in_place(&nonce, b"", b).map(drop));
        results.push(cipher.verify(&nonce, b"", b"", &tag));
        results.push(Aegis128LMac::<16>::verify_mac(&key, &nonce, b"", &tag));
        bufs.extend(more);
        assert!(bufs.iter().all(|buf| *buf == [9; 40]), "a failed operation has written");
        return results;
    }
    results
}

/// Not a test of its own: the tests below run it in a child process with the environment variable
/// set. It prints the results.
#[test]
#[ignore = "run by other tests"]
fn child() {
    println!("<backend {:?}>", backend());
    let results = every_operation();
    match backend() {
        Ok(_) => assert!(results.iter().all(Result::is_ok), "{results:?}"),
        Err(error) => {
            assert!(
                results.iter().all(|result| *result == Err(Error::Backend(error))),
                "{results:?}"
            );
            println!("<message {}>", Error::Backend(error));
            // The program's choice overrides the environment.
            set_backend(Backend::Portable).unwrap();
            assert!(every_operation().iter().all(Result::is_ok));
        }
    }
    println!("<done>");
}

/// Runs `child` with a value of the environment variable. Returns what it printed about the backend
/// and, if that is an error, the message.
fn run_child(value: Option<&OsStr>) -> (String, Option<String>) {
    let mut command = child::command(&[], "child");
    match value {
        Some(value) => command.env(ENVIRONMENT_VARIABLE, value),
        None => command.env_remove(ENVIRONMENT_VARIABLE),
    };
    let text = child::output(command);
    let field = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name} "))?;
        Some(rest.split_once(">\n").unwrap().0.to_string())
    };
    (field("backend").unwrap(), field("message"))
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "no processes there")]
fn the_environment_can_choose() {
    for &backend in Backend::ALL.iter().filter(|backend| backend.is_available()) {
        let (chosen, message) = run_child(Some(OsStr::new(backend.name())));
        assert_eq!((chosen, message), (format!("Ok({backend:?})"), None));
    }
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "no processes there")]
fn without_a_wish_it_is_the_best() {
    let right = |backend: &&Backend| expected_here(**backend) && !backend.is_faulty();
    let best = Backend::ALL.iter().find(right).unwrap();
    for nothing in [None, Some(OsStr::new(""))] {
        assert_eq!(run_child(nothing), (format!("Ok({best:?})"), None));
    }
}

#[track_caller]
fn assert_names_choices(message: Option<String>, value: &str) {
    let message = message.unwrap();
    assert!(message.contains(ENVIRONMENT_VARIABLE) && message.contains(value), "{message}");
    assert!(message.contains(&choices()), "{message}");
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "no processes there")]
fn an_unknown_name_is_an_error() {
    let (chosen, message) = run_child(Some(OsStr::new("nonsense")));
    assert_eq!(chosen, "Err(Environment(None))");
    assert_names_choices(message, "\"nonsense\"");
}

#[cfg(any(unix, windows))]
#[test]
#[cfg_attr(target_family = "wasm", ignore = "no processes there")]
fn a_name_that_is_no_text_is_an_error() {
    use std::ffi::OsString;
    #[cfg(unix)]
    let end: OsString = std::os::unix::ffi::OsStringExt::from_vec(vec![0xFF]);
    #[cfg(windows)]
    let end: OsString = std::os::windows::ffi::OsStringExt::from_wide(&[0xD800]);
    let mut name = OsString::from("portable");
    name.push(end);
    let (chosen, message) = run_child(Some(&name));
    assert_eq!(chosen, "Err(Environment(None))");
    assert_names_choices(message, "portable");
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "no processes there")]
fn a_backend_that_cannot_run_here_is_an_error() {
    // No CPU has both instruction sets.
    let mut count = 0;
    for &backend in Backend::ALL.iter().filter(|backend| !backend.is_available()) {
        let (chosen, message) = run_child(Some(OsStr::new(backend.name())));
        assert_eq!(chosen, format!("Err(Environment(Some({backend:?})))"));
        let says = message.as_ref().is_some_and(|text| text.contains("computes wrong results"));
        assert_eq!(says, backend.is_faulty(), "{message:?}");
        assert_names_choices(message, backend.name());
        count += 1;
    }
    assert!(count > 0);
}
