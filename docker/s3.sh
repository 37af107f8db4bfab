#!/bin/sh
# The S3 server: objects are files below DATA and stay there; the keys are those of KEYS/s3_password.
#
#     sh docker/s3.sh DATA KEYS
set -eu
data=$1 keys=$2 project=$(cd "$(dirname "$0")/.." && pwd)
umask 077
cat > "$HOME/s3proxy.conf" <<END
s3proxy.endpoint=http://${S3_LISTEN:-0.0.0.0:9000}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity=lake
s3proxy.credential=$(cat "$keys/s3_password")
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir=$data
jclouds.identity=none
jclouds.credential=none
END
exec java -Xmx512m -XX:+UseSerialGC "-Dlogback.configurationFile=$project/docker/logback.xml" \
  -cp "$project/.s3/*" org.gaul.s3proxy.Main --properties "$HOME/s3proxy.conf"
