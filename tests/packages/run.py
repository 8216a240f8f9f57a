#!/usr/bin/env python3
"""What a release is made of: the archive, the Debian package, the installer that verifies, completions and manual pages.

    run.py

It packs the programs of target/release as they are. `tests/long/packages` builds the static ones, and installs with cargo.
"""

import argparse
import functools
import gzip
import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import tarfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import birtest  # noqa: E402

PROGRAMS = ["bir", "bir-proxy", "bir-hooks", "bir-scenario", "bir-hub", "bir-sandbox"]
INSTALLER = os.path.join(birtest.ROOT, "packaging", "install.sh")
# Seconds. Copying some 60 MB, and packing them.
BUDGET = 120


def run(argv, **env):
    """(status, stdout, stderr)"""
    p = subprocess.run(argv, capture_output=True, text=True, timeout=BUDGET, env={**os.environ, **env}, cwd="/", stdin=subprocess.DEVNULL)
    return p.returncode, p.stdout, p.stderr


def native():
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in told.splitlines() if line.startswith("host: "))


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def build(report, out):
    """Packs twice; the same programs have to make the same bytes."""
    for where in (out, out + "-again"):
        status, _, err = run([os.path.join(birtest.ROOT, "packaging", "build"), "--no-build", "--target", native(), "--out", where])
        if not report.check(status == 0, f"packed into {os.path.basename(where)}", err[-300:]):
            return False
    names = sorted(os.listdir(out))
    report.check(any(n.endswith(".tar.gz") for n in names) and "SHA256SUMS" in names and "install.sh" in names, "a release has its files", str(names))
    differing = [n for n in names if digest(os.path.join(out, n)) != digest(os.path.join(out + "-again", n))]
    report.check(not differing, "the same programs make the same bytes", str(differing))
    return True


def archive(report, out):
    path = next(os.path.join(out, n) for n in os.listdir(out) if n.endswith(".tar.gz"))
    with tarfile.open(path) as tar:
        members = tar.getmembers()
    names = {m.name.split("/", 1)[1] for m in members if m.isfile()}
    missing = [n for n in [*(f"bin/{p}" for p in PROGRAMS), "share/man/man1/bir.1.gz", "share/man/man1/bir-runs-list.1.gz", "share/doc/bir/LICENSE-MIT",
                           "share/bash-completion/completions/bir", "share/zsh/site-functions/_bir", "share/fish/vendor_completions.d/bir.fish"] if n not in names]
    report.check(not missing, "the archive holds programs, pages and completions", f"missing: {missing}")
    odd = [m.name for m in members if m.uid or m.gid or m.mode & 0o022 or not (m.isfile() or m.isdir()) or ".." in m.name.split("/")]
    report.check(not odd, "nothing in it is writable by others, a link, or of a user", str(odd))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Served:
    """A directory over HTTP on loopback."""

    def __init__(self, directory):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=directory))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self.url

    def __exit__(self, *_):
        self.server.shutdown()


def files(root):
    return sorted(os.path.relpath(os.path.join(d, f), root) for d, _, fs in os.walk(root) for f in fs)


def installer(report, out, work):
    home = os.path.join(work, "a home")
    prefix = os.path.join(home, ".local")
    os.makedirs(os.path.join(prefix, "bin"))
    open(os.path.join(prefix, "bin", "of-somebody-else"), "w").close()
    install = lambda *args, **env: run(["sh", INSTALLER, *args], **{"HOME": home, **env})

    status, said, err = install("--from", out)
    report.check(status == 0 and "bir 0" in said and "not on PATH" in said, "installed from a directory, into a path with a space", said + err)
    versions = [run([os.path.join(prefix, "bin", p), "--version"])[0] for p in PROGRAMS]
    report.check(versions == [0] * len(PROGRAMS), "every program runs", str(versions))

    # A program that runs while it is replaced goes on.
    old = os.stat(os.path.join(prefix, "bin", "bir-proxy")).st_ino
    proxy = subprocess.Popen([os.path.join(prefix, "bin", "bir-proxy"), "--server-name", "x", "--no-record", "--", "cat"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "HOME": home})
    with Served(out) as url:
        status, _, err = install("--from", url)
        report.check(status == 0, "installed anew over HTTP", err)
    line = b'{"jsonrpc":"2.0","method":"x"}\n'
    proxy.stdin.write(line)
    proxy.stdin.flush()
    same = proxy.stdout.readline() == line and os.stat(os.path.join(prefix, "bin", "bir-proxy")).st_ino != old
    report.check(same, "a program that runs keeps its file while it is replaced")
    proxy.stdin.close()
    proxy.wait(20)

    before = {f: digest(os.path.join(prefix, f)) for f in files(prefix)}
    archive_name = next(n for n in os.listdir(out) if n.endswith(".tar.gz"))

    def spoiled(name, change):
        """A copy of the release with one fault."""
        copy = os.path.join(work, name)
        os.makedirs(copy)
        for n in (archive_name, "SHA256SUMS"):
            shutil.copy(os.path.join(out, n), copy)
        change(copy)
        return copy

    def tampered(copy):
        with open(os.path.join(copy, archive_name), "r+b") as f:
            f.seek(200)
            f.write(b"\0\1\2")

    def truncated(copy):
        os.truncate(os.path.join(copy, archive_name), 1 << 16)

    def unlisted(copy):
        open(os.path.join(copy, "SHA256SUMS"), "w").close()

    def does_not_run(copy):
        # Right by its checksum, and not for this machine.
        tree = os.path.join(copy, archive_name.removesuffix(".tar.gz"))
        os.makedirs(os.path.join(tree, "bin"))
        with open(os.path.join(tree, "bin", "bir"), "w") as f:
            f.write("#!/nowhere\n")
        os.chmod(f.name, 0o755)
        with tarfile.open(os.path.join(copy, archive_name), "w:gz") as tar:
            tar.add(tree, os.path.basename(tree))
        with open(os.path.join(copy, "SHA256SUMS"), "w") as f:
            f.write(f"{digest(os.path.join(copy, archive_name))}  {archive_name}\n")

    for name, change, says in (("tampered", tampered, "checksum"), ("truncated", truncated, "checksum"), ("unlisted", unlisted, "no archive"),
                               ("does-not-run", does_not_run, "do not run"), ("absent", lambda copy: os.remove(os.path.join(copy, archive_name)), "cannot get")):
        status, _, err = install("--from", spoiled(name, change))
        now = {f: digest(os.path.join(prefix, f)) for f in files(prefix)}
        report.check(status == 1 and says in err and now == before, f"refused, and nothing changed: {name}", err)
    for args, says in (([], "usage"), (["--from", "http://example.invalid"], "plain http"), (["--from", out, "--prefix", "here"], "absolute"),
                       (["--from", out, "--version", "99"], "no archive of version 99")):
        status, _, err = install(*args)
        report.check(status != 0 and says in err, f"refused: {' '.join(a for a in args if a != out) or 'no argument'}", err)

    status, said, err = install("--remove")
    left = files(prefix)
    report.check(status == 0 and left == ["bin/of-somebody-else"], "removed, and nothing else", f"{said}{err}{left}")
    status, _, err = install("--remove")
    report.check(status == 1 and "nothing of bir" in err, "removed twice says so", err)


