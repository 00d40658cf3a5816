"""``separatrix explore``: serves until Ctrl-C, and says where."""

import json
import os
import pty
import signal
import subprocess
import sys
import urllib.error
import urllib.request


def test_the_page_is_served_until_interrupted():
    words = ["explore", "sample:wine", "--target", "cultivar", "--no-browser"]
    command = [sys.executable, "-m", "separatrix", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        address = running.stdout.readline().strip()
        with urllib.request.urlopen(f"{address}session", timeout=10) as answer:
            about = json.load(answer)
        running.send_signal(signal.SIGINT)
        _, words = running.communicate(timeout=30)
    assert about["table"]["rows"] == 178
    assert about["table"]["target"] == "cultivar"
    assert running.returncode == 0
    assert "Ctrl-C ends it" in words


def test_a_closed_terminal_ends_it():
    """Also where no signal says so: the process is of another session than the terminal."""
    words = [sys.executable, "-m", "separatrix", "explore", "sample:wine", "--no-browser"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as running:
        os.close(theirs)
        printed = b""
        while b"http://" not in printed:
            printed += os.read(ours, 4096)
        os.close(ours)
        running.wait(60)


def test_mistakes_are_explained(command):
    ran = command("explore", "sample:wine", "--target", "culivar", "--no-browser")
    assert ran.code == 2
    assert "Did you mean 'cultivar'?" in ran.err
    ran = command("explore", "nothing.sx", "--no-browser")
    assert ran.code == 2
    assert "nothing.sx" in ran.err


def test_a_study_brings_the_table_that_it_was_made_of(command, here):
    from separatrix.cli.serve import _table_of_study

    words = ["--target", "cultivar", "--models", "nearest_centroid", "--out", "wines"]
    assert command("fit", "sample:wine", *words).code == 0
    table = _table_of_study(here / "wines", 2_000)
    assert (len(table), table.target) == (178, "cultivar")
    (here / "wines" / "study.toml").write_text('table = "gone.csv"')
    assert _table_of_study(here / "wines", 2_000) is None
