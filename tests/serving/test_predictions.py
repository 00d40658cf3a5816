"""Predictions over HTTP: they are those of the model, and strangers are refused in one sentence."""

import contextlib
import http.client
import io
import json
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, ipc

import separatrix as sx
from separatrix.messages import InputError
from separatrix.samples import sample
from separatrix.serving.predictions import ARROW, LARGEST, PredictionServer, Predictor
from tests.cli.conftest import default_dispositions

JSON = "application/json"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A model of wines, and one of diabetes with a column of levels."""
    folder = tmp_path_factory.mktemp("models")
    wine = sx.scan(sample("wine").path, target="cultivar").read()
    sx.save(sx.LinearDiscriminantAnalysis().fit(wine), folder / "wine.sx")
    diabetes = sx.scan(sample("diabetes").path, target="progression").read()
    sx.save(sx.LinearRegression().fit(diabetes), folder / "diabetes.sx")
    return folder


@pytest.fixture(scope="module")
def servers(stored):
    options = {"level": 0.95, "extrapolation": True, "effects": 2}
    found = {
        name: PredictionServer(Predictor.of_file(stored / f"{name}.sx", **options)).start()
        for name in ("wine", "diabetes")
    }
    yield found
    for server in found.values():
        server.close()


@pytest.fixture
def request_to(servers):
    def send(path="predict", body=None, *, server="wine", method=None, **headers):
        port = servers[server].port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        given = {"Host": f"127.0.0.1:{port}", "Content-Type": JSON}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = json.dumps(body) if isinstance(body, list | dict) else body
        connection.request(method or ("GET" if body is None else "POST"), f"/{path}", body, given)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        is_json = response.headers["content-type"].startswith(JSON)
        return response.status, json.loads(content) if is_json else content

    return send


def table_of(name):
    return csv.read_csv(str(sample(name).path))


def as_stream(table):
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema) as stream:
        for batch in table.to_batches(max_chunksize=7):
            stream.write_batch(batch)
    return sink.getvalue()


@pytest.mark.parametrize("name", ["wine", "diabetes"])
def test_every_form_has_the_answers_of_the_model(request_to, stored, name):
    table = table_of(name).slice(0, 30)
    model = sx.load(stored / f"{name}.sx")
    expected = model.predict(table.to_pydict())
    for body, kind in ((table.to_pylist(), JSON), (table.to_pydict(), JSON)):
        status, answer = request_to(body=body, server=name, Content_Type=kind)
        assert status == 200
        found = answer["predictions"]
        predicted = (
            found["predicted"] if isinstance(found, dict) else [r["predicted"] for r in found]
        )
        np.testing.assert_array_equal(predicted, expected)
        assert answer["extrapolating_rows"] == 0
    status, content = request_to(body=as_stream(table), server=name, Content_Type=ARROW)
    assert status == 200
    answer = ipc.open_stream(content).read_all()
    np.testing.assert_array_equal(answer["predicted"].to_numpy(), expected)
    assert json.loads(answer.schema.metadata[b"separatrix"])["warnings"] == []
    effects = sum(answer[n].to_numpy() for n in ("base", "effect 1", "effect 2", "other effects"))
    if name == "diabetes":
        np.testing.assert_allclose(effects, expected, rtol=1e-12)


def test_one_row_by_itself_missing_values_and_new_levels_are_answered(request_to):
    row = table_of("diabetes").slice(0, 1).to_pylist()[0]
    status, answer = request_to(body=row, server="diabetes")
    assert (status, len(answer["predictions"])) == (200, 1)
    status, answer = request_to(body=[row | {"bmi": None, "sex": "other"}], server="diabetes")
    assert status == 200
    assert answer["extrapolating_rows"] == 1
    assert "sex" in answer["extrapolating_columns"]
    assert any("other" in text for text in answer["warnings"])


def test_the_schema_and_the_health_describe_questions(request_to):
    status, about = request_to("schema", server="diabetes")
    assert status == 200
    columns = {column["name"]: column for column in about["columns"]}
    assert list(columns) == [n for n in table_of("diabetes").column_names if n != "progression"]
    assert columns["sex"]["levels"] == ["code 1", "code 2"]
    assert about["answer"][:2] == ["predicted", "extrapolates"]
    assert (about["task"], about["target"]) == ("regression", "progression")
    status, wine = request_to("schema")
    assert wine["classes"] == ["cultivar A", "cultivar B", "cultivar C"]
    status, health = request_to("health")
    assert (status, health["status"]) == (200, "ok")


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"Host": "attacker.example"}, 421, "wrong_host"),
        ({"Host": "127.0.0.1:1"}, 421, "wrong_host"),
        ({"Origin": "http://attacker.example"}, 403, "forbidden"),
        ({"Origin": "null"}, 403, "forbidden"),
        ({"Sec_Fetch_Site": "cross-site"}, 403, "forbidden"),
        ({"method": "PUT"}, 405, "method_not_allowed"),
        ({"method": "OPTIONS"}, 405, "method_not_allowed"),
        ({"method": "GET"}, 405, "method_not_allowed"),
        ({"path": "health"}, 405, "method_not_allowed"),
        ({"path": "../etc/passwd"}, 404, "not_found"),
        ({"Content_Type": "text/plain"}, 415, "unsupported_type"),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415, "unsupported_type"),
        ({"Content_Length": str(LARGEST + 1)}, 413, "too_large"),
        ({"body": "[" * 100_000}, 400, "bad_request"),
        ({"body": '[{"hue": NaN}]'}, 400, "bad_request"),
        ({"body": '[{"hue": [1]}]'}, 400, "bad_request"),
        ({"body": '[{"hue": 1e400}]'}, 400, "bad_request"),
        ({"body": f'[{{"hue": {"9" * 400}}}]'}, 400, "bad_request"),
        ({"body": '[{"hue": 1}, {"color": 2}]'}, 400, "bad_request"),
        ({"body": '{"hue": [1], "color": [1, 2]}'}, 400, "bad_request"),
        ({"body": "[]"}, 400, "bad_request"),
        ({"body": "[3]"}, 400, "bad_request"),
        ({"body": '[{"hue": 1}]'}, 400, "bad_request"),
        ({"body": b"\xff\xff", "Content_Type": ARROW}, 400, "bad_request"),
        ({"body": b"", "Content_Type": ARROW}, 400, "bad_request"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_in_a_sentence(request_to, given, status, code):
    found, answer = request_to(**({"body": "[{}]", "method": "POST"} | given))
    assert (found, answer["code"]) == (status, code)
    assert answer["error"].endswith((".", "?"))
    assert "Traceback" not in answer["error"]


def test_a_column_that_is_missing_is_named(request_to):
    rows = table_of("wine").slice(0, 2).drop_columns(["hue"]).to_pylist()
    status, answer = request_to(body=rows)
    assert status == 400
    assert "'hue'" in answer["error"]


def test_a_damaged_stream_of_arrow_is_refused(request_to):
    whole = as_stream(table_of("wine").slice(0, 20))
    rng = np.random.default_rng(0)
    for _ in range(30):
        body = bytearray(whole[: rng.integers(8, len(whole))])
        body[rng.integers(len(body))] ^= 1 << int(rng.integers(8))
        status, _ = request_to(body=bytes(body), Content_Type=ARROW)
        assert status in (200, 400)  # a number that changed is a number


def test_more_questions_than_may_wait_are_refused_for_now(servers):
    server = servers["wine"]
    links = []
    head = (
        f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Content-Type: {JSON}\r\nContent-Length: 100\r\n\r\n"
    ).encode()
    try:
        for _ in range(server.guard.most):
            links.append(socket.create_connection(("127.0.0.1", server.port), timeout=10))
            links[-1].sendall(head)
        while server.guard.under_way < server.guard.most:
            threading.Event().wait(0.001)
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as late:
            late.sendall(head)
            assert b" 503 " in late.recv(200).split(b"\r\n")[0]
    finally:
        for link in links:
            link.close()


def test_a_body_without_a_declared_length_is_counted_as_it_comes(servers):
    guard = servers["wine"].guard
    largest, guard.largest = guard.largest, 1_000
    try:
        with socket.create_connection(("127.0.0.1", guard.port), timeout=10) as link:
            link.sendall(
                f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{guard.port}\r\nContent-Type: {JSON}"
                "\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
            )
            with contextlib.suppress(OSError):  # it may hang up before the end
                link.sendall(b"400\r\n%s\r\n" % (b"x" * 1_024))
            assert b" 413 " in link.recv(200).split(b"\r\n")[0]
    finally:
        guard.largest = largest


def test_it_is_served_on_a_port_until_interrupted(stored):
    words = [sys.executable, "-m", "separatrix", "serve", str(stored / "wine.sx"), "--port", "0"]
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_dispositions,
    ) as running:
        address = running.stdout.readline().strip()
        port = int(address.rstrip("/").rpartition(":")[2])
        for host in ("127.0.0.1", "localhost"):
            connection = http.client.HTTPConnection(host, port, timeout=10)
            connection.request("GET", "/health")
            assert json.load(connection.getresponse())["model"] == "LinearDiscriminantAnalysis"
            connection.close()
        running.send_signal(signal.SIGINT)
        _, words = running.communicate(timeout=30)
    assert running.returncode == 0
    assert "Ended after 0 predicted rows." in words


def test_a_port_in_use_is_refused_with_a_remedy(servers, stored):
    taken = PredictionServer(
        Predictor.of_file(stored / "wine.sx", level=0.95), servers["wine"].port
    )
    with pytest.raises(InputError, match=r"in use.*--port"):
        taken.start()


def test_only_this_computer_is_listened_to(servers):
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in addresses - {"127.0.0.1", "::1"}:
        with pytest.raises(OSError):
            socket.create_connection((address, servers["wine"].port), timeout=2)


def test_columns_of_arrow_may_be_of_any_type(request_to, stored):
    table = table_of("diabetes").slice(0, 5)
    expected = sx.load(stored / "diabetes.sx").predict(table.to_pydict())
    other = table.set_column(
        table.column_names.index("sex"), "sex", table["sex"].dictionary_encode()
    ).set_column(0, table.column_names[0], table[0].cast(pa.int16()))
    status, content = request_to(body=as_stream(other), server="diabetes", Content_Type=ARROW)
    assert status == 200
    np.testing.assert_array_equal(
        ipc.open_stream(content).read_all()["predicted"].to_numpy(), expected
    )
