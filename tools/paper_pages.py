"""Fill the tables of docs/papers from the results committed in docs/results.

python tools/paper_pages.py            # writes the pages
python tools/paper_pages.py --check    # names the pages that are not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

TOOLS = Path(__file__).parent
sys.path.insert(0, str(TOOLS))

from page_marks import Tables, fill_marks  # noqa: E402 - a script of this folder
from paper_tables import class_relief, ifsw, simbambiw, wibk  # noqa: E402

PAPERS = TOOLS.parent / "docs" / "papers"
PAGES: dict[str, Tables] = {
    "simbambiw.md": simbambiw.TABLES,
    "class_relief.md": class_relief.TABLES,
    "wibk.md": wibk.TABLES,
    "ifsw.md": ifsw.TABLES,
}


def outdated() -> list[str]:
    """Return the pages that differ from what the results say."""
    texts = {name: (PAPERS / name).read_text(encoding="utf8") for name in PAGES}
    return [name for name, text in texts.items() if fill_marks(text, PAGES[name]) != text]


def main() -> int:
    """Write the pages, or check them."""
    late = outdated()
    if "--check" in sys.argv[1:]:
        print("\n".join(f"docs/papers/{name} is not what docs/results says" for name in late) or "up to date")
        return bool(late)
    for name in late:
        path = PAPERS / name
        path.write_text(fill_marks(path.read_text(encoding="utf8"), PAGES[name]), encoding="utf8")
        print(f"wrote docs/papers/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
