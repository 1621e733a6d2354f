#!/bin/sh
# The first process of a machine of its own, in new namespaces: this machine's
# files below a layer in memory, and systemd. $1 is an empty folder, $2 a folder
# with packages, which is /pkg there.
set -e
mount --make-rprivate /
mount -t tmpfs -o size=1g tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
root=$1/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$root"
mkdir -p "$root/pkg" "$root/old"
cp "$2"/*.deb "$root/pkg"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for dir in run tmp dev; do mount -t tmpfs tmpfs "$root/$dir"; done
for node in null zero full random urandom tty; do
	touch "$root/dev/$node"
	mount --bind "/dev/$node" "$root/dev/$node"
done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666
ln -s pts/ptmx "$root/dev/ptmx"
# What this machine has of Sluice is not there, nor what keeps services from
# starting; nothing else is started.
rm -rf "$root/usr/sbin/policy-rc.d" "$root/var/lib/sluice" "$root/etc/default/sluice"
cd "$root"
pivot_root . old
umount -l old
exec env -i container=sluice PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target </dev/null >/dev/null 2>&1
