#!/usr/bin/env python3
"""Makes a table of known answers: which vectors came out right where, and how many.

    PALLADION_KNOWN_ANSWERS=$PWD/FILE cargo test --release --all-features --test vectors --test all
    .ci/known-answers.py FILE [CPU:BACKEND,BACKEND... ...]

The tests of the core write the file. If the same tests ran more than once, the run with the most
answers counts. The exit status is 1 if a named CPU or backend is missing, or has fewer answers than
the source.
"""

import collections
import sys

#: How many answers a source has. With PALLADION_TEST_REDUCED or `--cfg palladion_test_reduced`, as
#: for emulators, the last has every fourth length of messages only.
SOURCES = {
    "RFC 10032, appendix A": (32,),
    "Wycheproof": (951,),
    "paper of 2023": (4,),
    "drafts of 2023": (4,),
    "vectors/": (8449, 4489),
}


def faults(parts, asked):
    """What is missing, and how many answers of each source each CPU and backend has."""
    answers = collections.Counter()
    for (cpu, backend, source, _), count in parts.items():
        answers[cpu, backend, source] += count
    places = sorted({(cpu, backend) for cpu, backend, _ in answers})
    found = ["%s, %s: nothing" % place for place in sorted(set(asked) - set(places))]
    unknown = {source for _, _, source in answers} - set(SOURCES)
    found += ["an unknown source: " + source for source in sorted(unknown)]
    table = {}
    for place in places:
        table[place] = [answers[(*place, source)] for source in SOURCES]
        for (source, expected), count in zip(SOURCES.items(), table[place]):
            if count not in expected:
                wanted = " or ".join(map(str, expected))
                found.append("%s, %s: %d answers of %s, expected %s" % (
                    *place, count, source, wanted))
    return found or ([] if places else ["no answers"]), table


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 2
    parts = {}
    with open(arguments[0], encoding="utf-8") as file:
        for line in file:
            *part, count = line.rstrip("\n").split("\t")
            parts[tuple(part)] = max(parts.get(tuple(part), 0), int(count))
    asked = []
    for cpu, _, backends in (argument.partition(":") for argument in arguments[1:]):
        asked += [(cpu, backend) for backend in backends.split(",")]
    found, table = faults(parts, asked)
    print("| CPU | backend | " + " | ".join(SOURCES) + " |")
    print("|---|---|" + "---:|" * len(SOURCES))
    for (cpu, backend), counts in table.items():
        print("| %s | %s | %s |" % (cpu, backend, " | ".join(map(str, counts))))
    for fault in found:
        print("known-answers: " + fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
