"""Sphinx configuration: built by ``make docs``."""

from importlib.metadata import version as _version

project = "weighbors"
author = "The weighbors developers"
copyright = "2026, The weighbors developers"
version = release = _version("weighbors")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
numpydoc_show_class_members = False
autodoc_default_options = {"members": True, "inherited-members": False}
autodoc_typehints = "none"

html_theme = "pydata_sphinx_theme"
html_title = "weighbors"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": True}
