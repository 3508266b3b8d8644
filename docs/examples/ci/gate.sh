#!/usr/bin/env bash
# Hold a policy against a run: gate.xml for test reports, gate.md for people, gate.json for programs. In a GitHub workflow
# gate.md goes into the step summary, too. The exit code is the gate's: 0 passed, 1 failed, 2 wrong use, 3 cannot tell.
set -uo pipefail

gate=(mindgauge gate "${MINDGAUGE_RUN:-runs/build}" --policy "${MINDGAUGE_POLICY:-gate.toml}")
if [ -n "${MINDGAUGE_BASELINE:-}" ]; then
    gate+=(--baseline "$MINDGAUGE_BASELINE")
fi

rm -f gate.xml gate.md gate.json
"${gate[@]}" --junit gate.xml --markdown gate.md
code=$?
if [ "$code" -ne 2 ]; then
    "${gate[@]}" --json > gate.json
fi
if [ -f gate.md ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat gate.md >> "$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    echo "exit-code=$code" >> "$GITHUB_OUTPUT"
fi
exit "$code"
