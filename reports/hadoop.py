"""Files on any Hadoop file system, through the file systems with which Spark was configured."""

from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from reports.errors import ReportError


class HadoopFolder:
    """A folder, given by its URI or path. Names of files below it are relative to it, with `/`."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        try:
            given = self._jvm.org.apache.hadoop.fs.Path(uri)
            self._files: Any = given.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
            self._root: Any = self._files.makeQualified(given)
        except Py4JJavaError as error:
            raise ReportError(
                f"{uri!r} can't be opened ({_error_message(error)}). Give a folder, or the URI of one on a file system that "
                "Spark is configured for, such as file:///archive or hdfs://host/archive."
            ) from error

    def uri(self, name: str) -> str:
        return str(self._path(name).toString())

    def exists(self, name: str) -> bool:
        return bool(self._files.exists(self._path(name)))

    def files(self, name: str) -> Iterator[str]:
        """Yield all files below `name`, relative to this folder, in any order; nothing if `name` does not exist."""
        if not self.exists(name):
            return
        found = self._files.listFiles(self._path(name), True)
        start = len(str(self._root.toUri().getPath()).rstrip("/")) + 1
        while found.hasNext():
            yield str(found.next().getPath().toUri().getPath())[start:]

    def file_sizes(self) -> Iterator[tuple[str, int]]:
        """Yield the name and the size in bytes of every file in the folder and its subfolders, in any order."""
        found = self._files.listFiles(self._root, True)
        while found.hasNext():
            file = found.next()
            yield str(file.getPath().getName()), int(file.getLen())

    def move(self, source: str, target: str) -> bool:
        """Move a file atomically. Return True if it was moved; an existing file at `target` stays as it is."""
        to = self._path(target)
        self._files.mkdirs(to.getParent())
        return not self._files.exists(to) and bool(self._files.rename(self._path(source), to))

    def write(self, name: str, content: bytes) -> None:
        out = self._files.create(self._path(name), True)
        try:
            out.write(content)
        finally:
            out.close()

    def remove(self, name: str) -> None:
        self._files.delete(self._path(name), True)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, name)


def _error_message(error: Py4JJavaError) -> str:
    return str(error.java_exception)
