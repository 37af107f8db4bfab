#!/bin/sh
# One Kafka broker, its own controller (KRaft): formats its storage at the first start, and runs.
#
#     sh docker/kafka.sh DATA
#
# Clients reach it at KAFKA_ADVERTISED.
set -eu
data=$1 project=$(cd "$(dirname "$0")/.." && pwd)
cat > "$HOME/server.properties" <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@${KAFKA_CONTROLLER:-127.0.0.1:9093}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://${KAFKA_LISTEN:-0.0.0.0:9092},CONTROLLER://${KAFKA_CONTROLLER:-127.0.0.1:9093}
advertised.listeners=PLAINTEXT://$KAFKA_ADVERTISED
inter.broker.listener.name=PLAINTEXT
log.dirs=$data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
END
java="java -Xmx512m -XX:+UseSerialGC"
if [ ! -f "$data/meta.properties" ]; then
  id=$(python -c "import base64, uuid; print(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip('='))")
  $java -cp "$project/.kafka/*" kafka.tools.StorageTool format "--cluster-id=$id" -c "$HOME/server.properties"
fi
exec $java -cp "$project/.kafka/*" kafka.Kafka "$HOME/server.properties"
