#!/bin/sh
# Runs a script in a copy of this system: an overlay over /, inside namespaces that the caller makes (see
# xtask/src/dist/install_test.rs). Everything is undone when its last process ends. /run is empty, as without systemd. Arguments:
# an empty folder, the script, two packages for it, and a port for it.
set -eu
scratch=$1; shift
mount -t tmpfs tmpfs "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/root"
mount -t proc proc "$scratch/root/proc"
mount --rbind /dev "$scratch/root/dev"
mount -t tmpfs tmpfs "$scratch/root/run"
mount -t tmpfs tmpfs "$scratch/root/tmp"
for file in "$1" "$2" "$3"; do cp "$file" "$scratch/root/tmp/"; done
exec chroot "$scratch/root" bash "/tmp/$(basename "$1")" "/tmp/$(basename "$2")" "/tmp/$(basename "$3")" "$4"
