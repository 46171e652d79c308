"""Record batches come back as they were built, and as kafka-python builds and reads them."""

import gzip
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kafka.record.util import calc_crc32c

from fixtures.wire.records import (
    AFTER_CRC,
    Batch,
    Codec,
    ControlType,
    Header,
    NewBatch,
    NewRecord,
    RecordsError,
    batch,
    batches,
    control_message,
)
from tests.wire_jar import tiny_schemas

OPTIONAL_BYTES = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.builds(Header, st.text(max_size=5), OPTIONAL_BYTES), max_size=2).map(tuple)
TIMES = st.integers(0, 2**45)
NEW_RECORDS = st.builds(NewRecord, OPTIONAL_BYTES, OPTIONAL_BYTES, HEADERS, st.none() | TIMES)
NEW_BATCHES = st.builds(
    NewBatch,
    st.lists(NEW_RECORDS, min_size=1, max_size=5).map(tuple),
    base_offset=st.integers(0, 2**62),
    leader_epoch=st.integers(-1, 2**31 - 1),
    producer_id=st.integers(-1, 2**63 - 1),
    producer_epoch=st.integers(-1, 2**15 - 1),
    base_sequence=st.integers(-1, 2**31 - 1),
    transactional=st.booleans(),
    codec=st.sampled_from([Codec.NONE, Codec.GZIP, Codec.ZSTD]),
    timestamp=TIMES,
)


def read_one(data: bytes) -> Batch:
    [only] = batches(data)
    return only


@given(NEW_BATCHES)
def test_a_batch_comes_back(new: NewBatch) -> None:
    data = new.encoded()
    read = read_one(data)
    assert read.crc_valid
    assert read.size == len(data)
    assert not read.control
    assert (read.base_offset, read.last_offset) == (new.base_offset, new.base_offset + len(new.records) - 1)
    assert (read.leader_epoch, read.codec, read.transactional) == (
        new.leader_epoch,
        new.codec,
        new.transactional,
    )
    assert (read.producer_id, read.producer_epoch, read.base_sequence) == (
        new.producer_id,
        new.producer_epoch,
        new.base_sequence,
    )
    came_back = [(r.key, r.value, r.headers, r.timestamp) for r in read.records]
    times = [new.timestamp if r.timestamp is None else r.timestamp for r in new.records]
    assert came_back == [(r.key, r.value, r.headers, t) for r, t in zip(new.records, times, strict=True)]
    assert [r.offset for r in read.records] == list(range(read.base_offset, read.last_offset + 1))
    assert msgspec.json.decode(msgspec.json.encode(read), type=Batch) == read


@given(NEW_BATCHES)
def test_kafka_python_reads_what_we_build(new: NewBatch) -> None:
    read = DefaultRecordBatch(new.encoded())
    assert read.validate_crc()
    assert [(r.key, r.value) for r in read] == [(r.key, r.value) for r in new.records]


def test_we_read_what_kafka_python_builds() -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=1,
        is_transactional=True,
        producer_id=9,
        producer_epoch=3,
        base_sequence=7,
        batch_size=9999,
    )
    builder.append(0, timestamp=100, key=b"k", value=b"v" * 500, headers=[("h", b"1")])
    builder.append(1, timestamp=90, key=None, value=b"w", headers=[])
    read = read_one(bytes(builder.build()))
    assert (read.transactional, read.codec, read.producer_id, read.producer_epoch, read.base_sequence) == (
        True,
        Codec.GZIP,
        9,
        3,
        7,
    )
    assert [(r.timestamp, r.value) for r in read.records] == [(100, b"v" * 500), (90, b"w")]
    assert (read.base_timestamp, read.max_timestamp) == (100, 100)


@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_sets(magic: int) -> None:
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=0, batch_size=9999)
    builder.append(5, timestamp=100, key=b"k", value=b"v")
    builder.append(6, timestamp=101, key=None, value=b"w")
    first, second = batches(bytes(builder.build()))
    assert (first.magic, first.base_offset, second.last_offset) == (magic, 5, 6)
    assert [r.value for r in first.records + second.records] == [b"v", b"w"]
    assert first.crc_valid


@given(st.integers(0, 200))
def test_a_cut_off_last_batch_is_left_out(size: int) -> None:
    whole, last = batch(b"a").encoded(), batch(b"b" * 200).encoded()
    assert [b.records[0].value for b in batches(whole + last[:size])] == [b"a"]


@given(st.integers(min_value=21))
def test_a_wrong_crc_is_seen(at: int) -> None:
    data = bytearray(batch(b"value", timestamp=0).encoded())
    data[21 + at % (len(data) - 21)] ^= 1
    read = read_one(bytes(data))
    assert not read.crc_valid
    assert read.records == ()


def test_no_batches() -> None:
    assert batches(None) == batches(b"") == ()


@pytest.mark.parametrize("data", [bytes(61), struct.pack(">qi", 0, -5) + bytes(50), bytes(11) + b"\x31" + b"\x09" * 49])
def test_no_batch(data: bytes) -> None:
    with pytest.raises(RecordsError, match="Not a batch"):
        batches(data)


def test_a_count_that_is_too_high() -> None:
    after_crc = AFTER_CRC.pack(0, 4, 0, 0, -1, -1, -1, 5)
    front = struct.pack(">qiibI", 0, 49, -1, 2, calc_crc32c(after_crc))
    with pytest.raises(RecordsError, match="5 records can't be read"):
        batches(front + after_crc)


def test_an_unknown_codec_is_named() -> None:
    with pytest.raises(RecordsError, match="unlisted_7"):
        batch(b"a", codec=Codec(7)).encoded()


class TestControl:
    def control(self, kind: int, value: bytes) -> Batch:
        return read_one(NewBatch((NewRecord(value, struct.pack(">hh", 0, kind)),), control=True).encoded())

    @pytest.mark.parametrize("kind", [ControlType.ABORT, ControlType.COMMIT])
    def test_end_of_a_transaction(self, kind: ControlType) -> None:
        read = self.control(kind, struct.pack(">hi", 0, 12))
        assert read.control
        assert read.records[0].control_type is kind
        assert read.records[0].coordinator_epoch == 12

    def test_leader_change(self) -> None:
        message = tiny_schemas().message("LeaderChangeMessage").encode({"version": 0, "leader_id": 3}, 0)
        [record] = self.control(ControlType.LEADER_CHANGE, message).records
        assert record.control_type is ControlType.LEADER_CHANGE
        assert control_message(record, tiny_schemas()) == {"version": 0, "leader_id": 3}

    def test_an_unknown_type_is_kept(self) -> None:
        [record] = self.control(77, b"").records
        assert record.control_type == 77
        with pytest.raises(RecordsError, match="No control record with a message"):
            control_message(record, tiny_schemas())

    def test_a_plain_record_has_no_message(self) -> None:
        with pytest.raises(RecordsError, match="No control record"):
            control_message(read_one(batch(b"a").encoded()).records[0], tiny_schemas())


def test_gzip_is_gzip() -> None:
    data = batch(b"a" * 100, codec=Codec.GZIP).encoded()
    assert b"a" * 100 in gzip.decompress(data[61:])
