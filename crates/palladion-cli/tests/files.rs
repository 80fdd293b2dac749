//! Real files, pipes and accidents, end to end.

use std::fs;
use std::io::{Read, Write};

use crate::common::*;

const MIB: usize = 1 << 20;

#[test]
fn files_of_all_sizes() {
    let bench = Bench::new();
    for len in [0, 1, MIB - 1, MIB, MIB + 1, 40 * MIB + 12345] {
        let text = text(len);
        bench.write("in", &text);
        bench.ok(&["encrypt", "-k", "key", "-o", "sealed", "--force", "in"]);
        assert_eq!(bench.read("sealed").len(), 128 + len + 36 * len.div_ceil(MIB).max(1));
        bench.ok(&["decrypt", "-k", "key", "-o", "out", "--force", "sealed"]);
        assert!(bench.read("out") == text, "{len}");
    }
    assert_eq!(bench.names(), ["in", "key", "out", "sealed"]);
}

#[test]
fn pipes_of_all_sizes() {
    let bench = Bench::new();
    for len in [0, 1, 5 * MIB + 7] {
        let text = text(len);
        for args in [&["encrypt", "-k", "key"][..], &["encrypt", "-k", "key", "-o", "-", "-"]] {
            let sealed = bench.run_with_input(args, &text);
            assert!(sealed.status.success() && sealed.stderr.is_empty(), "{:?}", sealed.stderr);
            let opened = bench.run_with_input(&["decrypt", "-k", "key"], &sealed.stdout);
            assert!(opened.status.success() && opened.stdout == text);
        }
    }
}

#[test]
fn algorithms_chunk_sizes_threads() {
    let bench = Bench::new();
    let text = text(300_000);
    bench.write("in", &text);
    let algorithms =
        ["AEGIS-128L", "aegis-128x2", "aegis-128x4", "aegis-256", "aegis-256X2", "aegis-256x4"];
    for (id, algorithm) in (1..).zip(algorithms) {
        let args = [
            "encrypt",
            "-k",
            "key",
            "--algorithm",
            algorithm,
            "--chunk-size",
            "64K",
            "--threads",
            "3",
            "-o",
            "-",
            "in",
        ];
        let sealed = bench.ok(&args);
        assert_eq!((sealed[9], sealed[11]), (id, 16));
        bench.write("sealed", &sealed);
        assert!(bench.ok(&["decrypt", "-k", "key", "--threads", "1", "-o", "-", "sealed"]) == text);
    }
}

#[test]
fn every_backend() {
    let bench = Bench::new();
    let text = text(100_000);
    bench.write("in", &text);
    let table = String::from_utf8(bench.ok(&["backends"])).unwrap();
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    let backends: Vec<_> = table
        .lines()
        .filter(|line| line.contains(" yes "))
        .map(|line| line.split(' ').next())
        .collect();
    assert!(backends.contains(&Some("portable")), "{table}");
    for backend in backends.into_iter().flatten() {
        for args in [
            ["encrypt", "-k", "key", "-o", "sealed", "-f", "in"],
            ["decrypt", "-k", "key", "-o", "out", "-f", "sealed"],
        ] {
            let run =
                finish(bench.command(&args).env("PALLADION_BACKEND", backend).spawn().unwrap());
            assert!(run.status.success(), "{run:?}");
            assert!(args[0] == "encrypt" || bench.read("out") == text);
        }
    }
    let run = finish(
        bench
            .command(&["encrypt", "-k", "key", "-o", "-", "in"])
            .env("PALLADION_BACKEND", "abacus")
            .spawn()
            .unwrap(),
    );
    assert_eq!(run.status.code(), Some(1));
    assert!(
        run.stderr.starts_with(
            "error: the environment variable PALLADION_BACKEND=\"abacus\" names no backend"
        ) && run.stderr.contains("portable"),
        "{run:?}"
    );
}

