# SPDX-License-Identifier: Apache-2.0
"""Fills the generated parts of the documents from the committed results; --check only compares.

A part stands between `<!-- generated: NAME ARGUMENTS -->` and `<!-- end of NAME -->`:
  report FILE SECTION...   sections of benchmarks/results/FILE.txt, a report as the program printed it;
                           `head` is its first paragraph, others are named by how their first line begins
  figures                  every `figures` entry of benchmarks/results/*.json, as a table
"""
import argparse
import difflib
import json
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md"]
PART = re.compile(r"(<!-- generated: (\w+) ?(.*?) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
NOTHING_YET = "*No result is committed yet; `sh cmake/demo.sh` makes one.*\n"


def report(results, name, *sections):
    path = results / f"{name}.txt"
    if not path.exists():
        return NOTHING_YET
    first, *rest = path.read_text().rstrip("\n").split("\n\n")
    chosen = []
    for section in sections:
        found = [first] if section == "head" else [p for p in rest if p.startswith(section)]
        if not found:
            sys.exit(f"{path} has no section that begins with `{section}`")
        chosen += found
    return "```\n" + "\n\n".join(chosen) + "\n```\n"


def figures(results):
    rows = []
    for path in sorted(results.glob("*.json")):
        content = json.loads(path.read_text())
        if not isinstance(content, dict):
            continue
        for each in content.get("figures", []):
            cells = [str(each.get(key, "")) for key in ("what", "value", "target", "peer")]
            rows.append(f"| {' | '.join(cells)} | [{path.stem}](benchmarks/results/{path.name}) |\n")
    if not rows:
        return NOTHING_YET
    return "| what | measured | target | peer, same run | result |\n|---|---|---|---|---|\n" + "".join(rows)


RENDERERS = {"report": report, "figures": figures}


def filled(text, results):
    def fill(part):
        opening, kind, arguments, closing = part.groups()
        if kind not in RENDERERS:
            sys.exit(f"`{opening.strip()}`: there is no generator of that name")
        return opening + RENDERERS[kind](results, *arguments.split()) + closing

    return PART.sub(fill, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = False
    for name in DOCUMENTS:
        path = root / name
        before = path.read_text()
        after = filled(before, root / "benchmarks" / "results")
        if before != after:
            stale = True
            sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True),
                                                       name, f"{name}, generated"))
            if not options.check:
                path.write_text(after)
    if stale and options.check:
        sys.exit("the documents are stale: run `python3 cmake/generate_docs.py`")


if __name__ == "__main__":
    main()
