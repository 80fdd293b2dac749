//! Real files, pipes and accidents, end to end.

use std::fs;
use std::io::{Read, Write};

use crate::common::*;

const MIB: usize = 1 << 20;

#[test]
fn files_and_pipes_of_all_sizes() {
    let bench = Bench::new();
    for len in [0, 1, MIB - 1, MIB, MIB + 1, 40 * MIB + 12345] {
        let text = text(len);
        bench.write("in", &text);
        bench.ok("encrypt -k key -o sealed --force in");
        assert_eq!(bench.read("sealed").len(), 128 + len + 36 * len.div_ceil(MIB).max(1));
        bench.ok("decrypt -k key -o out --force sealed");
        assert!(bench.read("out") == text, "{len}");
        for args in ["encrypt -k key", "encrypt -k key -o - -"] {
            let sealed = bench.run_with_input(args, &text);
            assert!(sealed.status.success() && sealed.stderr.is_empty(), "{:?}", sealed.stderr);
            let opened = bench.run_with_input("decrypt -k key", &sealed.stdout);
            assert!(opened.status.success() && opened.stdout == text);
        }
    }
    assert_eq!(bench.names(), ["in", "key", "out", "sealed"]);
}

#[test]
fn algorithms_chunk_sizes_threads() {
    let bench = Bench::new();
    bench.write("in", text(300_000));
    let algorithms =
        ["AEGIS-128L", "aegis-128x2", "aegis-128x4", "aegis-256", "aegis-256X2", "aegis-256x4"];
    for (id, algorithm) in (1..).zip(algorithms) {
        let options = format!("--algorithm {algorithm} --chunk-size 64K --threads 3");
        bench.ok(&format!("encrypt -k key {options} -f -o sealed in"));
        let sealed = bench.read("sealed");
        assert_eq!((sealed[9], sealed[11]), (id, 16));
        assert!(bench.ok("decrypt -k key --threads 1 -o - sealed") == text(300_000));
    }
}

#[test]
fn every_backend() {
    let bench = Bench::new();
    bench.write("in", text(100_000));
    let table = bench.shows("backends");
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    let usable = table.lines().filter(|line| line.contains(" yes "));
    let backends: Vec<_> = usable.filter_map(|line| line.split(' ').next()).collect();
    assert!(backends.contains(&"portable"), "{table}");
    for backend in backends {
        for args in ["encrypt -k key -o sealed -f in", "decrypt -k key -o out -f sealed"] {
            let run = bench.run_with("PALLADION_BACKEND", backend, args);
            assert!(run.status.success(), "{run:?}");
        }
        assert!(bench.read("out") == text(100_000));
    }
    let run = bench.run_with("PALLADION_BACKEND", "abacus", "encrypt -k key -o - in");
    assert_eq!(run.status.code(), Some(1));
    let says = "error: the environment variable PALLADION_BACKEND=\"abacus\" names no backend";
    assert!(run.stderr.starts_with(says) && run.stderr.contains("portable"), "{run:?}");
}

#[test]
fn damaged_files() {
    let bench = Bench::new();
    bench.ok("keygen -o other");
    let text = text(3 * MIB);
    bench.write("in", &text);
    // The key from standard input.
    let sealed = bench.run_with_input("encrypt -k - -o - in", &bench.read("key")).stdout;
    bench.write("sealed", &sealed);
    assert!(bench.ok("decrypt -k key -o - sealed") == text);
    let flipped = |at: usize| {
        let mut file = sealed.clone();
        file[at] ^= 1;
        file
    };
    for (file, message) in [
        (flipped(2 * MIB), "damaged: chunk 1 (at byte 1048740)"),
        (sealed[..2 * MIB].to_vec(), "truncated: it ends within chunk 1, after 2097152 bytes"),
        (sealed[..100].to_vec(), "truncated: it ends within the header"),
        (vec![], "the input is empty"),
        ([&sealed[..], b"\n"].concat(), "data follows from byte 3145964"),
        (flipped(20), "the header of the file is damaged"),
        (flipped(0), "not a Palladion file"),
    ] {
        bench.write("damaged", &file);
        let stderr = bench.fails("decrypt -k key -o out damaged", 4, message);
        assert!(stderr.contains("\"damaged\": ") && stderr.contains("\nhint: "), "{stderr}");
    }
    bench.fails("decrypt -k other -o out sealed", 3, "not the key");
    // A pipe gets only what is verified.
    let run = bench.run_with_input("decrypt -k key", &flipped(2 * MIB + 500));
    assert_eq!(run.status.code(), Some(4));
    assert!(run.stdout == text[..2 * MIB]);
}

