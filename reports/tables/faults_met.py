"""What each column met of each fault."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reports.insights import FaultMet
from reports.tables.shape import shaped
from reports.tally import reach


def faults_met(lines: DataFrame) -> DataFrame:
    """One line per column and fault, as `reports.insights.FaultMet`; `lines` of shards that count."""
    single = lines.where("type = 'example'").select("kafka_version", F.explode("faults").alias("fault", "count"))
    examples = F.count("*").alias("examples")
    return shaped(single.groupBy("kafka_version", "fault").agg(examples, *reach()), FaultMet)