#[test]
fn damaged_files() {
    let bench = Bench::new();
    bench.ok(&["keygen", "-o", "other"]);
    bench.write("in", text(3 * MIB));
    bench.ok(&["encrypt", "-k", "key", "-o", "sealed", "in"]);
    let sealed = bench.read("sealed");
    let damaged = |change: &dyn Fn(&mut Vec<u8>), status, message| {
        let mut bytes = sealed.clone();
        change(&mut bytes);
        bench.write("damaged", bytes);
        let stderr =
            bench.fails(&["decrypt", "-k", "key", "-o", "out", "damaged"], status, message);
        assert!(stderr.contains("\"damaged\": ") && stderr.contains("\nhint: "), "{stderr}");
    };
    damaged(&|bytes| bytes[2 * MIB] ^= 1, 4, "damaged: chunk 1 (at byte 1048740)");
    damaged(
        &|bytes| bytes.truncate(2 * MIB),
        4,
        "truncated: it ends within chunk 1, after 2097152 bytes",
    );
    damaged(&|bytes| bytes.truncate(100), 4, "truncated: it ends within the header");
    damaged(&|bytes| bytes.clear(), 4, "the input is empty");
    damaged(&|bytes| bytes.push(b'\n'), 4, "data follows from byte 3145964");
    damaged(&|bytes| bytes[20] ^= 1, 4, "the header of the file is damaged");
    damaged(&|bytes| bytes[0] = b'P', 4, "not a Palladion file");
    bench.fails(&["decrypt", "-k", "other", "-o", "out", "sealed"], 3, "not the key");
}

#[test]
fn salvage() {
    let bench = Bench::new();
    let text = text(3 * MIB + 5);
    bench.write("in", &text);
    bench.ok(&["encrypt", "-k", "key", "-o", "sealed", "in"]);
    let sealed = bench.read("sealed");
    let decrypt = ["decrypt", "-k", "key", "--salvage", "-f", "-o", "out"];
    let salvage = |bytes: &[u8]| {
        bench.write("damaged", bytes);
        bench.run(&[&decrypt[..], &["damaged"]].concat())
    };
    let run = salvage(&sealed);
    assert!(run.status.success() && run.stderr.is_empty() && bench.read("out") == text, "{run:?}");
    // A chunk in the middle, and the last one.
    for (at, missing) in [(MIB + 999, MIB..2 * MIB), (sealed.len() - 1, 3 * MIB..3 * MIB + 5)] {
        let mut damaged = sealed.clone();
        damaged[at] ^= 1;
        let run = salvage(&damaged);
        assert_eq!(run.status.code(), Some(4));
        let range = format!("bytes {} to {} are missing\n", missing.start, missing.end - 1);
        let intact = format!("{} bytes of it are intact", text.len() - missing.len());
        assert!(run.stderr.contains(&range) && run.stderr.contains(&intact), "{run:?}");
        assert_eq!(run.stderr.contains("the end is missing"), missing.end == text.len());
        let mut expected = text.clone();
        expected[missing].fill(0);
        assert!(bench.read("out") == expected);
    }
    let run = salvage(&sealed[..2 * MIB + 200]);
    assert_eq!(run.status.code(), Some(4));
    assert!(run.stderr.contains("the end is missing"), "{run:?}");
    assert!(bench.read("out")[..2 * MIB] == text[..2 * MIB]);
    let run = salvage(&[&sealed[..], b"more"].concat());
    assert!(run.status.success() && run.stderr.contains("data follows"), "{run:?}");
    let mut damaged = sealed.clone();
    damaged[50] ^= 9;
    let run = salvage(&damaged);
    assert!(run.status.success() && run.stderr.contains("one byte of the header"), "{run:?}");
    assert!(bench.read("out") == text);
    // Other commands say so, wherever in the header the byte is.
    for at in [0, 5, 50] {
        let mut damaged = sealed.clone();
        damaged[at] ^= 9;
        bench.write("damaged", damaged);
        let stderr = bench.fails(&["decrypt", "-k", "key", "-o", "new", "damaged"], 4, "");
        assert!(stderr.contains("decrypt --salvage -o OUT FILE recovers it"), "{at}: {stderr}");
    }
    damaged[51] ^= 9;
    assert_eq!(salvage(&damaged).status.code(), Some(4));
    bench.write("damaged", damaged);
    let stderr = bench.fails(&["info", "damaged"], 4, "the header of the file is damaged");
    assert!(!stderr.contains("--salvage"), "{stderr}");
    bench.write("damaged", [&sealed[..], b"more"].concat());
    let stderr = bench.fails(&["decrypt", "-k", "key", "-o", "new", "damaged"], 4, "data follows");
    assert!(stderr.contains("--salvage -o OUT FILE writes the whole of it"), "{stderr}");
    // Nothing to be had: the old output stays.
    let run = salvage(&sealed[..2000]);
    assert!(run.stderr.contains("error: \"damaged\": nothing is intact"), "{run:?}");
    assert!(bench.read("out") == text);
    let salvage = ["decrypt", "-k", "key", "--salvage", "damaged"];
    bench.fails(&salvage, 2, "--output");
    bench.fails(&[&salvage[..], &["-o", "-"]].concat(), 2, "is not a regular file");
    bench.fails(&[&salvage[..], &["-o", "x", "--rm"]].concat(), 2, "--rm");
}

