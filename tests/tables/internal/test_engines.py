"""Workers that die."""

from typing import Any

import pytest

from sievert.errors import OutputError
from sievert.tables import _engines as engines


class Mortal(engines._Here):
    """Workers that die so often before each task."""

    deaths = 0

    def result(self, begun: Any) -> Any:
        if begun[1] == 3 and self.deaths:
            self.deaths -= 1
            raise engines.WorkerDied("killed")
        return super().result(begun)


def test_a_task_is_done_again_but_not_for_ever() -> None:
    workers = Mortal(10, 2)
    workers.deaths = engines.MOST_DEATHS - 1
    assert list(workers.map(lambda shared, task: shared * task, range(6))) == [0, 10, 20, 30, 40, 50]
    workers.deaths = engines.MOST_DEATHS
    with pytest.raises(OutputError, match="engine: a worker died 3 times on one task"):
        list(workers.map(lambda shared, task: shared * task, range(6)))
