#!/bin/sh
# Installs the programs of bir for this user, and verifies what it installs.
#
#     sh install.sh --from WHERE [--version VERSION] [--prefix DIR]
#     sh install.sh --remove [--prefix DIR]
#
# WHERE is the directory, or the https address, that holds the archives and SHA256SUMS. The programs go to DIR/bin (default ~/.local),
# manual pages and completions to DIR/share. Nothing is written before the checksum is right, and each file is replaced in one step, so
# that programs which run go on with the old one. Run it again for another version. --remove deletes what was installed; run
# `bir uninstall --all --purge` before it, since hosts would look for programs that are gone.
set -eu

fail() { echo "install.sh: $*" >&2; exit 1; }
text() {
  echo "usage: sh install.sh --from DIRECTORY|URL [--version VERSION] [--prefix DIR]"
  echo "       sh install.sh --remove [--prefix DIR]"
}
usage() { text >&2; exit 2; }
help() {
  text
  echo
  echo "Installs the programs of bir for this user, and verifies what it installs."
  echo
  echo "  --from WHERE       the directory, or the https address, that holds the archives and SHA256SUMS"
  echo "  --version VERSION  another version than the newest one there"
  echo "  --prefix DIR       programs go to DIR/bin, pages and completions to DIR/share (default: ~/.local)"
  echo "  --remove           deletes what was installed; run \`bir uninstall --all --purge\` before it"
  exit 0
}

from=${BIR_INSTALL_FROM:-} version='' prefix=${HOME:-}/.local remove=no
while [ $# -gt 0 ]; do
  case $1 in
    --from) [ $# -ge 2 ] || usage; from=$2; shift 2 ;;
    --version) [ $# -ge 2 ] || usage; version=$2; shift 2 ;;
    --prefix) [ $# -ge 2 ] || usage; prefix=$2; shift 2 ;;
    --remove) remove=yes; shift ;;
    -h | --help) help ;;
    *) usage ;;
  esac
done
case $prefix in /.local) fail "HOME is not set; say where to with --prefix DIR" ;; /*) ;; *) fail "--prefix has to be an absolute path" ;; esac

list=$prefix/share/doc/bir/installed-files
if [ "$remove" = yes ]; then
  [ -f "$list" ] || fail "nothing of bir is installed in $prefix"
  while IFS= read -r file; do
    rm -f "$prefix/$file"
    # What is empty now was made for it, or is of no use.
    (cd "$prefix" && rmdir -p "$(dirname "$file")" 2>/dev/null) || true
  done <"$list"
  rm -f "$list"
  (cd "$prefix" && rmdir -p share/doc/bir 2>/dev/null) || true
  echo "bir is gone from $prefix"
  exit 0
fi
[ -n "$from" ] || usage

case $(uname -s) in Linux) ;; *) fail "there are archives for Linux alone; build it elsewhere with cargo" ;; esac
case $(uname -m) in
  x86_64 | amd64) machine=x86_64 ;;
  aarch64 | arm64) machine=aarch64 ;;
  *) fail "there is no archive for $(uname -m); build it with cargo" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# A file of the release, whole or not at all.
get() {
  case $from in
    https://* | http://127.0.0.1[:/]* | http://localhost[:/]*)
      if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --proto '=https,http' --proto-redir '=https' --max-time 600 --output "$work/$1" "${from%/}/$1"
      elif command -v wget >/dev/null 2>&1; then
        wget --quiet --timeout=60 --tries=2 --output-document="$work/$1" "${from%/}/$1"
      else
        fail "neither curl nor wget is here; download the files, and give their directory with --from"
      fi ;;
    http://*) fail "plain http is refused; use https, or a directory" ;;
    *) cp "${from%/}/$1" "$work/$1" ;;
  esac || fail "cannot get $1 from $from"
}

get SHA256SUMS
# The static build runs on every Linux; another one is taken where that is all there is.
pick() { sed -n "s/^[0-9a-f]\{64\}  \(bir-${version:-[0-9][0-9A-Za-z.+-]*}-$machine-unknown-linux-$1\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS" | sort | tail -n 1; }
archive=$(pick musl)
[ -n "$archive" ] || archive=$(pick gnu)
[ -n "$archive" ] || fail "$from has no archive ${version:+of version $version }for Linux on $machine"
get "$archive"

wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/SHA256SUMS")
if command -v sha256sum >/dev/null 2>&1; then found=$(sha256sum <"$work/$archive")
elif command -v shasum >/dev/null 2>&1; then found=$(shasum -a 256 <"$work/$archive")
elif command -v openssl >/dev/null 2>&1; then found=$(openssl dgst -sha256 -r <"$work/$archive")
else fail "nothing here computes SHA-256 (sha256sum, shasum, openssl)"; fi
[ "${found%% *}" = "$wanted" ] || fail "the checksum of $archive is wrong: it is damaged, or not what was released; nothing was installed"

mkdir "$work/tree"
tar -xzf "$work/$archive" -C "$work/tree" || fail "cannot unpack $archive; nothing was installed"
tree=$work/tree/${archive%.tar.gz}
"$tree/bin/bir" --version >/dev/null || fail "the programs of $archive do not run here; nothing was installed"

# Beside its place first: a rename in one directory is one step, and a program that runs keeps its file.
(cd "$tree" && find bin share -type f) >"$work/files"
while IFS= read -r file; do
  mkdir -p "$prefix/$(dirname "$file")"
  cp -p "$tree/$file" "$prefix/$file.new.$$" || fail "cannot write $prefix/$file"
  mv -f "$prefix/$file.new.$$" "$prefix/$file" || fail "cannot replace $prefix/$file"
done <"$work/files"
sort "$work/files" >"$list"

echo "$("$prefix/bin/bir" --version) is in $prefix/bin"
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) echo "note: $prefix/bin is not on PATH; add it in your shell's profile" ;;
esac
echo "next: \`bir setup\` in a project"
