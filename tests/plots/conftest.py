"""Settings for tests of figures: nothing is shown on a screen, and figures are closed after every test."""

import pytest

pytest.importorskip("matplotlib", reason="pictures need matplotlib")


@pytest.fixture(autouse=True)
def _no_window(monkeypatch):
    """Draw without a screen, and close what was drawn."""
    import matplotlib.pyplot as plt

    before = plt.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)
