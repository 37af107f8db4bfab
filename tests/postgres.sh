#!/bin/sh
# PostgreSQL's server for the tests: Debian's package when there is none. No cluster of the system's own is made or started.
set -eu
if command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
  exit 0
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
echo "No PostgreSQL server found: installing it with the system's package manager."
if command -v apt-get >/dev/null 2>&1; then
  $sudo apt-get update -qq
  $sudo apt-get install -y -qq --no-install-recommends postgresql-common >/dev/null
  $sudo sed -i 's/^#*create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
  $sudo apt-get install -y -qq --no-install-recommends postgresql >/dev/null
elif command -v dnf >/dev/null 2>&1; then
  $sudo dnf install -y -q postgresql-server
elif command -v apk >/dev/null 2>&1; then
  $sudo apk add -q postgresql
elif command -v brew >/dev/null 2>&1; then
  brew install -q postgresql
else
  echo "No known package manager. Install PostgreSQL's server and run this again." >&2
  exit 1
fi
