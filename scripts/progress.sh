#!/usr/bin/env bash
# Runs a command that takes long: prints what it does, then the elapsed time, and the output of the command only if it fails.
#
#   progress.sh "installing the npm packages" npm ci
set -uo pipefail

what=$1
shift
log=$(mktemp)
echo "$what" >&2
"$@" </dev/null >"$log" 2>&1 &
command=$!
(while sleep "${PROGRESS_INTERVAL:-5}" >/dev/null 2>&1; do echo "$what: $SECONDS s" >&2; done) &
ticker=$!
trap 'kill "$command" 2>/dev/null' INT TERM
trap 'kill "$ticker" 2>/dev/null; rm -f "$log"' EXIT
wait "$command"
status=$?
if [ "$status" != 0 ]; then
  cat "$log" >&2
  echo "$what: failed (exit $status)" >&2
fi
exit "$status"
