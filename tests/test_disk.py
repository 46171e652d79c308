"""What is read of a node's files, whole, torn and malformed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.disk import producers, quorum_state
from fixtures.disk.checkpoint import (
    EpochEntry,
    MalformedFile,
    parse_epochs,
    parse_offsets,
    render_epochs,
    render_offsets,
)
from fixtures.disk.metadata_log import MetadataLog, MetadataSchemas, SnapshotId, metadata_log_of
from fixtures.disk.producers import ProducerEntry
from fixtures.disk.replicas import Replica, common_range, compare, replica_of
from fixtures.disk.segments import read_segment, segments
from fixtures.wire.records import NewBatch, NewRecord, RecordsError, batch
from fixtures.wire.schemas import Schemas

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True)
DIRECTORIES = st.builds("{}-{}".format, TOPICS, st.integers(0, 2**31 - 1))


class TestCheckpoints:
    @given(st.lists(st.builds(EpochEntry, INT32, INT64)))
    def test_epochs_are_read_as_they_were_written(self, entries: list[EpochEntry]) -> None:
        assert parse_epochs(render_epochs(entries)) == tuple(entries)

    @given(st.dictionaries(DIRECTORIES, INT64))
    def test_offsets_are_read_as_they_were_written(self, offsets: dict[str, int]) -> None:
        assert parse_offsets(render_offsets(offsets)) == offsets

    @given(st.lists(st.builds(EpochEntry, INT32, INT64)), st.data())
    def test_a_cut_file_is_refused_or_loses_its_last_digits_only(
        self, entries: list[EpochEntry], data: st.DataObject
    ) -> None:
        whole = render_epochs(entries)
        kept = whole[: data.draw(st.integers(0, len(whole)))]
        try:
            read = parse_epochs(kept)
        except MalformedFile:
            return
        assert not read or read[:-1] == tuple(entries)[:-1]

    def test_as_kafka_writes_them(self) -> None:
        assert parse_epochs(b"0\n2\n0 0\n3 17\n") == (EpochEntry(0, 0), EpochEntry(3, 17))
        assert parse_offsets(b"0\n1\n__consumer_offsets 0 12\n") == {"__consumer_offsets-0": 12}

    @pytest.mark.parametrize("nothing", [b"", b"0\n", b"0\n0\n", b"0\n0"])
    def test_what_kafka_takes_for_no_entries(self, nothing: bytes) -> None:
        assert parse_epochs(nothing) == ()

    @pytest.mark.parametrize(
        ("data", "line", "rule"),
        [
            (b"1\n0\n", "'1'", "version 0 only"),
            (b"zero\n0\n", "'zero'", "a number alone on its line"),
            (b"0\n\n", "''", "a number alone on its line"),
            (b"0\n2\n0 0\n", "'2'", "has 2 entries, and has 1"),
            (b"0\n1\n0 0\n1 5\n", "'1'", "has 1 entries, and has 2"),
            (b"0\n1\n0\n", "'0' in line 3", "an epoch and a start offset"),
            (b"0\n1\n0 0 0\n", "'0 0 0' in line 3", "an epoch and a start offset"),
            (b"0\n1\n0 x\n", "'0 x' in line 3", "32 and 64 bits"),
            (b"0\n1\n99999999999 0\n", "'99999999999 0' in line 3", "32 and 64 bits"),
            (b"0\n2\n0 0\n\n", "'' in line 4", "an epoch and a start offset"),
            (b"\xff\n", r"b'\xff\n'", "no UTF-8"),
        ],
    )
    def test_a_malformed_file_is_refused_with_line_and_rule(self, data: bytes, line: str, rule: str) -> None:
        with pytest.raises(MalformedFile) as refused:
            parse_epochs(data)
        assert "leader-epoch-checkpoint" in str(refused.value)
        assert line in str(refused.value)
        assert rule in str(refused.value)

    @pytest.mark.parametrize("entry", ["topic 0", "topic x 5", "topic 0 5 6", "topic 0 99999999999999999999"])
    def test_a_malformed_offset_is_refused_with_line_and_rule(self, entry: str) -> None:
        with pytest.raises(MalformedFile, match=re.escape(f"{entry!r} in line 3: an entry is a topic, a partition")):
            parse_offsets(f"0\n1\n{entry}\n".encode())

    @pytest.mark.parametrize("name", ["topic", "-0", "a topic-0", "topic-x", ""])
    def test_only_directories_of_partitions_are_written(self, name: str) -> None:
        with pytest.raises(MalformedFile, match="directory of a partition"):
            render_offsets({name: 0})


LOG = [
    batch(b"a", b"b", base_offset=0, leader_epoch=0, timestamp=1_000),
    batch(b"c", base_offset=2, leader_epoch=0, producer_id=7, producer_epoch=1, base_sequence=4, timestamp=2_000),
    batch(b"d", base_offset=3, leader_epoch=2, transactional=True, timestamp=3_000),
]
BYTES = b"".join(one.encoded() for one in LOG)
FIRST = len(LOG[0].encoded())
LAST = len(LOG[2].encoded())


class TestSegments:
    def test_batches_with_all_that_their_headers_tell(self) -> None:
        segment = read_segment(0, BYTES)
        first, second, third = segment.batches
        assert [one.position for one in segment.batches] == [0, FIRST, len(BYTES) - LAST]
        assert [(one.base_offset, one.last_offset, one.leader_epoch) for one in segment.batches] == [
            (0, 1, 0),
            (2, 2, 0),
            (3, 3, 2),
        ]
        assert (second.producer_id, second.producer_epoch, second.base_sequence) == (7, 1, 4)
        assert (first.base_timestamp, first.max_timestamp, first.count) == (1_000, 1_000, 2)
        assert third.transactional
        assert not third.control
        assert all(one.crc_valid for one in segment.batches)
        assert [record.value for record in first.records()] == [b"a", b"b"]
        assert (segment.size, segment.end_offset, segment.torn) == (len(BYTES), 4, None)

    @given(st.integers(0, len(BYTES)))
    def test_a_cut_tail_is_told_and_hides_nothing_before_it(self, size: int) -> None:
        segment = read_segment(0, BYTES[:size])
        whole = sum(one.size for one in segment.batches)
        assert whole == max(end for end in (0, FIRST, len(BYTES) - LAST, len(BYTES)) if end <= size)
        if whole == size:
            assert segment.torn is None
        else:
            assert segment.torn is not None
            assert (segment.torn.position, segment.torn.size, segment.torn.cut_off) == (whole, size - whole, True)

    @given(st.integers(0, FIRST - 1), st.integers(1, 255))
    def test_a_flipped_byte_does_not_go_unnoticed(self, at: int, bits: int) -> None:
        data = bytearray(BYTES)
        data[at] ^= bits
        one, whole = replica("b", bytes(data)), replica("a", BYTES)
        assert compare([whole, one]) is not None or one.log_end < whole.log_end

    @pytest.mark.parametrize(
        ("rest", "why"),
        [
            (bytes(100), "a length of 0"),
            (LOG[0].encoded()[:16] + b"\x01" + LOG[0].encoded()[17:], "magic 1"),
        ],
    )
    def test_what_is_no_batch_is_told_with_its_reason(self, rest: bytes, why: str) -> None:
        torn = read_segment(0, BYTES + rest).torn
        assert torn is not None
        assert not torn.cut_off
        assert why in torn.why
        assert torn.position == len(BYTES)

    def test_a_wrong_crc_is_told_and_its_records_are_not_read(self) -> None:
        data = bytearray(BYTES)
        data[FIRST - 1] ^= 1
        first, second, _ = read_segment(0, bytes(data)).batches
        assert not first.crc_valid
        assert first.records() == ()
        assert second.crc_valid

    def test_segments_of_a_directory_come_by_base_offset(self) -> None:
        files = {
            "00000000000000000003.log": LOG[2].encoded(),
            "00000000000000000000.log": BYTES[:-LAST],
            "00000000000000000000.index": b"",
            "00000000000000000000.log.deleted": b"",
            "leader-epoch-checkpoint": b"",
        }
        assert [(one.base_offset, one.name, one.end_offset) for one in segments(files)] == [
            (0, "00000000000000000000", 3),
            (3, "00000000000000000003", 4),
        ]


def replica(node: str, data: bytes, log_start: int = 0, epochs: bytes | None = b"0\n2\n0 0\n2 3\n") -> Replica:
    files = {f"{0:020d}.log": data}
    if epochs is not None:
        files["leader-epoch-checkpoint"] = epochs
    return replica_of(node, "topic-0", files, log_start)


class TestReplicas:
    def test_equal_over_what_both_have(self) -> None:
        long, short, late = replica("a", BYTES), replica("b", BYTES[:-LAST]), replica("c", BYTES, log_start=2)
        assert common_range([long, short, late]) == range(2, 3)
        assert compare([long, short, late]) is None

    def test_a_lacking_end_is_a_difference_where_it_is_asked_for(self) -> None:
        difference = compare([replica("a", BYTES), replica("b", BYTES[:-LAST])], upto=4)
        assert difference is not None
        assert (difference.offset, difference.what, difference.nodes) == (3, "missing", ("a", "b"))
        assert difference.found[1] == "nothing"

    def test_the_first_difference_is_told(self) -> None:
        other = LOG[0].encoded() + batch(b"C", base_offset=2, leader_epoch=1, timestamp=2_000).encoded() + BYTES[-LAST:]
        difference = compare([replica("a", BYTES), replica("b", BYTES), replica("c", other)])
        assert difference is not None
        assert (difference.offset, difference.nodes) == (2, ("a", "c"))
        assert difference.what == "leader_epoch, producer_id, producer_epoch, base_sequence, crc"
        assert "of epoch 0" in difference.found[0]
        assert "of epoch 1" in difference.found[1]

    def test_bytes_that_the_header_does_not_tell(self) -> None:
        data = bytearray(BYTES)
        data[-1] ^= 1
        difference = compare([replica("a", BYTES), replica("b", bytes(data))])
        assert difference is not None
        assert (difference.offset, difference.what) == (3, "bytes")
        assert "its CRC is wrong" in difference.found[1]

    def test_what_cannot_be_read_is_no_equality(self) -> None:
        difference = compare([replica("a", BYTES), replica("b", BYTES + bytes(100))])
        assert difference is not None
        assert (difference.offset, difference.what) == (4, "unreadable")

    def test_a_write_under_way_is_none(self) -> None:
        assert compare([replica("a", BYTES), replica("b", BYTES[:-1])]) is None

    def test_epochs_without_an_entry(self) -> None:
        assert replica("a", BYTES).unmapped() == []
        assert replica("a", BYTES, epochs=None).unmapped() == [0, 2]
        assert replica("a", BYTES, epochs=b"0\n1\n2 3\n").unmapped() == [0]
        assert replica("a", BYTES, epochs=b"0\n2\n0 1\n2 3\n").unmapped() == [0]
        assert replica("a", BYTES, log_start=1, epochs=b"0\n2\n0 1\n2 3\n").unmapped() == []
        assert replica("a", BYTES, log_start=3, epochs=b"0\n1\n2 3\n").unmapped() == []


PRODUCERS = st.builds(
    ProducerEntry,
    producer_id=INT64,
    epoch=st.integers(-(2**15), 2**15 - 1),
    last_sequence=INT32,
    last_offset=INT64,
    offset_delta=INT32,
    timestamp=INT64,
    coordinator_epoch=INT32,
    txn_first_offset=INT64,
)


class TestProducerSnapshots:
    @given(st.lists(PRODUCERS, max_size=5))
    def test_read_as_they_were_written(self, entries: list[ProducerEntry]) -> None:
        read = producers.parse(producers.render(entries))
        assert read.producers == tuple(entries)
        assert read.crc_valid

    def test_as_kafka_writes_them(self) -> None:
        data = bytes.fromhex("0001 35b8e4c8 00000001 0000000000000007 0001 00000004 0000000000000002 00000000") + (
            bytes.fromhex("00000000000007d0 ffffffff ffffffffffffffff")
        )
        [entry] = producers.parse(data).producers
        assert producers.render([entry])[6:] == data[6:]
        assert (entry.producer_id, entry.epoch, entry.last_sequence, entry.last_offset) == (7, 1, 4, 2)
        assert (entry.offset_delta, entry.timestamp, entry.coordinator_epoch, entry.txn_first_offset) == (
            0,
            2_000,
            -1,
            -1,
        )

    @given(st.lists(PRODUCERS, min_size=1, max_size=3), st.data())
    def test_a_flipped_byte_is_told(self, entries: list[ProducerEntry], data: st.DataObject) -> None:
        damaged = bytearray(producers.render(entries))
        damaged[data.draw(st.integers(10, len(damaged) - 1))] ^= 1
        assert not producers.parse(bytes(damaged)).crc_valid

    @pytest.mark.parametrize(
        ("data", "rule"),
        [
            (b"\0\1", "2 bytes, 0001; its head alone takes 10"),
            (b"\0\2" + bytes(8), "version 2 in 0002"),
            (producers.render([])[:-1] + b"\1", "1 entries and has 0 bytes of them; each takes 46"),
        ],
    )
    def test_a_malformed_file_is_refused(self, data: bytes, rule: str) -> None:
        with pytest.raises(MalformedFile, match=re.escape(rule)):
            producers.parse(data)

    def test_snapshots_of_a_directory_come_by_offset(self) -> None:
        files = {f"{offset:020d}.snapshot": producers.render([]) for offset in (12, 3)} | {"partition.metadata": b""}
        assert list(producers.snapshots(files)) == [3, 12]


V0 = (
    b'{"clusterId":"","leaderId":101,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[{"voterId":101},{"voterId":102}],"data_version":0}'
)
V1 = b'{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}'


class TestQuorumState:
    @pytest.mark.parametrize("data", [V0, V1])
    def test_read_and_written_as_kafka_does(self, data: bytes) -> None:
        assert quorum_state.render(quorum_state.parse(data)) == data

    def test_what_it_says(self) -> None:
        old, new = quorum_state.parse(V0), quorum_state.parse(V1)
        assert (old.leader_id, old.leader_epoch, old.voted_id, old.voters) == (101, 3, -1, [101, 102])
        assert (new.leader_epoch, new.voted_id, new.voters) == (2, 1, None)
        assert new.voted_directory_id == "J8aAPcfLQt2bqs1JT_rMgQ"

    @pytest.mark.parametrize(
        ("data", "rule"),
        [
            (b"", "b''"),
            (V0[:30], "must be an object with the fields"),
            (b"[]", "must be an object with the fields"),
            (V1.replace(b'"data_version":1', b'"data_version":2'), "Kafka knows 0 and 1"),
            (b'{"leaderId":1,"data_version":1}', "leaderEpoch"),
        ],
    )
    def test_a_malformed_file_is_refused(self, data: bytes, rule: str) -> None:
        with pytest.raises(MalformedFile, match=re.escape(rule)):
            quorum_state.parse(data)


METADATA = Schemas(
    {
        "TopicRecord": """
        {"apiKey": 2, "type": "metadata", "name": "TopicRecord", "validVersions": "0", "flexibleVersions": "0+", "fields": [
          {"name": "Name", "type": "string", "versions": "0+"}]}""",
    },
    "a test",
)
CLIENTS = Schemas(
    {
        "LeaderChangeMessage": """
        {"type": "data", "name": "LeaderChangeMessage", "validVersions": "0", "flexibleVersions": "0+", "fields": [
          {"name": "Version", "type": "int16", "versions": "0+"},
          {"name": "LeaderId", "type": "int32", "versions": "0+"}]}""",
    },
    "a test",
)
TOPIC = b"\x01\x02\x00" + METADATA.message("TopicRecord").encode({"name": "t"}, 0)
LEADER = CLIENTS.message("LeaderChangeMessage").encode({"version": 0, "leader_id": 101}, 0)


def metadata_log() -> MetadataLog:
    change = NewBatch((NewRecord(LEADER, key=b"\0\0\0\2"),), leader_epoch=1, control=True)
    topic = batch(TOPIC, base_offset=1, leader_epoch=1)
    files = {
        "00000000000000000000.log": change.encoded() + topic.encoded(),
        "00000000000000000002-0000000001.checkpoint": batch(TOPIC).encoded(),
        "quorum-state": V0,
    }
    return metadata_log_of("controller-101", files)


class TestMetadataLog:
    schemas = MetadataSchemas(METADATA, CLIENTS)

    def test_records_of_the_log(self) -> None:
        first, second = self.schemas.records(metadata_log().batches())
        assert (first.offset, first.leader_epoch, first.type, first.control) == (0, 1, "LeaderChangeMessage", True)
        assert first.fields["leader_id"] == 101
        assert (second.offset, second.type, second.version, second.fields) == (1, "TopicRecord", 0, {"name": "t"})

    def test_snapshots_by_end_offset_and_epoch(self) -> None:
        snapshots = metadata_log().snapshots
        assert list(snapshots) == [(2, 1)]
        [record] = self.schemas.records(snapshots[SnapshotId(2, 1)].batches)
        assert record.fields == {"name": "t"}

    @pytest.mark.parametrize(
        ("value", "why"),
        [
            (b"\x02\x02\x00", "frame version 2, type 2"),
            (b"\x01\x80\x01\x00", "frame version 1, type 128"),
            (b"\x01\x80\x80\x80\x80\x80\x01", "unsigned varint does not end at 1"),
            (b"", "unsigned varint does not end at 0"),
        ],
    )
    def test_what_is_no_metadata_record_is_refused(self, value: bytes, why: str) -> None:
        with pytest.raises(RecordsError, match=why):
            self.schemas.records(read_segment(0, batch(value).encoded()).batches)

    def test_records_behind_a_wrong_crc_are_not_read(self) -> None:
        data = bytearray(batch(TOPIC).encoded())
        data[-1] ^= 1
        with pytest.raises(RecordsError, match="batch at offset 0 has a wrong CRC"):
            self.schemas.records(read_segment(0, bytes(data)).batches)
