"""One thread for the networks of all tests of agents."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def one_thread():
    """Small networks are slower, and their sums less repeatable, on several threads."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
