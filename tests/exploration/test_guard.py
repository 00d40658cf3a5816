"""Who is answered: the page itself, on this computer, with the token; nobody else."""

import contextlib
import http.client
import json
import socket
import subprocess
import sys

import pytest

from separatrix.exploration.serve import LARGEST
from separatrix.exploration.state import ViewState
from separatrix.messages import InputError


@pytest.fixture(scope="module")
def page(serve):
    return serve("wine", "cultivar")


@pytest.fixture
def request_to(page):
    def send(path="", method="GET", body=None, *, token=None, host=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=10)
        given = {"Host": host or f"127.0.0.1:{page.port}"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        address = f"/{page.token if token is None else token}/{path}"
        connection.request(method, address, body, given)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, content, response.headers

    return send


def test_the_page_is_answered_and_shut_off_from_elsewhere(request_to):
    status, content, headers = request_to()
    assert status == 200
    assert b"separatrix" in content
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"token": ""}, 403),
        ({"token": "x"}, 403),
        ({"token": "%00"}, 403),
        ({"host": "localhost.attacker.example"}, 421),
        ({"host": "127.0.0.1"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
        ({"Origin": "http://attacker.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}, 403),
        ({"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"}, 403),
        (
            {
                "Sec_Fetch_Site": "cross-site",
                "Sec_Fetch_Mode": "navigate",
                "Sec_Fetch_Dest": "iframe",
            },
            403,
        ),
        (
            {
                "Sec_Fetch_Site": "cross-site",
                "Sec_Fetch_Mode": "navigate",
                "Sec_Fetch_Dest": "document",
            },
            200,
        ),  # a link that was followed
        ({"method": "PUT"}, 405),
        ({"method": "OPTIONS"}, 405),
    ],
)
def test_strangers_are_refused(request_to, given, status):
    found, content, _ = request_to(**given)
    assert found == status
    assert (b"<html" in content) == (status == 200)


def test_questions_come_as_json_from_the_page(request_to):
    body = json.dumps({"x": "alcohol", "y": "hue", "target": "cultivar"})
    assert request_to("boundary/fit", "POST", body, Content_Type="application/json")[0] == 200
    assert request_to("boundary/fit", "POST", body, Content_Type="text/plain")[0] == 415
    foreign = {"Content_Type": "application/json", "Origin": "http://127.0.0.1:1"}
    assert request_to("boundary/fit", "POST", body, **foreign)[0] == 403


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "[" * 100_000, '{"x": NaN}', "9" * 5_000, "\udcff"]
)
def test_what_is_no_state_is_refused_in_words(request_to, body):
    raw = body.encode("utf-8", "surrogateescape")
    status, content, _ = request_to("boundary/fit", "POST", raw, Content_Type="application/json")
    assert status == 400
    assert json.loads(content)["error"]


@pytest.mark.parametrize("length", [f"Content-Length: {LARGEST + 1}", "Transfer-Encoding: chunked"])
def test_large_bodies_are_refused(page, length):
    """By what is declared, before any of it is read; or as soon as too much has come."""
    with socket.create_connection(("127.0.0.1", page.port), timeout=10) as link:
        link.sendall(
            f"POST /{page.token}/boundary/fit HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n"
            f"Content-Type: application/json\r\n{length}\r\n\r\n".encode()
        )
        if "chunked" in length:
            chunk = b"x" * 65_536
            with contextlib.suppress(OSError):  # it may hang up before the end
                for _ in range(LARGEST // len(chunk) + 1):
                    link.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        assert b" 413 " in link.recv(200).split(b"\r\n")[0]


@pytest.mark.parametrize(
    "path",
    [
        "page/../guard.py",
        "page/%2e%2e/guard.py",
        "page//etc/passwd",
        "page/%2Fetc%2Fpasswd",
        "../etc/passwd",
        "page/views/../../session.py",
        "page/views",
        "page/",
    ],
)
def test_no_path_of_the_disk_is_read(request_to, path):
    status, content, _ = request_to(path)
    assert status in (403, 404, 405)
    assert b"import" not in content
    assert b"root:" not in content


def test_only_this_computer_is_listened_to(page):
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in addresses - {"127.0.0.1", "::1"}:
        with pytest.raises(OSError):
            socket.create_connection((address, page.port), timeout=2)


def test_values_of_a_state_are_bounded():
    state = ViewState({"C": 1e9, "k": 2.5, "on": 1, "edits": "x", "b": True})
    for read in (
        lambda: state.number("C", 1, 0, 10),
        lambda: state.number("b", 1, 0, 10),
        lambda: state.whole("k", 1, 0, 10),
        lambda: state.flag("on"),
        lambda: state.items("edits"),
        lambda: state.choice("C", ["a"]),
    ):
        with pytest.raises(InputError):
            read()


def test_what_questions_import_is_imported_before_the_first_is_answered():
    """Two threads that import modules in a circle get some that are not complete."""
    code = (
        "import json, sys\n"
        "from separatrix.exploration import read_table\n"
        "from separatrix.exploration.serve import answer_question\n"
        "from separatrix.exploration.session import Session\n"
        "from separatrix.samples import sample\n"
        "session = Session(read_table(str(sample('wine').path), 'cultivar'))\n"
        "answer_question(session, 'none', 'none', b'{}')\n"
        "known = set(sys.modules)\n"
        "for view, question, state in json.loads(sys.argv[1]):\n"
        "    status, text = answer_question(session, view, question, json.dumps(state).encode())\n"
        "    assert status == 200, text\n"
        "print([name for name in set(sys.modules) - known if not name.startswith('separatrix')])\n"
    )
    questions = [("boundary", "fit", {"model": name}) for name in ("svm", "perceptron", "process")]
    questions += [("line", "fit", {"model": name}) for name in ("ridge", "huber", "process")]
    questions += [
        ("groups", "certificate", {}),
        ("descend", "perceptron", {}),
        ("decide", "code", {}),
    ]
    words = [sys.executable, "-c", code, json.dumps(questions)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr
