#!/usr/bin/env bash
# Builds the baseline from the git history, once per machine: its chart and its images (tag: the commit), in
# ${XDG_CACHE_HOME:-~/.cache}/multinic/releases/<commit>. Takes two minutes.
#
# The baseline is the oldest commit that this one upgrades from and goes back to. While nothing is released, the file `commit`
# names it, in one line. A change that needs a newer one writes that commit there.
#
#   build.sh           builds the version if it is missing, and prints the directory
#   build.sh --check   builds nothing; fails if the version is not built
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
read -r commit <"$here/commit"
[[ $commit =~ ^[0-9a-f]{40}$ ]] || { echo "$here/commit must contain the hash of a commit, not '$commit'" >&2; exit 1; }
out=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/releases/$commit

if [ -e "$out/complete" ]; then echo "$out"; exit 0; fi
if [ "${1:-}" = --check ]; then echo "baseline $commit is not built: run scripts/provision.sh baseline" >&2; exit 1; fi
if ! missing=$(git -C "$root" cat-file -e "$commit^{commit}" 2>&1); then
  cat >&2 <<MESSAGE
The test of upgrades needs commit $commit of this repository, and git does not find it: $missing
In a shallow clone run: git fetch --unshallow. In an unpacked archive, clone the repository instead.
MESSAGE
  exit 1
fi

mkdir -p "$out"
exec 9>"$out/.lock"
flock 9
if [ ! -e "$out/complete" ]; then
  echo "building baseline $commit (two minutes, once)" >&2
  work=$(mktemp -d "$out/.build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  git -C "$root" archive --format=tar "$commit" | tar -x -C "$work"
  cd "$work"
  npm ci --no-audit --no-fund 9>&- >&2
  IMAGE_TAG=$commit node_modules/.bin/node scripts/images.ts 9>&- >&2
  rm -rf "$out/images" "$out/chart"
  mv dist/images "$out/images"
  mv deployments/helm "$out/chart"
  touch "$out/complete"
fi
echo "$out"
