"""How Sphinx builds the documentation site: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "extensions")]

import separatrix

project = "separatrix"
author = "The separatrix developers"
copyright = author
version = release = separatrix.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.githubpages",
    "numpydoc",
    "sphinx_design",
    "public_names",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "**/.*"]
nitpicky = False

# Markdown: anchors of headings, so that pages may point at a section of one another.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

# Docstrings: one page for a public name, with its methods below it.
autodoc_typehints = "none"  # numpydoc's sections state the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "separatrix"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "separatrix"},
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
html_sidebars = {"index": []}
