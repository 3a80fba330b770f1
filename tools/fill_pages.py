"""Fill the tables of the pages from the results committed in docs/results.

    python tools/fill_pages.py               # writes the pages
    python tools/fill_pages.py --check       # names the pages that are not up to date
    python tools/fill_pages.py --take STORE  # first copies a new store of benchmarks/learned_votes.py

What stands in a page between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` is what the function of that name in
`page_tables` returns.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from page_tables import (  # noqa: E402 - a folder beside this script
    class_relief,
    ifsw,
    keel,
    learned_votes,
    lists,
    relief_numeric,
    simbambiw,
    wibk,
)
from page_tables.marks import Tables, fill_marks  # noqa: E402

PAGES: dict[str, Tables] = {
    "docs/papers/simbambiw.md": simbambiw.TABLES,
    "docs/papers/class_relief.md": class_relief.TABLES,
    "docs/papers/wibk.md": wibk.TABLES,
    "docs/papers/ifsw.md": ifsw.TABLES,
    "docs/migration/from_keel.md": keel.TABLES,
    "docs/guide/lists.md": lists.TABLES,
    "docs/guide/relief.md": relief_numeric.TABLES,
    **learned_votes.PAGES,
}


def outdated() -> list[str]:
    """Return the pages that differ from what the results say."""
    texts = {name: (ROOT / name).read_text(encoding="utf8") for name in PAGES}
    return [name for name, text in texts.items() if fill_marks(text, PAGES[name]) != text]


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--take", type=Path, metavar="STORE")
    parser.add_argument("--source", default="this release", help="which sources of weighbors ran the cells")
    given = parser.parse_args()
    if given.take:
        learned_votes.take_store(given.take, given.source)
    late = outdated()
    if given.check:
        print("\n".join(f"{name} is not what docs/results says" for name in late) or "up to date")
        return bool(late)
    for name in late:
        path = ROOT / name
        path.write_text(fill_marks(path.read_text(encoding="utf8"), PAGES[name]), encoding="utf8")
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