#[test]
fn a_pipe_gets_only_what_is_verified() {
    let bench = Bench::new();
    let text = text(3 * MIB);
    bench.write("in", &text);
    let mut sealed = bench.ok(&["encrypt", "-k", "key", "-o", "-", "in"]);
    sealed[2 * MIB + 500] ^= 1;
    let run = bench.run_with_input(&["decrypt", "-k", "key"], &sealed);
    assert_eq!(run.status.code(), Some(4));
    assert!(run.stdout == text[..2 * MIB]);
}

#[test]
fn nothing_is_overwritten() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.write("out", "precious");
    let stderr =
        bench.fails(&["encrypt", "-k", "key", "-o", "out", "in"], 1, "\"out\" already exists");
    assert!(stderr.contains("--force"));
    bench.ok(&["encrypt", "-k", "key", "in"]);
    bench.fails(&["decrypt", "-k", "key", "-o", "out", "in.pld"], 1, "already exists");
    assert_eq!(bench.read("out"), b"precious");
    // Not even when the decryption fails with --force.
    bench.fails(&["decrypt", "-k", "key", "--force", "-o", "out", "in"], 4, "not a Palladion file");
    assert_eq!(bench.read("out"), b"precious");
    bench.ok(&["encrypt", "-k", "key", "--force", "-o", "out", "in"]);
    assert!(bench.read("out").starts_with(b"\x89PLD\r\n\x1a\n"));
}

#[test]
fn a_file_that_appears_meanwhile_is_not_overwritten() {
    let bench = Bench::new();
    let mut child = bench.spawn(&["encrypt", "-k", "key", "-o", "out"]);
    child.stdin.as_mut().unwrap().write_all(&text(2 * MIB)).unwrap();
    bench.write("out", "precious");
    drop(child.stdin.take());
    let run = finish(child);
    assert_eq!(run.status.code(), Some(1));
    assert!(run.stderr.contains("already exists"), "{run:?}");
    assert_eq!(bench.read("out"), b"precious");
    assert_eq!(bench.names(), ["key", "out"]);
}

#[test]
fn places_that_do_not_work() {
    let bench = Bench::new();
    bench.write("in", "secret");
    fs::create_dir(bench.path("folder")).unwrap();
    bench.fails(
        &["encrypt", "-k", "key", "-o", "missing/out", "in"],
        1,
        "no directory \"missing\"",
    );
    bench.fails(&["encrypt", "-k", "key", "-o", "out", "folder"], 1, "is a directory");
    bench.fails(&["encrypt", "-k", "key", "-o", "out", "missing"], 1, "cannot open \"missing\"");
    bench.fails(&["encrypt", "-k", "missing", "-o", "out", "in"], 1, "cannot open \"missing\"");
    bench.fails(&["encrypt", "-k", "in", "-o", "out", "in"], 1, "not a Palladion key");
    bench.fails(&["encrypt", "-k", "key", "-o", "new/", "in"], 1, "there is no directory \"new/\"");
    bench.fails(&["encrypt", "-k", "key", "-o", "new/.", "in"], 1, "is a directory, not a file");
    bench.fails(&["encrypt", "-k", "key", "-o", "in/out", "in"], 1, "cannot create");
    let long = "x".repeat(300);
    bench.fails(&["encrypt", "-k", "key", "-o", &long, "in"], 1, "cannot create");
    // Nothing is asked for in vain: this test has no terminal, and that is not the error.
    bench.fails(&["decrypt", "-p", "-o", "out", "in"], 4, "not a Palladion file");
    bench.ok(&["encrypt", "-k", "key", "-o", "sealed", "in"]);
    bench.fails(&["decrypt", "-k", "key", "-o", "missing/out", "sealed"], 1, "no directory");
    bench.fails(&["decrypt", "-p", "-o", "out", "sealed"], 3, "with a key file");
}

