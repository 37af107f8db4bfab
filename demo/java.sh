#!/bin/sh
# Spark needs a Java runtime (17). Install one with the system's package manager when there is none, and say so.
set -eu
if command -v java >/dev/null 2>&1; then
  exit 0
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
echo "No Java found: installing a Java 17 runtime with the system's package manager."
if command -v apt-get >/dev/null 2>&1; then
  $sudo apt-get update -qq
  $sudo apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null
elif command -v dnf >/dev/null 2>&1; then
  $sudo dnf install -y -q java-17-openjdk-headless
elif command -v apk >/dev/null 2>&1; then
  $sudo apk add -q openjdk17-jre-headless
elif command -v brew >/dev/null 2>&1; then
  brew install -q openjdk@17
else
  echo "No known package manager. Install a Java 17 runtime and run this again." >&2
  exit 1
fi
java -version 2>&1 | head -n 1
