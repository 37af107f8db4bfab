#!/bin/sh
# Chromium for the tests in a browser: the system's package when there is none. Playwright drives it.
set -eu
if command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1; then
  exit 0
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
echo "No Chromium found: installing it with the system's package manager."
if command -v apt-get >/dev/null 2>&1; then
  $sudo apt-get update -qq
  $sudo apt-get install -y -qq --no-install-recommends chromium >/dev/null
elif command -v dnf >/dev/null 2>&1; then
  $sudo dnf install -y -q chromium
elif command -v apk >/dev/null 2>&1; then
  $sudo apk add -q chromium
else
  echo "No known package manager. Install Chromium and run this again." >&2
  exit 1
fi
