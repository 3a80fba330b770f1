"""On free-threaded Python the compiled core must not switch the global interpreter lock on again."""

import subprocess
import sys
import sysconfig

import pytest


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is not free-threaded")
def test_the_core_keeps_the_lock_off():
    # In a process of its own: another package of the tests may have switched the lock on.
    code = "import sys; from weighbors import _native; sys.exit(sys._is_gil_enabled())"
    assert subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", code], check=False).returncode == 0
