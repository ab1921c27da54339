#!/bin/sh
# Makes the two topics. PARTITIONS is how many samplers, and how many writers, can ever share the work: it is not easily changed,
# because a trace's spans are together by the number of partitions.
set -eu
topic() {
  /opt/kafka/bin/kafka-topics.sh --bootstrap-server "$KAFKA" --create --if-not-exists --topic "$1" \
    --partitions "$PARTITIONS" --replication-factor "$REPLICAS" \
    --config max.message.bytes=10485760 --config compression.type=producer \
    --config min.insync.replicas="${MIN_INSYNC:-1}" --config retention.ms="$2" --config segment.ms="$3"
}
# All spans: what a sampler reads again when it starts, and how long it may be away. An hour, in segments of five minutes.
topic spans "${SPANS_MS:-3600000}" 300000
# What is kept: how long the store may be away. Three days.
topic spans-kept "${KEPT_MS:-259200000}" 3600000
