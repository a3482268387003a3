# SPDX-License-Identifier: Apache-2.0
"""Checks that what the documents name is there: files, headings, headers, C++ names, options of programs.

Parts that are generated from committed results are left out: they keep the names of their time.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
RESULTS = re.compile(r"<!-- generated: (?:report|excerpt|figures|headline).*?<!-- end of \w+ -->", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADER = re.compile(r"<(assay/[\w/.]+)>")
NAME = re.compile(r"(?<![\w:])(?:assay|mr|submit|copy|transfer|comm|trace|report|stats|measure|machine|workloads|kernel|on|cli|nn)"
                  r"::((?:\w+::)*\w+)")
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]+)")
FOREIGN = {"--build", "--install", "--prefix", "--preset", "--type", "--include-json", "--fresh", "--local",
           "--nodes", "--ntasks-per-node", "--gpus-per-node", "--nnodes", "--rdzv-backend", "--rdzv-endpoint",
           "--component", "--overlay-ports"}
# of cmake, nsys, git, Slurm, torchrun, vcpkg


def words_of(*globs):
    """Every word of these files."""
    found = set()
    for pattern in globs:
        for path in root.glob(pattern):
            if path.is_file():
                found |= set(re.findall(r"[\w-]+", path.read_text()))
    return found


def anchors(document):
    heads = re.findall(r"^#+ (.*)", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", re.sub(r"\]\(.*?\)", "", head)).strip().lower().replace(" ", "-") for head in heads}


def broken_links(document, text):
    for link in LINK.findall(text):
        if link.startswith("http"):
            continue
        file, _, anchor = link.partition("#")
        target = (document.parent / file).resolve() if file else document
        if not target.exists():
            yield f"there is no {link}"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{file or document.name} has no heading #{anchor}"


def main():
    # assay::compiled_cli is a target of CMake.
    names = words_of("include/assay/**/*.hpp", "include/assay/**/*.cuh", "tests/*.hpp", "cmake/AssayCompiled.cmake")
    options = words_of("examples/**/*.[hc]pp", "examples/**/*.cu*", "cmake/*", "benchmarks/*", "benchmarks/judges/*",
                       "include/assay/cli/*.hpp", "include/assay/profile/*.hpp")
    wrong = 0
    for document in [root / "README.md", root / "CONTRIBUTING.md", root / "AGENTS.md",
                     *sorted((root / "docs").glob("*.md"))]:
        whole = document.read_text()
        text = RESULTS.sub("", whole)
        found = list(broken_links(document, whole))
        found += [f"there is no <{h}>" for h in HEADER.findall(text) if not (root / "include" / h).exists()]
        found += [f"no header has a name {part} of {name}" for name in NAME.findall(text) for part in name.split("::")
                  if part not in names]
        found += [f"no program has an option {o}" for o in OPTION.findall(text) if o not in options | FOREIGN]
        for what in sorted(set(found)):
            wrong += 1
            print(f"{document.relative_to(root)}: {what}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
