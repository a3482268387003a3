# SPDX-License-Identifier: Apache-2.0
"""document_code.py FOLDER DOCUMENT...: writes the C++ of documents, one file per block, and lists the files.

Every ```cpp block begins with `// file: NAME`, and no two names are the same. A ```c++ block is generated from
a program that the build compiles. A file is written only when it changes, so that what has not changed is not
compiled again.
"""
import pathlib
import re
import sys

BLOCK = re.compile(r"^```(\S+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
GENERATED = re.compile(r"<!-- generated: source .*?<!-- end of source -->", re.DOTALL)


def code(document):
    """(file name, text) of each block that is a file of its own."""
    text = document.read_text()
    for language, block in BLOCK.findall(GENERATED.sub("", text)):
        if language == "cpp":
            name = re.match(r"// file: ([\w.]+)\n", block)
            if not name:
                sys.exit(f"{document}: this block does not begin with `// file: NAME`:\n{block}")
            yield name[1], block
        elif language in ("c++", "cuda", "c"):
            sys.exit(f"{document}: nothing compiles this block; write ```cpp and `// file: NAME`:\n{block}")


def main():
    folder, *documents = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    written = set()
    for document in documents:
        for name, block in code(document):
            if name in written:
                sys.exit(f"{document}: another block is called {name} already")
            written.add(name)
            path = folder / name
            if not path.exists() or path.read_text() != block:
                path.write_text(block)
            print(path)
    if not written:
        sys.exit("the documents have no C++")


if __name__ == "__main__":
    main()
