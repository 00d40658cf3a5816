"""Messages written for Python name the options of the command line."""

from __future__ import annotations

import re
from pathlib import Path

import separatrix
from separatrix.cli.options import FLAGS, with_flags

SOURCE = Path(separatrix.__file__).parent


def test_parameters_become_options() -> None:
    assert with_flags("(override: `effort`)") == "(override: --effort)"
    assert with_flags("Compare by `metric='log_loss'`.") == "Compare by --metric log_loss."


def test_every_parameter_that_a_study_says_may_be_overridden_has_an_option() -> None:
    named = {
        name
        for path in (SOURCE / "study").rglob("*.py")
        for text in re.findall(r"override: ([^)]*)\)", path.read_text("utf-8"))
        for name in re.findall(r"(?<!`)`([a-z_]+)[=`]", text)
    }
    assert named
    assert named <= FLAGS.keys()
