#!/usr/bin/env python3
"""Checks that the programs which a tool watches for secrets call every public function that handles any.

    scripts/check-secret-calls.py --rust CALLS... [--c CALLS...]

CALLS are files that `constant-time --calls` and `secrets --calls` have written (scripts/check-constant-time.sh): the names of what
they did call, in Rust those that the compiler gives. They are compared with the public API (api/*.txt, and the functions that the
C headers declare). A function that is neither called nor excused below is an error; so is an excuse that no function needs, and a
call of something that is not in the API. At the end each call is left out once, which must be noticed. Needs Python 3.8; no time.
"""

import argparse
import fnmatch
import glob
import os
import re
import sys

# Functions that handle no secrets, or that cannot be watched, by the reason. `*` stands for
# anything.
EXCUSED_RUST = {
    "names, numbers, choices and lengths": [
        "palladion::Algorithm::*", "<palladion::Algorithm as *",
        "palladion::Backend::*", "<palladion::Backend as *", "palladion::backend", "palladion::set_backend",
        "<palladion::family::Aegis??? as *", "<palladion::historic::TagForm as *",
        "palladion::any::Cipher::algorithm", "palladion::any::Cipher::tag_len",
        "palladion_file::ChunkSize::*", "<palladion_file::ChunkSize as *",
        "palladion_file::KdfParams::*", "<palladion_file::KdfParams as *", "<palladion_file::KdfLimits as *",
        "<palladion_file::Summary as *", "palladion_file::needs_passphrase",
        "palladion_file::sans_io::Opener::algorithm", "palladion_file::sans_io::Opener::chunk_size",
        "palladion_file::sans_io::Opener::is_complete",
        "palladion_raf::Info::*", "<palladion_raf::Info as *", "palladion_raf::probe", "palladion_raf::is_chunk_size",
        "palladion_raf::record_len", "palladion_raf::merkle::tree_len", "palladion_raf::Found::info",
        "palladion_raf::Raf::info", "palladion_raf::Raf::size", "palladion_raf::Raf::is_poisoned",
    ],
    "settings": [
        "palladion_file::Encryptor::[acko]*", "palladion_file::Encryptor::threads",
        "palladion_file::Decryptor::[cko]*", "palladion_file::Decryptor::threads",
        "palladion_raf::Options::algorithm", "palladion_raf::Options::chunk_size", "palladion_raf::Options::overwrite",
        "palladion_raf::Options::file_id", "<palladion_raf::Options as *", "palladion_raf::Raf::set_barriers",
        "palladion_raf::Found::read_only", "<palladion_raf::System as Default>::default",
        "<palladion_raf::merkle::Sha256 as Clone>::clone", "<palladion_raf::merkle::Sha256 as Default>::default",
        "<palladion_raf::merkle::Sha256 as Debug>::fmt",
    ],
    "errors": [
        "<*Error as *", "<palladion::UnknownAlgorithm as *", "palladion_file::Error::hint",
    ],
    "new random bytes, of which the tool cannot know that they are secret": [
        "palladion::Key::generate", "palladion::Nonce::generate", "palladion_file::MasterKey::generate",
        "<palladion_raf::System as Environment>::random",
    ],
    "writes zeros; happens wherever such a thing goes": ["<* as Drop>::drop", "<palladion::Key as Zeroize>::zeroize"],
    "compares, hashes or prints nonces, tags or ciphertexts, which everybody may see": [
        "<palladion::Nonce as [DHP]*", "<palladion::Tag as Debug>::fmt", "<palladion_raf::Found as Debug>::fmt",
        "<palladion_raf::Cursor as Debug>::fmt",
    ],
    "Argon2id reads memory at places that depend on the passphrase, by its design": [
        "palladion_file::Passphrase::stretch",
    ],
    "storages: they move bytes of the file as they are, and Memory is in use wherever a file is": [
        "<* as Storage>::*", "<* as Shared>::*", "<palladion_raf::Memory as *", "<palladion_raf::ReadOnly as Debug>::fmt",
        "<palladion_raf::Stream as Debug>::fmt",
    ],
    "take pointers; the functions of C, which are watched, call them": [
        "palladion::hazmat::seal", "palladion::hazmat::open", "palladion::hazmat::seal_any", "palladion::hazmat::open_any",
        "<palladion::hazmat::Message as *",
    ],
    "the declaration in a trait of what others do": [
        "palladion_raf::Storage::*", "palladion_raf::Shared::*", "palladion_raf::Environment::random",
        "palladion_raf::merkle::Hasher::*",
    ],
}

EXCUSED_C = {
    "constants": ["*_keybytes", "*_npubbytes", "*_abytes_m??", "*_tailbytes_max", "aegis_raf_chunk_m??",
                  "aegis_raf_header_size", "aegis_raf_scratch_align"],
    "names, numbers, choices and lengths": [
        "aegis_init", "palladion_version", "palladion_backend", "palladion_backends", "palladion_set_backend",
        "*_raf_scratch_size", "*_raf_scratch_validate", "aegis_raf_probe", "aegis_raf_merkle_buffer_size"],
    "new random bytes, of which the tool cannot know that they are secret": ["palladion_random"],
}


def without_generics(text):
    """Without all that is in angle brackets."""
    out, depth, before = [], 0, ""
    for c in text:
        depth += c == "<"
        if depth == 0:
            out.append(c)
        depth -= c == ">" and before != "-"
        before = c
    return re.sub("::(?=::|$)", "", "".join(out)).strip()


