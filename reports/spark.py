"""The Spark session: quiet, in UTC, and sized for small and large merges alike."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from reports.class_archive import archive_flags
from reports.errors import SparkMissing

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Python would tell Java before each call where it is made, for messages of errors.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Adaptive execution joins many small partitions, but does not split few large ones.
    "spark.sql.shuffle.partitions": "32",
    "spark.sql.parquet.compression.codec": "zstd",
    # A task has lines of one or two columns: with a file open for each they need not be sorted by column.
    "spark.sql.maxConcurrentOutputFileWriters": "8",
    # Java never compiles longer methods, and those that Spark generates for all fields of a line are longer.
    "spark.sql.codegen.hugeMethodLimit": "8000",
}
# Caches and shuffles beyond this size spill to disk, so that it need not grow with the input.
_LARGE = {"spark.driver.memory": "2g"}
_LOCAL = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_CODE = Path(__file__).parent.parent
"""The folder where tasks find the kit's own modules; spark-submit ships them itself."""
_FLAGS = f"-Dlog4j2.configurationFile={Path(__file__).parent}/log4j2.properties"

# Compiling takes most of the time of a merge of a few seconds; without it, the merge takes half as long.
_SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # By files, one core would wait for the other.
    "spark.sql.files.maxPartitionBytes": "8m",
    "spark.sql.files.openCostInBytes": "64k",
}
_ALWAYS_PRINTED = "WARNING: Using incubator modules"
# Most of what is read stays until the end: with the default initial heap size there were a hundred collections.
_SMALL_FLAGS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xms1g -Xmn600m -XX:MetaspaceSize=256m"
# Cached tables fill the heap, and all cores wait during a collection.
_LARGE_FLAGS = "-XX:+UseParallelGC"


@contextmanager
def spark_session(master: str = "local[*]", *, small: bool = False) -> Iterator[SparkSession]:
    """Yield a session on `master`, or on the master that `spark-submit` was given; stop it at the end.

    `small` tunes it for a few megabytes of data. Raises SparkMissing if no Java can start it.
    """
    conf = (
        SparkConf(loadDefaults=False).setAppName("kafka-conformance-kit").setAll(list(_session_settings(small).items()))
    )
    if not _is_submitted():
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf.setMaster(master)
        _start_java(conf)
    with _no_extensions(SparkContext.getOrCreate(conf)):
        spark = SparkSession.builder.config(conf=conf).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def _start_java(conf: SparkConf) -> None:
    """Start Spark's JVM, once per process; pass its messages on, except for the warning that it always prints."""
    if SparkContext._gateway is not None:
        return
    read_end, write_end = os.pipe()
    threading.Thread(target=_pass_on, args=(read_end,), daemon=True).start()
    try:
        # It may outlive this process to write its archive of classes; a pipe behind stdout must not wait for that.
        ends = {"stdout": subprocess.DEVNULL, "stderr": write_end}
        SparkContext._ensure_initialized(gateway=launch_gateway(conf, ends))
    except PySparkRuntimeError as error:
        raise SparkMissing(
            f"Spark did not start: {error}. It needs Java 17 or newer: install openjdk-17-jre-headless "
            "or let JAVA_HOME name one."
        ) from error
    finally:
        os.close(write_end)


@contextmanager
def _no_extensions(context: SparkContext) -> Iterator[None]:
    """Hide Spark's own extensions from a local session: registering MLlib's functions takes a third of its start."""
    jvm: Any = context._jvm
    thread = jvm.java.lang.Thread.currentThread()
    loader = thread.getContextClassLoader()
    if not _is_submitted():
        # They are found through the thread's class loader. So would be the classes of Python's calls.
        jvm.py4j.reflection.ReflectionUtil.setClassLoadingStrategy(jvm.py4j.reflection.RootClassLoadingStrategy())
        thread.setContextClassLoader(jvm.java.lang.ClassLoader.getPlatformClassLoader())
    try:
        yield
    finally:
        thread.setContextClassLoader(loader)


def _pass_on(read_end: int) -> None:
    with os.fdopen(read_end, errors="replace") as messages:
        for line in messages:
            if not line.startswith(_ALWAYS_PRINTED):
                sys.stderr.write(line)


def _session_settings(small: bool) -> dict[str, str]:
    settings = _SETTINGS | (_SMALL if small else {})
    if _is_submitted():
        return settings
    flags = f"{_FLAGS} {_SMALL_FLAGS if small else _LARGE_FLAGS} {archive_flags()}"
    here = {"spark.driver.extraJavaOptions": flags, "spark.executorEnv.PYTHONPATH": str(_CODE)}
    return settings | _LOCAL | here | ({} if small else _LARGE)


def _is_submitted() -> bool:
    return "PYSPARK_GATEWAY_PORT" in os.environ
