#!/bin/sh
# same.sh PROGRAM SCENARIO...: runs each scenario twice, the second time beside another run, and compares every line of
# both timelines. A run follows from its scenario alone, however busy the machine is.
set -eu
program=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for scenario; do
    "$program" replay --trace "$scenario" > "$folder/first" || true
    "$program" replay "$scenario" > "$folder/beside" &
    "$program" replay --trace "$scenario" > "$folder/second" || true
    wait || true
    test -s "$folder/first"
    cmp "$folder/first" "$folder/second"
done
