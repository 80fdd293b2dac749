#!/usr/bin/env python3
"""Makes a table of known answers: which vectors came out right where, and how many.

    PALLADION_KNOWN_ANSWERS=$PWD/FILE cargo test --release --all-features --test all
    scripts/known-answers.py FILE

The tests of the core write the file. Runs add up in it; of runs of the same tests the one with the most answers counts. The
exit status is 1 if one of the sources is missing for some CPU and backend.
"""

import collections
import sys

SOURCES = ("RFC 10032, appendix A", "Wycheproof", "vectors/", "paper of 2023", "drafts of 2023")


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 2
    runs = collections.defaultdict(lambda: collections.Counter())
    with open(arguments[0], encoding="utf-8") as file:
        for line in file:
            cpu, backend, source, count = line.rstrip("\n").split("\t")
            # Tests of one source (with different numbers of answers) add up, the same one run again does not.
            runs[cpu, backend, source][int(count)] += 1
    places = sorted({(cpu, backend) for cpu, backend, _ in runs})
    answers = {}
    for key, counts in runs.items():
        # How often all of a source's tests ran is how often the rarest of them did.
        times = min(counts.values())
        answers[key] = sum(count * (n // times) for count, n in counts.items())
    print("| CPU | backend | " + " | ".join(SOURCES) + " |")
    print("|---|---|" + "---:|" * len(SOURCES))
    missing = 0
    for cpu, backend in places:
        cells = [answers.get((cpu, backend, source), 0) for source in SOURCES]
        missing += cells.count(0)
        print("| %s | %s | %s |" % (cpu, backend, " | ".join(str(cell) if cell else "none" for cell in cells)))
    if missing or not places:
        print("known-answers: a source is missing somewhere", file=sys.stderr)
    return 1 if missing or not places else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
