"""Measures calls of this package, pyaegis and AES-GCM of `cryptography` side by side.

They take turns in one run; the result is the fastest of many rounds.

    python bench.py [--rust PROGRAM] [--rounds N]

PROGRAM is the project's example `calls` (cargo build --release -p palladion --example calls), which
times the same calls from Rust.
Needs pyaegis and cryptography to compare with; leaves out what is not installed.

To count the instructions of a call instead, compare two numbers of calls:

    valgrind --tool=callgrind python bench.py --only AEGIS-128L --calls 1000
    valgrind --tool=callgrind python bench.py --only AEGIS-128L --calls 6000
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import time
from collections.abc import Callable

import palladion

SIZES = [16, 64, 256, 1024, 4096, 16384, 65536, 1 << 20]
ALGORITHMS = ["AEGIS-128L", "AEGIS-128X2", "AEGIS-256", "AEGIS-256X2"]
SAMPLE = 300e-6  # seconds


def subjects(size: int) -> dict[str, Callable[[], object]]:
    """The calls to time: encryption of a message of one size, in each way."""
    message, found = bytes(size), {}
    for name in ALGORITHMS:
        nonce, out = palladion.generate_nonce(name), bytearray(size + 16)
        cipher = palladion.Cipher(palladion.generate_key(name), name, tag_size=16)
        found[f"{name} into"] = lambda c=cipher, n=nonce, o=out: c.encrypt(n, message, into=o)
        found[name] = lambda c=cipher, n=nonce: c.encrypt(n, message)
    key = palladion.generate_key()
    found["AEGIS-256X2-MAC"] = lambda: palladion.mac(key, message, digest_size=16)
    try:
        import pyaegis
    except ImportError:
        print("(pyaegis is not installed)")
    else:
        for name in ("Aegis128L", "Aegis128X2", "Aegis256", "Aegis256X2"):
            theirs = getattr(pyaegis, name)(tag_size=16)
            k, n, o = theirs.random_key(), theirs.random_nonce(), bytearray(size + 16)
            found[f"pyaegis {name}"] = lambda t=theirs, k=k, n=n: t.encrypt(k, n, message)
            found[f"pyaegis {name} into"] = lambda t=theirs, k=k, n=n, o=o: t.encrypt(
                k, n, message, into=o
            )
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        print("(cryptography is not installed)")
    else:
        for bits in (128, 256):
            gcm = AESGCM(bytes(bits // 8))
            found[f"cryptography AES-{bits}-GCM"] = lambda g=gcm: g.encrypt(
                bytes(12), message, None
            )
    found["empty"] = lambda: palladion.backend()
    return found


def measure(rounds: int) -> dict[str, list[float]]:
    """The nanoseconds of each subject, for each size."""
    table: dict[str, list[float]] = {}
    for size in SIZES:
        found = subjects(size)
        counts, best = {}, dict.fromkeys(found, float("inf"))
        for name, call in found.items():
            start = time.perf_counter()
            for _ in range(5):
                call()
            counts[name] = max(1, int(SAMPLE / ((time.perf_counter() - start) / 5 + 1e-9)))
        for _ in range(rounds):
            for name, call in found.items():
                times = range(counts[name])
                start = time.perf_counter_ns()
                for _ in times:
                    call()
                best[name] = min(best[name], (time.perf_counter_ns() - start) / counts[name])
        for name, ns in best.items():
            table.setdefault(name, []).append(ns)
    return table


def rust(program: str, rounds: int) -> dict[str, list[float]]:
    """The nanoseconds of the same calls from Rust, the best of some runs."""
    best: dict[str, list[float]] = {}
    for _ in range(rounds):
        run = subprocess.run(
            [program, *map(str, SIZES)], check=True, capture_output=True, text=True
        )
        for line in run.stdout.splitlines()[1:]:
            words = line.split()
            if words[1] == "encrypt":
                times = [float(word) for word in words[2:]]
                best[words[0]] = [min(pair) for pair in zip(best.get(words[0], times), times)]
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rust", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--only", metavar="NAME", help="make calls of one kind, with 64 bytes")
    parser.add_argument("--calls", type=int, default=1000)
    arguments = parser.parse_args()
    if arguments.only:
        call = subjects(64)[arguments.only]
        for _ in range(arguments.calls):
            call()
        return
    print(
        f"palladion {palladion.__version__} on {palladion.backend()}, "
        f"Python {platform.python_version()}; nanoseconds per call"
    )
    table = measure(arguments.rounds)
    if arguments.rust:
        for name, times in rust(arguments.rust, 3).items():
            table[f"Rust {name}"] = times
    print(f"\n{'encrypt':<28}" + "".join(f"{size:>10}" for size in SIZES))
    for name, times in table.items():
        print(f"{name:<28}" + "".join(f"{ns:>10.0f}" for ns in times))
    print(f"\n{'our AEGIS-128L into is':<28}" + "".join(f"{size:>10}" for size in SIZES))
    ours = table["AEGIS-128L into"]
    for name, times in table.items():
        if name.startswith(("pyaegis", "crypto", "Rust aegis128l")):
            print(
                f"{'x as fast as ' + name:<38}"[:38]
                + "".join(f"{other / own:>10.2f}" for own, other in zip(ours, times))
            )


if __name__ == "__main__":
    main()