def debian(report, out, work):
    found = [n for n in os.listdir(out) if n.endswith(".deb")]
    if not found:
        report.skipped("the Debian package", "no dpkg-deb here")
        return
    package = os.path.join(out, found[0])
    status, fields, err = run(["dpkg-deb", "--field", package])
    report.check(status == 0 and "Package: bir\n" in fields and "Architecture: a" in fields, "its fields", fields + err)
    root = os.path.join(work, "root")
    status, _, err = run(["dpkg-deb", "--extract", package, root])
    told = run([os.path.join(root, "usr", "bin", "bir"), "--version"])
    report.check(status == 0 and told[0] == 0, "its programs run", err + told[2])
    if os.geteuid() != 0:
        report.skipped("dpkg installs and removes it", "only root may")
        return
    # A database of its own: nothing of this machine changes.
    target = os.path.join(work, "installed")
    for d in ("var/lib/dpkg/updates", "var/lib/dpkg/info"):
        os.makedirs(os.path.join(target, d))
    for f in ("status", "available"):
        open(os.path.join(target, "var/lib/dpkg", f), "w").close()
    dpkg = ["dpkg", f"--root={target}", "--force-not-root", "--force-depends", "--log=/dev/null"]
    status, _, err = run([*dpkg, "--install", package])
    report.check(status == 0 and os.path.exists(os.path.join(target, "usr/bin/bir-proxy")), "dpkg installs it", err[-300:])
    status, _, err = run([*dpkg, "--purge", "bir"])
    left = [f for f in files(target) if not f.startswith("var/lib/dpkg")]
    report.check(status == 0 and not left, "dpkg removes it whole", f"{err[-300:]} {left}")


def pages(report, out, work):
    bir = birtest.program("bir", "BIR_TEST_CLI")
    man = os.path.join(work, "man")
    status, _, err = run([bir, "man", man])
    names = sorted(os.listdir(man)) if os.path.isdir(man) else []
    report.check(status == 0 and {"bir.1", "bir-runs.1", "bir-up.1"} <= set(names), "a page for each command", err or str(names))
    if shutil.which("groff"):
        bad = [n for n in names for p in [run(["groff", "-man", "-ww", "-z", os.path.join(man, n)])] if p[0] or p[2]]
        report.check(not bad, "groff finds no mistake in them", str(bad))
    for shell, check in (("bash", ["bash", "-c", 'source "$0" && complete -p bir']), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
        file = os.path.join(work, f"bir.{shell}")
        status, text, err = run([bir, "completions", shell])
        with open(file, "w") as f:
            f.write(text)
        if not shutil.which(shell):
            report.check(status == 0 and "bir" in text, f"completions of {shell} are printed (it is not here to read them)", err)
            continue
        told = run([*check, file])
        report.check(status == 0 and told[0] == 0, f"{shell} reads its completions", told[2])
    with gzip.open(next(os.path.join(d, f) for d, _, fs in os.walk(os.path.join(work, "root")) for f in fs if f == "bir.1.gz")) as f:
        report.check(b".TH" in f.read(), "the package's page is one")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.parse_args()
    report = birtest.Report("packages")
    if birtest.need(report, [os.path.join(birtest.ROOT, "target", "release", p) for p in PROGRAMS]):
        work = birtest.scratch("packages")
        out = os.path.join(work, "release files")
        if build(report, out):
            archive(report, out)
            installer(report, out, work)
            debian(report, out, work)
            pages(report, out, work)
        shutil.rmtree(work)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
