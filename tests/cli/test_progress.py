"""What is said before the work, and how long it will take."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress

import pytest

from separatrix.cli.progress import Lines, TimeLeft, duration


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.usefixtures("plain_page")
def test_what_was_inferred_is_printed_before_anything_is_fitted_and_once(command, table) -> None:
    ran = command("fit", table, "--target", "y", "--models", "linear")
    before, after = ran.err.split("[1/", 1)
    assert "· Regression, because" in before
    assert "· Held-out test set:" in before
    assert "· To be compared with the baseline: linear" in before
    assert "· Regression, because" not in after
    assert "· Held-out test set:" not in after
    assert ran.err.index("· Held-out") < ran.err.index("comparing baseline")


@pytest.mark.usefixtures("plain_page")
def test_classes_are_announced_too_and_what_is_found_later_follows(command) -> None:
    ran = command("fit", "sample:wine", "--target", "cultivar", "--models", "lda,naive_bayes")
    before, after = ran.err.split("[1/", 1)
    assert "· Classification, because" in before
    assert "lda, naive_bayes" in before
    assert re.search("· .*alibrated", after)
    assert "· Classification, because" not in after


def test_moments_are_announced_as_well(command, table) -> None:
    command("summarize", table, "--target", "y", "-o", "t.moments")
    ran = command("fit", "t.moments", "--models", "linear")
    assert ran.err.count("· Held-out test set:") == 1
    assert ran.err.index("· Held-out test set:") < ran.err.index("[1/")


def test_time_left_follows_the_work_and_its_pace() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    left.plan([0.1, 0.2, 0.3, 0.4])
    left.begin(0, 4)
    assert left.seconds is None  # nothing to go by
    clock.now += 5
    assert left.seconds is None  # no stage is done
    left.begin(1, 4)
    assert left.seconds == pytest.approx(45)
    assert str(left) == "about 45 s left"
    clock.now += 4
    assert left.seconds == pytest.approx(41)  # counts down meanwhile
    clock.now += 60
    assert left.seconds == pytest.approx(35)  # no lower than what the later stages take
    left.begin(2, 4)
    assert left.seconds > 35  # the work is slower than it seemed
    left.begin(4, 4)
    assert left.seconds is None
    assert str(left) == ""
    assert left.fraction == 1


def test_no_estimate_while_little_is_done_or_known() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    left.plan([0.01, 0.5, 0.49])
    left.begin(0, 3)
    clock.now += 10
    left.begin(1, 3)
    assert left.seconds is None  # one hundredth says nothing of the rest
    left.plan([0.5, 0.5])
    left.begin(0, 2)
    clock.now += 0.5
    left.begin(1, 2)
    assert left.seconds is None  # it will be over before it is read
    left.begin(0, 1)  # another plan: of one stage
    assert left.fraction == 0
    assert left.seconds is None


def test_stages_that_are_left_out_cost_nothing() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    left.plan([0.25, 0.25, 0.0, 0.5])
    left.begin(0, 4)
    clock.now += 10
    left.begin(1, 4)
    clock.now += 10
    left.begin(3, 4)
    assert left.seconds == pytest.approx(20)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "a few seconds"),
        (12, "about 10 s"),
        (54, "about 55 s"),
        (58, "about 1 min"),
        (1000, "about 17 min"),
        (5400, "about 1.5 h"),
    ],
)
def test_durations_have_the_digits_of_an_estimate(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_plain_lines_carry_the_time_left(capsys) -> None:
    clock = Clock()
    lines = Lines(clock)
    lines.planned([0.2, 0.8])
    lines("first", 0, 2)
    clock.now += 30
    lines("second", 1, 2)
    lines("done", 2, 2)
    assert capsys.readouterr().err == "[1/2] first\n[2/2] second (about 2 min left)\n"


@pytest.mark.usefixtures("plain_page")
def test_lines_stand_where_the_bar_was(here, table) -> None:
    code, screen = on_terminal("fit", table, "--target", "y", "--models", "linear")
    assert code == 0
    lines = screen.replace("\r", "\n").splitlines()
    announced = [line for line in lines if "Regression, because" in line]
    assert len(announced) == 1
    # after the sequences that erase a line, nothing of the bar is left before the words
    assert re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", announced[0]).startswith("· Regression")


def on_terminal(*words: object) -> tuple[int, str]:
    """The command in a terminal of 80 columns: exit code, and all that it wrote there."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    arguments = [sys.executable, "-m", "separatrix", *map(str, words)]
    with subprocess.Popen(
        arguments, stdout=side, stderr=side, env={**os.environ, "TERM": "xterm"}
    ) as child:
        os.close(side)
        written = b""
        with suppress(OSError):  # the other end is closed
            while piece := os.read(main, 65536):
                written += piece
        return child.wait(60), written.decode()
