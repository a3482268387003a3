# SPDX-License-Identifier: Apache-2.0
"""Breaks one line of a header at a time, and says which breakages no test notices.

mutate.py include/assay/stats/signed_rank.hpp --test measure/signed_rank [--test ...] [--count 20]

Works on a copy of the tree in a temporary folder; the seed repeats a run. Exit code 1 when fewer
than --caught of the mutants were caught.
"""
import argparse
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
# What a slip of the pen looks like: (pattern, replacement).
SLIPS = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" && ", " || "), (r" \|\| ", " && "),
    (r"\+\+(\w)", r"--\1"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\b1\b", "2"), (r"\b0\b", "1"),
    (r"std::max\(", "std::min("), (r"std::min\(", "std::max("), (r"return (\w+);", r"return {};"),
]


def mutants(text):
    """(line index, mutated line) for every place in code where a slip fits."""
    for index, line in enumerate(text.splitlines()):
        code = line.split("//")[0]
        if not code.strip() or re.match(r"\s*(#|template|static_assert|using|namespace)", code):
            continue
        for pattern, replacement in SLIPS:
            for match in re.finditer(pattern, code):
                yield index, line[:match.start()] + match.expand(replacement) + line[match.end():]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("header", type=pathlib.Path)
    parser.add_argument("--test", action="append", required=True, help="a ctest entry that should notice")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--caught", type=float, default=0.8, help="the share that must be caught")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}")

    with tempfile.TemporaryDirectory() as folder:
        tree, build = pathlib.Path(folder, "tree"), pathlib.Path(folder, "build")
        shutil.copytree(root, tree, ignore=shutil.ignore_patterns("build", ".git", "out"))
        try:  # in the copy, wherever it was named
            header = tree / options.header.resolve().relative_to(root)
            original = header.read_text()
        except (OSError, ValueError):
            sys.exit(f"{options.header} is no header of {root}")
        targets = [f"test.{name.replace('/', '.')}" for name in options.test]
        quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        subprocess.run(["cmake", "-S", tree, "-B", build, "-DASSAY_CUDA=OFF"], check=True, **quiet)

        def notices():
            """What noticed the header as it is: the compiler, a test, or nothing."""
            if subprocess.run(["cmake", "--build", build, "--target", *targets], check=False, **quiet).returncode:
                return "compiler"
            wanted = "^(" + "|".join(map(re.escape, options.test)) + ")$"
            run = subprocess.run(["ctest", "--test-dir", build, "-R", wanted, "--timeout", "120",
                                  "--no-tests=error"], check=False, **quiet)
            return "test" if run.returncode else None

        known = subprocess.run(["ctest", "--test-dir", build, "-N"], check=True, **quiet).stdout
        for name in options.test:
            if not re.search(rf": {re.escape(name)}$", known, re.MULTILINE):
                sys.exit(f"--test {name}: ctest has no entry of that name without a toolkit")
        if notices():
            sys.exit("these tests fail before anything is broken")
        caught, lived = 0, 0
        places = list(mutants(original))
        random.Random(options.seed).shuffle(places)
        for index, line in places:
            if caught + lived == options.count:
                break
            lines = original.splitlines()
            before, lines[index] = lines[index], line
            header.write_text("\n".join(lines) + "\n")
            by = notices()
            if by == "compiler":  # not a mutant
                continue
            caught, lived = caught + (by == "test"), lived + (by is None)
            print(f"{'caught' if by else 'LIVED '} line {index + 1}: {before.strip()}  ->  {line.strip()}", flush=True)
    share = caught / max(1, caught + lived)
    print(f"{caught} of {caught + lived} caught ({share:.0%})")
    raise SystemExit(0 if share >= options.caught else 1)


if __name__ == "__main__":
    main()
