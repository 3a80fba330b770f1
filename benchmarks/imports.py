"""What ``import weighbors`` costs beyond ``import numpy``: fresh processes, best of several."""

from __future__ import annotations

import subprocess
import sys

from harness import best_of, show, verdict


def fresh(code: str):
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    best = best_of({"numpy": fresh("import numpy"), "numpy and weighbors": fresh("import numpy, weighbors")})
    show("import", best, "numpy")
    verdict("seconds over numpy", best["numpy and weighbors"] - best["numpy"], 0.15, at_most=True)
