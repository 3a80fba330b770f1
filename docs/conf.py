"""Sphinx configuration: built by ``make docs``."""

import re
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
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
numpydoc_show_class_members = False
autodoc_default_options = {"members": True}
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/uses",
    "doc_module": ("weighbors",),
    "reference_url": {"weighbors": None},
    "capture_repr": (),
    "download_all_examples": False,
    "min_reported_time": 3600,
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "weighbors"
html_static_path = ["_static"]
html_css_files = ["weighbors.css"]
html_js_files = ["names.js"]
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 5,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "decisions": [], "adding_a_weigher": []}


def skip_member(app, what, name, member, skip, options):
    """Leave out what scikit-learn adds to every estimator, and ``plan_``, which is among the attributes."""
    routing = name.startswith("set_") and name.endswith("_request")
    return True if routing or name in ("get_metadata_routing", "plan_", "set_output") else None


def unlink_labels(app, what, name, obj, options, lines):
    """Turn links to labels of scikit-learn's pages, which inherited docstrings contain, into plain text."""
    lines[:] = [re.sub(r":ref:`([^`<]+?) *<[^`]*>`", r"\1", line) for line in lines]


def setup(app):
    """Connect the hooks."""
    app.connect("autodoc-process-docstring", unlink_labels)
    app.connect("autodoc-skip-member", skip_member)
