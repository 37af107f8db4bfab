#!/bin/sh
# The Kafka broker of the tests comes by Maven. Install it with the system's package manager when there is none, and say so.
set -eu
if command -v mvn >/dev/null 2>&1; then
  exit 0
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
echo "No Maven found: installing it with the system's package manager."
if command -v apt-get >/dev/null 2>&1; then
  $sudo apt-get update -qq
  $sudo apt-get install -y -qq --no-install-recommends maven >/dev/null
elif command -v dnf >/dev/null 2>&1; then
  $sudo dnf install -y -q maven
elif command -v apk >/dev/null 2>&1; then
  $sudo apk add -q maven
elif command -v brew >/dev/null 2>&1; then
  brew install -q maven
else
  echo "No known package manager. Install Maven and run this again." >&2
  exit 1
fi
mvn --version 2>&1 | head -n 1
