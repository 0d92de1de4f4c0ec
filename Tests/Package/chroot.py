"""A Debian of its own in a folder, in which packages are installed and programs run."""

import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


class Failed(AssertionError):
    pass


def run(*command, **options):
    """Runs a command to its end and returns what it printed; what it printed is the error if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))[:400]}: status {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def downloaded(package, folder):
    """The files of a Debian package, which is not installed."""
    place = folder / package
    if not place.exists():
        (folder / "debs").mkdir(parents=True, exist_ok=True)
        run("apt-get", "download", package, cwd=folder / "debs")
        deb = max((folder / "debs").glob(f"{package}_*.deb"), key=os.path.getmtime)
        run("dpkg-deb", "-x", deb, place)
    return place


def bootstrap(folder):
    """A minimal Debian 12 of this machine's mirror, made once."""
    base = folder / "bookworm"
    if (folder / "bookworm.complete").exists():
        return base
    shutil.rmtree(base, ignore_errors=True)
    program, environment = shutil.which("debootstrap"), dict(os.environ)
    if not program:
        files = downloaded("debootstrap", folder)
        program, environment["DEBOOTSTRAP_DIR"] = files / "usr/sbin/debootstrap", str(files / "usr/share/debootstrap")
    mirror = next(line.split()[0].strip("'").split("/dists/")[0] for line in run("apt-get", "indextargets", "--format",
                  "$(REPO_URI) $(RELEASE)").splitlines() if line.split()[-1] == "bookworm")
    run("sh", program, "--variant=minbase", "bookworm", base, mirror, env=environment)
    (folder / "bookworm.complete").touch()
    return base


def with_package(folder, package):
    """A copy of it in which a package is installed, made once: for what is too large for this machine."""
    path = folder / f"bookworm-{package}"
    complete = folder / f"bookworm-{package}.complete"
    if not complete.exists():
        shutil.rmtree(path, ignore_errors=True)
        root = Root(bootstrap(folder), path)
        root.run("apt-get", "update", "-qq")
        root.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", package)
        complete.touch()
    return Root(None, path)


class Root:
    """A copy of the minimal Debian, or what is there already. Commands run in it with /proc and /dev, and mounts of their own."""

    def __init__(self, base, folder, binds=()):
        self.path = pathlib.Path(folder)
        self.binds = [bind for bind in binds if os.path.exists(bind)]
        if base is None:
            return
        run("cp", "-a", "--reflink=auto", base, self.path)
        shutil.copy("/etc/resolv.conf", self / "etc/resolv.conf")
        for name in os.listdir("/etc/apt/apt.conf.d"):
            if "proxy" in name.lower():
                shutil.copy(f"/etc/apt/apt.conf.d/{name}", self / "etc/apt/apt.conf.d")
        # As in a container: no service is started by being installed.
        policy = self / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def __truediv__(self, path):
        return self.path / str(path).lstrip("/")

    def command(self, *command, user=None, environment=None, calls=None):
        """The command line that runs a command inside. With `calls`, confined as the unit of systemd says: to these system
        calls, with its data as the only folder that can be written, and no /proc but the processes of its user."""
        script = 'root=$1; shift; '
        for bind in self.binds:
            script += f'mkdir -p "$root{bind}"; mount --bind {bind} "$root{bind}"; '
        if calls:
            script += ('data="$root/var/lib/presence"; mount --rbind "$root" "$root"; mount --bind "$data" "$data"; '
                       'mount -t tmpfs tmpfs "$root/tmp"; mount -o remount,bind,ro "$root"; '
                       'mount -t proc -o subset=pid,hidepid=invisible proc "$root/proc"; ')
        else:
            script += 'mount -t proc proc "$root/proc"; '
        script += 'mount --rbind /dev "$root/dev"; exec "$@"'
        variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                     "DEBIAN_FRONTEND": "noninteractive", **(environment or {})}
        who = list(map(str, self.ids(user))) if user else []
        if calls:
            inside = ["/usr/bin/python3", str(HERE / "confine.py"), str(self.path), *who, ",".join(sorted(calls))]
        else:
            inside = ["/usr/sbin/chroot", *(["--userspec", ":".join(who)] if who else []), str(self.path)]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", str(self.path),
                "env", "-i", *(f"{name}={value}" for name, value in variables.items()), *inside, *map(str, command)]

    def run(self, *command, **options):
        return run(*self.command(*command, **options))

    def ids(self, user):
        """The number of a user inside, and of its group."""
        for line in (self / "etc/passwd").read_text().splitlines():
            fields = line.split(":")
            if fields[0] == user:
                return int(fields[2]), int(fields[3])
        return None

    def files(self):
        """All that is there but what any installation leaves."""
        changing = ("var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "etc/passwd", "etc/group", "etc/shadow",
                    "etc/gshadow", "etc/ld.so.cache", "proc", "dev", "tmp", "var/tmp", "opt")
        found = set()
        for folder, folders, names in os.walk(self.path):
            place = os.path.relpath(folder, self.path)
            folders[:] = [each for each in folders if not os.path.join(place, each).removeprefix("./").startswith(changing)]
            found |= {os.path.join(place, each).removeprefix("./") for each in [*folders, *names]}
        return {each for each in found if not each.startswith(changing)}