#[test]
fn salvage() {
    let bench = Bench::new();
    let text = text(3 * MIB + 5);
    bench.write("in", &text);
    bench.ok("encrypt -k key -o sealed in");
    let sealed = bench.read("sealed");
    let salvage = |bytes: &[u8]| {
        bench.write("damaged", bytes);
        bench.run("decrypt -k key --salvage -f -o out damaged")
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
        let stderr = bench.fails("decrypt -k key -o new damaged", 4, "");
        assert!(stderr.contains("decrypt --salvage -o OUT FILE recovers it"), "{at}: {stderr}");
    }
    damaged[51] ^= 9;
    assert_eq!(salvage(&damaged).status.code(), Some(4));
    bench.write("damaged", damaged);
    let stderr = bench.fails("info damaged", 4, "the header of the file is damaged");
    assert!(!stderr.contains("--salvage"), "{stderr}");
    bench.write("damaged", [&sealed[..], b"more"].concat());
    let stderr = bench.fails("decrypt -k key -o new damaged", 4, "data follows");
    assert!(stderr.contains("--salvage -o OUT FILE writes the whole of it"), "{stderr}");
    // Nothing to be had: the old output stays.
    let run = salvage(&sealed[..2000]);
    assert!(run.stderr.contains("error: \"damaged\": nothing is intact"), "{run:?}");
    assert!(bench.read("out") == text);
    bench.fails("decrypt -k key --salvage damaged", 2, "--output");
    bench.fails("decrypt -k key --salvage damaged -o -", 2, "is not a regular file");
    bench.fails("decrypt -k key --salvage damaged -o x --rm", 2, "--rm");
}

#[test]
fn a_file_that_appears_meanwhile_is_not_overwritten() {
    let bench = Bench::new();
    let mut child = bench.spawn("encrypt -k key -o out");
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
    bench.ok("encrypt -k key -o sealed in");
    let long = format!("encrypt -k key -o {} in", "x".repeat(300));
    for (args, status, message) in [
        ("encrypt -k key -o missing/out in", 1, "no directory \"missing\""),
        ("encrypt -k key -o out folder", 1, "is a directory"),
        ("encrypt -k key -o out missing", 1, "cannot open \"missing\""),
        ("encrypt -k missing -o out in", 1, "cannot open \"missing\""),
        ("encrypt -k in -o out in", 1, "not a Palladion key"),
        ("encrypt -k key -o new/ in", 1, "there is no directory \"new/\""),
        ("encrypt -k key -o new/. in", 1, "is a directory, not a file"),
        ("encrypt -k key -o in/out in", 1, "cannot create"),
        (&long, 1, "cannot create"),
        ("decrypt -k key -o missing/out sealed", 1, "no directory"),
        // Nothing is asked for in vain: this test has no terminal, and that is not the error.
        ("decrypt -p -o out in", 4, "not a Palladion file"),
        ("decrypt -p -o out sealed", 3, "with a key file"),
        // Wrong usage.
        ("encrypt -o - in", 2, ""),
        ("encrypt -k key --chunk-size 3K -o - in", 2, ""),
        ("encrypt -k key --algorithm aes -o - in", 2, ""),
        ("encrypt -k key --threads 0 -o - in", 2, ""),
        ("encrypt -k key -o out in in", 2, ""),
        ("encrypt -k -", 2, ""),
        ("mac -k -", 2, ""),
        ("speed --seconds 0", 2, ""),
    ] {
        bench.fails(args, status, message);
    }
    assert_eq!(bench.run("").status.code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn links_and_places_of_others() {
    let bench = Bench::new();
    bench.write("in", "secret");
    std::os::unix::fs::symlink("nowhere", bench.path("link")).unwrap();
    let stderr = bench.fails("encrypt -p -o link in", 1, "\"link\" already exists");
    assert!(stderr.contains("remove the link"), "{stderr}");
    bench.fails("encrypt -p -f -o link in", 1, "symbolic link to a missing file");
    let stderr = bench.fails("encrypt -k key -o /proc/out in", 1, "cannot create a file in");
    assert!(!stderr.contains(".palladion-"), "{stderr}");
}

#[test]
fn help_and_pages() {
    let bench = Bench::new();
    for (group, commands) in [
        ("", "keygen encrypt decrypt mac backends speed completions man"),
        ("raf", "create info cat write truncate verify import export"),
    ] {
        let help = bench.shows(&format!("{group} --help"));
        for command in commands.split(' ') {
            assert!(help.contains(command), "{help}");
            let text = bench.shows(&format!("{group} {command} --help"));
            assert!(
                text.contains(format!("palladion {group} {command}").replace("  ", " ").trim())
            );
            assert!(group.is_empty() || text.contains("Examples:"), "{text}");
        }
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(bench.ok(&["completions", shell]).len() > 1000);
    }
    bench.ok("man share/man1"); // creates the folders
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
    assert_eq!(bench.ok("man"), bench.read("share/man1/palladion.1"));
    assert_eq!(bench.ok("man -"), bench.ok("man"));
    bench.fails("man key", 1, "cannot write the manual pages to \"key\"");
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
    let table = Bench::new().shows("speed --seconds 0.1");
    for name in ["AEGIS-128L", "AEGIS-128X2", "AEGIS-128X4", "AEGIS-256 ", "AEGIS-256X2"] {
        assert!(table.contains(name), "{table}");
    }
    for name in ["AEGIS-256X4", "AES-256-GCM", "Backend", "The usual round was"] {
        assert!(table.contains(name), "{table}");
    }
}

#[test]
fn an_input_that_becomes_shorter_is_noticed() {
    let bench = Bench::new();
    // Zeros that take no room.
    let file = fs::File::create(bench.path("in")).unwrap();
    file.set_len(1 << 30).unwrap();
    let mut child = bench.command("encrypt -k key -o - in").spawn().unwrap();
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
        let mut child = bench.command("mac -k key in").spawn().unwrap();
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
    let run = finish(bench.command("encrypt -k key").stdin(file).spawn().unwrap());
    assert!(run.status.success(), "{run:?}");
    let opened = bench.run_with_input("decrypt -k key", &run.stdout);
    assert!(opened.stdout == text(1000)[900..]);
}
