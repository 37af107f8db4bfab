#!/bin/sh
# PostgreSQL for Airflow: makes the cluster at the first start, and runs the server.
#
#     sh docker/postgres.sh DATA KEYS
#
# The user airflow, whose password is in KEYS/postgres_password, owns the database airflow.
set -eu
data=$1 keys=$2
PATH="$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)"):$PATH"  # others may be of clients alone
if [ ! -s "$data/PG_VERSION" ]; then
  initdb -D "$data" -U airflow -A scram-sha-256 --pwfile "$keys/postgres_password" -E UTF8
  echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
  echo "create database airflow" | postgres --single -D "$data" postgres
fi
listen=${POSTGRES_LISTEN:-0.0.0.0:5432}
exec postgres -D "$data" -p "${listen##*:}" -c "listen_addresses=${listen%:*}" -c "unix_socket_directories=$data"
