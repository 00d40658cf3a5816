"""Generator of the synthetic table ``houses.csv``: ``python -m separatrix.samples.houses``.

    price = 40 000 + 2 100·area + 9 000·rooms − 450·age + district + garden + heating + noise

Some values of ``lot`` and ``heating`` are missing.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

_DISTRICTS = {"harbour": 60_000.0, "hill": 35_000.0, "market": 20_000.0, "station": 0.0}
_HEATING = {"district": 8_000.0, "gas": 0.0, "oil": -12_000.0}


def table(n: int = 600, seed: int = 7) -> str:
    """The table as CSV text; the same seed gives the same text."""
    rng = np.random.default_rng(seed)
    rooms = rng.integers(1, 8, n)
    area = np.round(18.0 * rooms + rng.normal(25.0, 12.0, n).clip(4.0), 1)
    age = rng.integers(0, 120, n)
    lot = np.round(area * rng.uniform(1.2, 6.0, n), 0)
    district = rng.choice(list(_DISTRICTS), n, p=[0.15, 0.25, 0.35, 0.25])
    garden = rng.random(n) < 0.4
    heating = rng.choice(list(_HEATING), n, p=[0.3, 0.5, 0.2])
    price = 40_000.0 + 2_100.0 * area + 9_000.0 * rooms - 450.0 * age
    price += 15_000.0 * garden + rng.normal(0.0, 25_000.0, n)
    price += [_DISTRICTS[d] + _HEATING[h] for d, h in zip(district, heating, strict=True)]
    no_lot, no_heating = rng.random(n) < 0.12, rng.random(n) < 0.06

    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["area", "rooms", "age", "lot", "district", "garden", "heating", "price"])
    for i in range(n):
        out.writerow(
            [
                f"{area[i]:.1f}",
                int(rooms[i]),
                int(age[i]),
                "" if no_lot[i] else f"{lot[i]:.0f}",
                district[i],
                "true" if garden[i] else "false",
                "" if no_heating[i] else heating[i],
                f"{round(price[i], -2):.0f}",
            ]
        )
    return text.getvalue()


if __name__ == "__main__":
    Path(__file__).with_suffix(".csv").write_text(table(), encoding="utf-8")
