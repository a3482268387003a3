# SPDX-License-Identifier: Apache-2.0
"""readme_code.py DOCUMENT FOLDER: writes the C++ of a document, one file per block, and lists the files.

Every ```cpp block begins with `// file: NAME`. A file is written only when it changes, so that what
has not changed is not compiled again.
"""
import pathlib
import re
import sys

document, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
blocks = re.findall(r"^```cpp\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)
if not blocks:
    sys.exit(f"{document} has no C++")
for block in blocks:
    name = re.match(r"// file: ([\w.]+)\n", block)
    if not name:
        sys.exit(f"{document}: this block does not begin with `// file: NAME`:\n{block}")
    path = folder / name[1]
    if not path.exists() or path.read_text() != block:
        path.write_text(block)
    print(path)
