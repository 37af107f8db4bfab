#!/bin/sh
# What the demo and the tests need besides Python, installed with the system's package manager when it is not there:
#
#     sh tests/install.sh java|maven|postgresql|chromium|go|etcd
#
# java runs Spark; maven fetches a Kafka broker; postgresql is a server, of which no cluster is made or started; chromium is
# the browser that Playwright drives; go builds an API server of Kubernetes, and etcd is what that keeps its objects in.
set -eu
wanted=$1
case $wanted in
  java) programs=java apt=openjdk-17-jre-headless dnf=java-17-openjdk-headless apk=openjdk17-jre-headless brew=openjdk@17 ;;
  maven) programs=mvn apt=maven dnf=maven apk=maven brew=maven ;;
  postgresql) programs="initdb /usr/lib/postgresql/*/bin/initdb" apt=postgresql dnf=postgresql-server apk=postgresql brew=postgresql ;;
  chromium) programs="chromium chromium-browser" apt=chromium dnf=chromium apk=chromium brew= ;;
  go) programs=go apt=golang-go dnf=golang apk=go brew=go ;;
  etcd) programs=etcd apt=etcd-server dnf=etcd apk=etcd brew=etcd ;;
  *) echo "tests/install.sh does not know $wanted" >&2; exit 2 ;;
esac
for program in $programs; do
  if command -v "$program" >/dev/null 2>&1; then
    exit 0
  fi
done
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
has() { command -v "$1" >/dev/null 2>&1; }

echo "No $wanted was found: it is installed with the system's package manager."
if has apt-get; then
  install="$sudo apt-get install -y -qq --no-install-recommends"
  $sudo apt-get update -qq
  if [ "$wanted" = postgresql ]; then
    $install postgresql-common >/dev/null
    $sudo sed -i 's/^#*create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
  fi
  $install "$apt" >/dev/null
elif has dnf; then
  $sudo dnf install -y -q "$dnf"
elif has apk; then
  $sudo apk add -q "$apk"
elif has brew && [ -n "$brew" ]; then
  brew install -q "$brew"
else
  echo "No package manager that is known has $wanted. Install it, and run this again." >&2
  exit 1
fi