#[cfg(target_os = "linux")]
#[test]
fn links_and_places_of_others() {
    let bench = Bench::new();
    bench.write("in", "secret");
    std::os::unix::fs::symlink("nowhere", bench.path("link")).unwrap();
    let stderr = bench.fails(&["encrypt", "-p", "-o", "link", "in"], 1, "\"link\" already exists");
    assert!(stderr.contains("remove the link"), "{stderr}");
    bench.fails(&["encrypt", "-p", "-f", "-o", "link", "in"], 1, "symbolic link to a missing file");
    let stderr = bench.fails(
        &["encrypt", "-k", "key", "-o", "/proc/out", "in"],
        1,
        "cannot create a file in",
    );
    assert!(!stderr.contains(".palladion-"), "{stderr}");
}

#[test]
fn wrong_usage() {
    let bench = Bench::new();
    bench.write("in", "secret");
    for args in [
        &["encrypt", "-o", "-", "in"][..],
        &["encrypt", "-k", "key", "--chunk-size", "3K", "-o", "-", "in"],
        &["encrypt", "-k", "key", "--algorithm", "aes", "-o", "-", "in"],
        &["encrypt", "-k", "key", "--threads", "0", "-o", "-", "in"],
        &["encrypt", "-k", "key", "-o", "out", "in", "in"],
        &["encrypt", "-k", "-"],
        &["mac", "-k", "-"],
        &["speed", "--seconds", "0"],
    ] {
        bench.fails(args, 2, "");
    }
    assert_eq!(bench.run(&[]).status.code(), Some(2));
}

#[test]
fn key_from_standard_input() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let sealed =
        bench.run_with_input(&["encrypt", "-k", "-", "-o", "-", "in"], &bench.read("key")).stdout;
    bench.write("sealed", sealed);
    assert_eq!(bench.ok(&["decrypt", "-k", "key", "-o", "-", "sealed"]), b"secret");
}

