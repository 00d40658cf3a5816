"""Every command takes tables of every format, by one way of naming them."""

from __future__ import annotations

import json
import sqlite3

import numpy as np

from separatrix.cli.options import name_of, stem_of


def test_a_query_is_fitted_and_json_lines_are_predicted(command, here) -> None:
    random = np.random.default_rng(0)
    rows = [(f"c-{i:03d}", *random.normal(size=2).tolist()) for i in range(60)]
    connection = sqlite3.connect(here / "shop.db")
    connection.execute("CREATE TABLE visits (customer_id TEXT, x REAL, z REAL)")
    connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    query = "shop.db::SELECT customer_id, x, z, 2 * x - z AS y FROM visits"
    ran = command("fit", query, "--target", "y", "--models", "linear", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["source"] == query
    assert (here / "shop-separatrix" / "model.sx").exists()
    lines = [json.dumps({"customer_id": name, "z": z, "x": x}) for name, x, z in rows]
    (here / "new.jsonl").write_text("\n".join(lines))
    ran = command("predict", "shop-separatrix", "new.jsonl")
    assert ran.code == 0, ran.err
    head, first, *_ = ran.out.splitlines()
    assert head == "row,customer_id,predicted"
    assert first.startswith("1,c-000,")
    assert abs(float(first.split(",")[2]) - (2 * rows[0][1] - rows[0][2])) < 1e-9
    refused = command("fit", "shop.db::visit", "--target", "y")
    assert refused.code == 2
    assert "Did you mean 'visits'?" in refused.err
    web = command("predict", "shop-separatrix", "https://example.org/new.csv")
    assert web.code == 2
    assert "curl -L -o new.csv" in web.err


def test_names_of_results() -> None:
    assert stem_of("data/shop.db::visits") == "shop-visits"
    assert stem_of("data/shop.db::SELECT a/b FROM visits") == "shop"
    assert stem_of("data/a.zip::in/rows.csv") == "a-rows"
    assert name_of("data/shop.db::SELECT a/b FROM t") == "shop.db::SELECT a/b FROM t"
