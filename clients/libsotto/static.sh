#!/bin/sh
# static.sh OUTPUT PARTS LIBRARY...: libsotto.a as one object. All of PARTS and what it needs of the LIBRARIES are
# joined, then every name but sotto_* is made local: a program that links it may have a buf_append() of its own.
set -eu
output=$1
parts=$2
shift 2
object=$output.o
${LD:-ld} -r -o "$object" --whole-archive "$parts" --no-whole-archive "$@"
${OBJCOPY:-objcopy} --localize-hidden "$object"
rm -f "$output"
${AR:-ar} rcs "$output" "$object"
rm -f "$object"
