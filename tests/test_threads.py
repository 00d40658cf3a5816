"""How many threads work may use, and that nothing depends on the number or exceeds it."""

import multiprocessing
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from threading import Lock

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

import separatrix
from separatrix import threads
from separatrix.messages import InputError
from separatrix.threads import available_threads, parallel_map, pieces, thread_count, thread_limit


@pytest.fixture(autouse=True)
def no_limits(monkeypatch):
    """As in a shell that sets no limit; four processors."""
    for name in ("SEPARATRIX_THREADS", *threads.WORKER_LIMITS, *threads.BLAS_LIMITS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(threads, "_processors", lambda: 4)
    monkeypatch.setattr(threads, "_blas_limit", lambda: None)


class Crowd:
    """Counts how many threads are at work at once."""

    def __init__(self):
        self.now, self.most, self.lock = 0, 0, Lock()

    def work(self, item):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.005)
        with self.lock:
            self.now -= 1
        return item


@pytest.mark.parametrize("name", ["SEPARATRIX_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"])
def test_the_environment_limits(monkeypatch, name):
    monkeypatch.setenv(name, "3")
    assert available_threads() == 3
    monkeypatch.setenv(name, "40")
    assert available_threads() == 4


def test_a_number_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("SEPARATRIX_THREADS", "many")
    with pytest.raises(InputError, match="not a number of threads"):
        available_threads()


def test_processors_are_those_of_the_process():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from separatrix.threads import available_threads; print(available_threads())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "250000 100000"}, 3),
        ({"cpu.max": "max 100000"}, sys.maxsize),
        ({"cpu.cfs_quota_us": "150000", "cpu.cfs_period_us": "100000"}, 2),
        ({"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, sys.maxsize),
    ],
)
def test_the_quota_of_a_container(monkeypatch, tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(threads, "_control_groups", lambda: [tmp_path, tmp_path / "none"])
    assert threads._quota() == expected


def test_limits_of_threadpoolctl(monkeypatch):
    monkeypatch.undo()
    assert threads._blas_limit() is None
    monkeypatch.setattr(threads, "_processors", lambda: 4)
    for name in threads.BLAS_LIMITS:
        monkeypatch.delenv(name, raising=False)
    with threadpool_limits(1):
        assert threads._blas_limit() == 1
        with threads.one_blas_thread():
            assert threads._blas_limit() == 1


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 4), (-1, 4), (-2, 3), (2, 2), (9, 4)])
def test_n_jobs(n_jobs, expected):
    with thread_limit(n_jobs):
        assert thread_count() == expected
        crowd = Crowd()
        parallel_map(crowd.work, range(40))
        assert crowd.most <= expected
    with pytest.raises(InputError, match="n_jobs is 0"), thread_limit(0):
        pass


def test_results_are_in_order_and_several_threads_work():
    crowd = Crowd()
    assert parallel_map(crowd.work, range(40)) == list(range(40))
    assert 2 <= crowd.most <= 4


def test_the_first_error_is_raised_and_the_budget_restored():
    def work(item):
        if item > 2:
            raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 3"):
        parallel_map(work, range(20))
    assert threads._process_budget.used == 0


@pytest.mark.parametrize("outer", [2, 4, 16])
def test_work_within_work_does_not_multiply(outer):
    crowd = Crowd()
    parallel_map(lambda _: parallel_map(crowd.work, range(12)), range(outer))
    assert crowd.most <= 4


def test_fits_side_by_side_share_the_budget():
    crowd = Crowd()
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: parallel_map(crowd.work, range(20)), range(3)))
    assert crowd.most <= 4 + 2  # each of the three may always run itself


class CountsThreads(BaseEstimator):
    """An estimator whose score is the number of threads it may use."""

    def __init__(self, value=0):
        self.value = value

    def fit(self, X, y=None):
        return self

    def score(self, X, y=None):
        return float(available_threads())


def test_searches_in_processes_are_not_oversubscribed():
    search = GridSearchCV(CountsThreads(), {"value": [1, 2]}, cv=2, n_jobs=2, refit=False)
    scores = search.fit(np.zeros((8, 1)), np.zeros(8)).cv_results_["mean_test_score"]
    assert (scores * 2 <= max(2, len(os.sched_getaffinity(0)))).all()


def test_pools_of_processes_are_not_oversubscribed():
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(available_threads).result() == 1


def test_searches_on_threads_share_the_budget():
    crowd = Crowd()

    def fit(_):
        return parallel_map(crowd.work, range(16))

    Parallel(n_jobs=3, backend="threading")(delayed(fit)(i) for i in range(3))
    assert crowd.most <= 4 + 2


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000])
def test_pieces_cover_all_rows_once(n):
    cut = pieces(n, 2)
    assert [row for part in cut for row in range(part.start, part.stop)] == list(range(n))
    assert len(cut) <= 64


def test_a_forked_process_starts_its_own_threads():
    parallel_map(Crowd().work, range(8))
    child = os.fork()
    if child == 0:
        done = parallel_map(lambda item: item, range(8)) == list(range(8))
        os._exit(0 if done else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("shape", [(300, 900), (900, 300)])
@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "LogisticRegression"])
def test_threads_of_blas_change_no_bit(name, shape, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    y = (x[:, :5].sum(axis=1) + rng.standard_normal(len(x)) > 0).astype(float)
    found = []
    for count in (1, 2, 4):
        monkeypatch.setattr(threads, "_processors", lambda count=count: count)
        with threadpool_limits(count, user_api="blas"):
            model = getattr(separatrix, name)().fit(x, y)
            scores = getattr(model, "decision_function", model.predict)(x)
        found.append(model.coef_.tobytes() + scores.tobytes())
    assert found[0] == found[1] == found[2]
