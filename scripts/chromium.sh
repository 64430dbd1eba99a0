# shellcheck shell=bash
# Sourced by scripts that look at pages in a browser: Chromium from the system's packages, and what drives and judges it
# from npm, in a folder that goes when the script ends. Nothing of it is kept in the repository.

# Ends with this code where the tools are not to be had.
NOT_TO_BE_HAD=77

chromium_tools() {
    if ! command -v chromium >/dev/null 2>&1; then
        if [ "$(id -u)" != 0 ] || ! (apt-get update -qq && apt-get install -y -qq chromium) >/dev/null 2>&1; then
            echo "chromium is not here: apt-get install chromium" >&2
            return $NOT_TO_BE_HAD
        fi
    fi
    if ! command -v npm >/dev/null 2>&1; then
        echo "npm is not here: apt-get install npm" >&2
        return $NOT_TO_BE_HAD
    fi
    tools=$(mktemp -d)
    trap 'rm -rf "$tools"' EXIT
    if ! PUPPETEER_SKIP_DOWNLOAD=1 npm install --silent --no-audit --no-fund --no-save --prefix "$tools" \
        axe-core@4.10.3 puppeteer-core@24.10.0 >/dev/null; then
        echo "axe-core and puppeteer-core could not be fetched from npm" >&2
        return $NOT_TO_BE_HAD
    fi
    cp "$(dirname "${BASH_SOURCE[0]}")/browser.mjs" "$tools/"
    CHROMIUM=$(command -v chromium)
    export CHROMIUM
}

# Pages of a demonstration, of one of its bundles and of a diagnosis, in the folder $1; made by the binary that FIRSTCHECK
# names, else by the release that is built for it.
pages_in() {
    local binary=(cargo run --quiet --release --)
    [ -z "${FIRSTCHECK:-}" ] || binary=("$FIRSTCHECK")
    "${binary[@]}" --quiet demo --fast --pairs 4 --seed 1 --out "$1/demo" --output "$1/demo.txt"
    "${binary[@]}" --quiet report "$1/demo/pairs/pair-01-base" --output "$1/bundle.html" || [ $? -ne 2 ]
    "${binary[@]}" --quiet diagnose "$1/demo/pairs/pair-01-candidate" --base "$1/demo/pairs/pair-01-base" \
        --output "$1/diagnosis.html" || [ $? -ne 2 ]
    cp "$1/demo/report.html" "$1/comparison.html"
}