#[test]
fn help_and_pages() {
    let bench = Bench::new();
    let help = String::from_utf8(bench.ok(&["--help"])).unwrap();
    for command in
        ["keygen", "encrypt", "decrypt", "mac", "backends", "speed", "completions", "man"]
    {
        assert!(help.contains(command));
        let text = String::from_utf8(bench.ok(&[command, "--help"])).unwrap();
        assert!(text.contains("palladion "), "{command}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(bench.ok(&["completions", shell]).len() > 1000);
    }
    bench.ok(&["man", "share/man1"]); // creates the folders
    let pages = fs::read_dir(bench.path("share/man1")).unwrap();
    let pages: Vec<_> = pages.map(|page| page.unwrap().path()).collect();
    for page in &pages {
        // It refers only to pages that exist.
        let text = fs::read_to_string(page).unwrap();
        for (before, _) in text.match_indices("(1)").map(|(at, _)| text.split_at(at)) {
            let name = before.rsplit([' ', '\n']).next().unwrap().replace('\\', "");
            let other = page.with_file_name(format!("{name}.1"));
            assert!(pages.contains(&other), "{page:?} names {other:?}");
        }
    }
    for page in ["palladion.1", "palladion-encrypt.1", "palladion-raf-verify.1"] {
        assert!(pages.contains(&bench.path("share/man1").join(page)), "{page}");
    }
    assert_eq!(bench.ok(&["man"]), bench.read("share/man1/palladion.1"));
    assert_eq!(bench.ok(&["man", "-"]), bench.ok(&["man"]));
    bench.fails(&["man", "key"], 1, "cannot write the manual pages to \"key\"");
}

#[test]
fn help_is_wrapped_once() {
    let bench = Bench::new();
    let commands = ["", "encrypt", "decrypt", "mac", "keygen", "raf", "raf verify", "speed"];
    for columns in [50, 80, 100] {
        for command in commands {
            let args: Vec<_> = command.split(' ').filter(|word| !word.is_empty()).collect();
            let mut help = bench.command(&[&args[..], &["--help"]].concat());
            let help = finish(help.env("COLUMNS", columns.to_string()).spawn().unwrap()).stdout;
            let help = String::from_utf8(help).unwrap();
            let lines: Vec<_> = help.lines().collect();
            for (line, next) in lines.iter().zip(&lines[1..]) {
                assert!(line.chars().count() <= columns, "{columns}: {line:?}");
                // The next word has no room in this line.
                let word = next.split(' ').next().unwrap();
                let wraps = !line.ends_with(':') && !line.is_empty() && !line.starts_with(' ');
                let fits = line.chars().count() + 1 + word.chars().count() <= columns;
                assert!(word.is_empty() || !wraps || !fits, "{columns}: {line:?} {next:?}");
            }
        }
    }
}

#[test]
fn speed_table() {
    let bench = Bench::new();
    let table = String::from_utf8(bench.ok(&["speed", "--seconds", "0.1"])).unwrap();
    for name in [
        "AEGIS-128L",
        "AEGIS-128X2",
        "AEGIS-128X4",
        "AEGIS-256 ",
        "AEGIS-256X2",
        "AEGIS-256X4",
        "AES-256-GCM",
        "Backend",
        "The usual round was",
    ] {
        assert!(table.contains(name), "{table}");
    }
}

#[cfg(unix)]
#[test]
fn help_that_cannot_be_printed_is_a_failure() {
    let bench = Bench::new();
    for args in [&["help"][..], &["--help"], &["--version"], &["encrypt", "--help"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let run = finish(bench.command(args).stdout(full).spawn().unwrap());
        assert_eq!(run.status.code(), Some(1), "{args:?}: {run:?}");
        assert!(run.stderr.contains("cannot write standard output"), "{run:?}");
        assert!(!bench.ok(args).is_empty());
    }
}

#[test]
fn an_input_that_becomes_shorter_is_noticed() {
    let bench = Bench::new();
    // Zeros that take no room.
    let file = fs::File::create(bench.path("in")).unwrap();
    file.set_len(1 << 30).unwrap();
    let mut child = bench.command(&["encrypt", "-k", "key", "-o", "-", "in"]).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 1000]).unwrap(); // it has begun, and waits for this pipe
    file.set_len(MIB as u64).unwrap();
    std::io::copy(&mut stdout, &mut std::io::sink()).unwrap();
    let run = finish(child);
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    assert!(run.stderr.contains("\"in\" became shorter while it was read"), "{run:?}");
    // A MAC of such a file would be of nothing that ever existed.
    #[cfg(target_os = "linux")]
    {
        file.set_len(1 << 36).unwrap();
        let mut child = bench.command(&["mac", "-k", "key", "in"]).spawn().unwrap();
        let io = format!("/proc/{}/io", child.id());
        // Only those with the right to trace it can see this.
        let has_read = || {
            let text = fs::read_to_string(&io).ok()?;
            let count = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
            Some(count.parse::<usize>().unwrap())
        };
        let seen = loop {
            match has_read() {
                Some(count) if count < 4 * MIB => std::thread::yield_now(),
                seen => break seen,
            }
        };
        if seen.is_none() {
            eprintln!("not tested: a MAC of a file that becomes shorter");
            child.kill().unwrap();
        }
        file.set_len(MIB as u64).unwrap();
        let run = finish(child);
        if seen.is_some() {
            assert_eq!((run.status.code(), run.stdout.len()), (Some(1), 0), "{run:?}");
            assert!(run.stderr.contains("\"in\" became shorter while it was read"), "{run:?}");
        }
    }
    // Part of a file on standard input is whole.
    bench.write("in", text(1000));
    let mut file = fs::File::open(bench.path("in")).unwrap();
    file.read_exact(&mut [0; 900]).unwrap();
    let run = finish(bench.command(&["encrypt", "-k", "key"]).stdin(file).spawn().unwrap());
    assert!(run.status.success(), "{run:?}");
    let opened = bench.run_with_input(&["decrypt", "-k", "key"], &run.stdout);
    assert!(opened.stdout == text(1000)[900..]);
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_owner() {
    use std::os::unix::fs::{MetadataExt, chown};
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.write("out", "");
    if chown(bench.path("out"), Some(12345), Some(12345)).is_err() {
        eprintln!("only root can give a file away");
        return;
    }
    bench.ok(&["encrypt", "-k", "key", "-f", "-o", "out", "in"]);
    let metadata = fs::metadata(bench.path("out")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (12345, 12345));
}
