"""How Sphinx builds the documentation site: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "extensions")]

import separatrix

#: Parts of the gallery, in the order of its page.
SECTIONS = ("lines", "bayes", "validation", "classes", "support-vectors", "neighbors", "decisions")
SECTIONS += ("clusters", "theory", "tables")

project = "separatrix"
author = "The separatrix developers"
copyright = author
version = release = separatrix.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.githubpages",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",  # in the site itself: nothing is fetched
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "executed",
    "public_names",
    "displays",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "**/.*", "examples"]
nitpicky = False
smartquotes = False  # quotes belong to values of parameters

# Markdown: anchors of headings, so that pages may point at a section of one another.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]

# Code to copy: without prompts, and not what stands below it as its output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.output) > div.highlight > pre"

# Docstrings: one page for a public name, with its methods below it.
autodoc_typehints = "none"  # numpydoc's sections state the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"  # the page is of the class: its name says nothing

# Examples: all run when the site is built, and one that fails stops it.
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": [*(f"examples/{section}" for section in SECTIONS), "*"],
    "within_subsection_order": "ExampleTitleSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("separatrix",),
    "inspect_global_variables": False,
    "image_scrapers": ("displays",),
    "reset_modules": ("displays.reset",),
    "capture_repr": (),  # what an example says, it prints
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 3600,
    "write_computation_times": False,
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "separatrix"
html_static_path = ["_static"]
html_css_files = ["site.css", "gallery.css"]
html_js_files = ["site.js"]
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "separatrix"},
    "navigation_with_keys": True,
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
#: Pages without a section of their own have the width of the list of its pages for their tables.
ALONE = ("index", "tour", "models", "benchmarks", "how-it-works", "pictures", "architecture")
ALONE += ("dependencies", "faq", "glossary", "install", "changelog")
html_sidebars = {page: [] for page in ALONE}
