"""Spark jobs in parallel: planning one keeps a core busy while another waits for its tasks."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeAlias

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

Job: TypeAlias = Callable[[], None]

AT_ONCE = 3


@contextmanager
def in_parallel(spark: SparkSession, at_once: int = AT_ONCE) -> Iterator[Callable[[Job], None]]:
    """Yield a function that starts a job in a thread; wait for all jobs at the end of the block.

    Raises the first error of a job, if the block itself raised none.
    """
    with ThreadPoolExecutor(at_once, thread_name_prefix="spark-job") as pool:
        started: list[Future[None]] = []

        def start(job: Job) -> None:
            started.append(pool.submit(inheritable_thread_target(spark)(job)))

        yield start
        for one in started:
            one.result()