def bracketed(text):
    """What is in the angle brackets that text begins with, and what comes after them."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "<") - (c == ">" and text[i - 1] != "-")
        if depth == 0:
            return text[1:i], text[i + 1:]
    raise ValueError(text)


def split_top(text, word):
    """Splits at a word that is not in angle brackets."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "<") - (c == ">" and text[i - 1] != "-")
        if depth == 0 and text.startswith(word, i):
            return text[:i], text[i + len(word):]
    return text, None


def key(type_, trait, name):
    """How a function is called here: a trait by its last name only, as the same trait has several paths."""
    if trait is None:
        return (type_ + "::" if type_ else "") + name
    return "<%s as %s>::%s" % (type_, without_generics(trait).split("::")[-1], name)


def type_of(text):
    """A type without generics, lifetimes and lengths."""
    return re.sub(r"; \w+\]", "; N]", without_generics(re.sub("^&('[a-z_]+ )?", "&", text.strip())))


def public_functions(lines):
    """The functions of a file of api/."""
    functions, trait, of = set(), None, None
    for line in lines:
        line = re.sub(r"^#\[.*?\] ", "", line.rstrip("\n"))
        if re.match("(unsafe )?impl", line):
            rest = re.sub("^(unsafe )?impl", "", line)
            rest = bracketed(rest)[1] if rest.startswith("<") else rest
            trait, of = split_top(split_top(rest.strip(), " where ")[0], " for ")
        found = re.match(r"pub (?:const |unsafe |extern \"C\" )*fn (.*)", line)
        if found:
            owner, name = type_of(split_top(found[1], "(")[0]).rsplit("::", 1)
            # (Functions that belong to no type can follow an implementation too.)
            belongs = of is not None and type_of(of) == owner
            functions.add(key(owner, trait if belongs else None, name))
    return functions


def called_functions(lines, public):
    """What the compiler calls functions, under their public names. Modules that are not public are left out."""
    types = {re.sub("^<| as .*", "", name) if name.startswith("<") else name.rsplit("::", 1)[0] for name in public}

    def public_path(path, names):
        if path in names:
            return path
        parts = path.split("::")
        for short in ("::".join([parts[0]] + parts[i:]) for i in range(1, len(parts))):
            if short in names:
                return short
        same = [name for name in names if name.split("::")[0] == parts[0] and name.split("::")[-1] == parts[-1]]
        return same[0] if len(same) == 1 else path

    called = set()
    for line in filter(None, map(str.strip, lines)):
        # A function of a trait; one whose type is from another module; any other.
        if line.startswith("<"):
            inner, rest = bracketed(line)
            of, trait = split_top(inner, " as ")
        elif "<impl " in line:
            inner, rest = bracketed(line[line.index("<impl "):])
            trait, of = split_top(inner[len("impl "):], " for ")
            of, trait = (trait, None) if of is None else (of, trait)
        else:
            path = without_generics(line)
            owner, name = path.rsplit("::", 1)
            method = public_path(owner, types) + "::" + name
            called.add(method if method in public else public_path(path, public))
            continue
        called.add(key(public_path(type_of(of), types), trait, without_generics(rest[2:])))
    return called


def declared_functions(headers):
    """As scripts/c-names.sh does."""
    functions = set()
    for line in headers:
        if re.match(r"(int|void|size_t|const char)[ *]", line):
            functions.update(re.findall(r"\b((?:aegis|palladion)[a-z0-9_]+)\(", line))
    return functions


def faults(public, called, excuses):
    """What is wrong: functions that nobody calls or excuses, excuses for nothing, calls of what is not public."""
    found = []
    needed = public - called
    for name in sorted(needed):
        if not any(fnmatch.fnmatchcase(name, p) for patterns in excuses.values() for p in patterns):
            found.append("not called, and not excused: " + name)
    for reason, patterns in excuses.items():
        for pattern in patterns:
            if not fnmatch.filter(needed, pattern):
                found.append("excuses nothing: %s (%s)" % (pattern, reason))
    found += ["called, but not in the public API: " + name for name in sorted(called - public)]
    return found


def check(what, public, called, excuses):
    found = faults(public, called, excuses)
    for fault in found:
        print("%s: %s" % (what, fault), file=sys.stderr)
    if found:
        return False
    # It would be noticed: each call left out, a new function, an excuse for nothing.
    for name in called:
        left_out = faults(public, called - {name}, excuses)
        excused = any(fnmatch.fnmatchcase(name, p) for patterns in excuses.values() for p in patterns)
        if left_out != ["not called, and not excused: " + name] and not excused:
            sys.exit("not noticed: that %s is not called" % name)
    for planted in (faults(public | {"palladion::planted"}, called, excuses),
                    faults(public, called | {"palladion::planted"}, excuses),
                    faults(public, called, {**excuses, "planted": ["palladion::planted"]})):
        if len(planted) != 1:
            sys.exit("a planted gap was not noticed")
    print("%s: %d public functions, %d of them called, %d excused" %
          (what, len(public), len(called), len(public) - len(called)))
    return True


def lines_of(files):
    for file in files:
        with open(file, encoding="utf-8") as lines:
            yield from lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rust", nargs="+", default=[])
    parser.add_argument("--c", nargs="+", default=[])
    arguments = parser.parse_args()
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    good = True
    if arguments.rust:
        public = set()
        for file in sorted(glob.glob(os.path.join(root, "api/*.txt"))):
            public |= public_functions(lines_of([file]))
        good &= check("Rust", public, called_functions(lines_of(arguments.rust), public), EXCUSED_RUST)
    if arguments.c:
        headers = glob.glob(os.path.join(root, "crates/palladion-capi/include/*.h"))
        public = declared_functions(lines_of(headers))
        good &= check("C", public, {line.strip() for line in lines_of(arguments.c)}, EXCUSED_C)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
