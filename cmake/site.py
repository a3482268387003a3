#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a site of all pages and headers by Doxygen, without a network, and follows each of its links.

site.py [FOLDER]   FOLDER: default build/site. Exit code 77: there is no Doxygen.

Open index.html of the folder. The search runs in the browser and needs no server.
"""
import collections
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

root = pathlib.Path(__file__).resolve().parents[1]
CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
CODE_OR_LINK = re.compile(r"`[^`]*`|(?<!!)\[((?:`[^`]*`|[^\[\]`])*)\]\(([^)\s]+)\)")
PAGES = {root / "README.md", root / "CHANGELOG.md", root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")}


def label(page, anchor=""):
    """The name of a page or of a heading in it. Doxygen has one space of names for all pages."""
    name = "index" if page.name == "README.md" else f"page-{page.stem.lower()}"
    return f"{name}-{anchor}" if anchor else name


def copy_of(file):
    """Where the site has a file of the repository that is no page of it; of a folder its README, or nothing."""
    if file.is_dir():
        file /= "README.md"
    return f"files/{file.relative_to(root)}.txt" if file.exists() else ""


def filtered(page):
    """The text of a page for Doxygen: its headings have labels, its links lead to these or to copies of files."""
    seen = collections.Counter()

    def link(found):
        text, target = found.groups()
        if target is None or target.startswith("http"):
            return found[0]
        text = " ".join(text.split())  # Doxygen ends a link with its line
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if file in PAGES:
            return f"[{text}](@ref {label(file, anchor)})"
        copy = copy_of(file)
        return f"[{text}]({copy})" if copy else text

    def heading(found):
        level, text = found.groups()
        if level == "#":
            return found[0] if page.name == "README.md" else f"{found[0]} {{#{label(page)}}}"
        anchor = re.sub(r"[^\w -]", "", re.sub(r"\]\(.*?\)", "", text)).strip().lower().replace(" ", "-")
        number = seen[anchor]
        seen[anchor] += 1
        return f"{found[0]} {{#{label(page, anchor)}{f'-{number}' if number else ''}}}"

    parts = CODE.split(page.read_text())
    parts[::2] = [CODE_OR_LINK.sub(link, re.sub(r"^(#+) (.*)$", heading, part, flags=re.MULTILINE)) for part in parts[::2]]
    return "".join(parts).replace("\n```c++\n", "\n```cpp\n")  # Doxygen knows C++ by this name alone


def links_and_names(text):
    """The links of a page of the site, and what others may link to in it; Doxygen quotes every attribute."""
    links, names = set(), set()
    for tag, attributes in re.findall(r"<(\w+)(\s[^<>]*)>", text):
        for name, value in re.findall(r'\s(href|src|id|name)="([^"]+)"', attributes):
            if name in ("href", "src"):
                links.add(html.unescape(value))
            elif name == "id" or tag == "a":
                names.add(html.unescape(value))
    return links, names


def broken_links(site):
    pages = {file: links_and_names(file.read_text()) for file in site.glob("*.html")}
    for page, (links, _) in sorted(pages.items()):
        for link in sorted(links):
            target = urllib.parse.urlparse(link)
            if target.scheme in ("http", "https", "javascript", "data", "mailto"):
                continue
            file = site / urllib.parse.unquote(target.path) if target.path else page
            if not file.exists():
                yield f"{page.name}: there is no {link}"
            # Doxygen's index of a class links to the list of its nested classes, also where it prints none.
            elif target.fragment and file in pages and target.fragment != "nested-classes" \
                    and urllib.parse.unquote(target.fragment) not in pages[file][1]:
                yield f"{page.name}: {file.name} has nothing called {target.fragment}"


def build(site):
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    for page in PAGES:
        for copy in re.findall(r"\]\((files/[^)]+)\.txt\)", filtered(page)):
            file = site / f"{copy}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / copy.removeprefix("files/"), file)
    header = (root / "include/assay/version.hpp").read_text()
    environment = {"ASSAY_SITE": str(site), "ASSAY_VERSION": re.search(r'version = "(.*?)"', header)[1]}
    done = subprocess.run(["doxygen", "docs/Doxyfile"], cwd=root, env=os.environ | environment, text=True,
                          stderr=subprocess.PIPE, check=False)
    wrong = [line for line in done.stderr.splitlines() if ".md:" in line and "warning" in line]
    if done.returncode != 0:
        wrong.append(done.stderr[-2000:])
    found = "".join(each.read_text() for each in (site / "search").glob("*.js"))
    wrong += [f"the search finds no {name}" for name in ("Quickstart", "compare_all") if f"['{name}'" not in found]
    return wrong + list(broken_links(site))


def main():
    if sys.argv[1:2] == ["--filter"]:
        print(filtered(pathlib.Path(sys.argv[2]).resolve()), end="")
        return 0
    if not shutil.which("doxygen"):
        print("skipped: no Doxygen; the package is called doxygen")
        return 77
    site = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "build/site").resolve()
    wrong = build(site)
    print("\n".join(wrong) or f"{len(list(site.glob('*.html')))} pages: {site / 'index.html'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
