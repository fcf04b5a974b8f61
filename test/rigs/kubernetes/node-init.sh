#!/usr/bin/env bash
# PID 1 of a node: a "VM" in its own mount, UTS, IPC and PID namespaces. node.ts starts it in its network namespace, with DISK
# (the directory of the node), NAME, UUID and BOOT_ID in the environment. With ROOT, the files of the node are those of a node
# of the sandbox: what is mounted over them there is mounted here too.
set -euo pipefail
mount -t proc proc /proc
ip link set lo up

# sysfs of this network namespace, with the existing cgroup mounts.
mkdir -p "$DISK/mount"
mount --rbind /sys/fs/cgroup "$DISK/mount"
mount -t sysfs sysfs /sys
mount --rbind "$DISK/mount" /sys/fs/cgroup
umount -l "$DISK/mount"

# The kubelet reads the system UUID from /sys/class/dmi: replace it and keep the real other classes.
mount -t tmpfs -o mode=755,size=1m class "$DISK/mount"
for class in /sys/class/*/; do
  class=$(basename "$class")
  if [ "$class" = dmi ]; then continue; fi
  mkdir "$DISK/mount/$class"
  mount --bind "/sys/class/$class" "$DISK/mount/$class"
done
mkdir -p "$DISK/mount/dmi/id"
echo "$UUID" >"$DISK/mount/dmi/id/product_uuid"
echo 'OpenStack Nova' >"$DISK/mount/dmi/id/product_name"
chmod 400 "$DISK/mount/dmi/id/product_uuid"
mount --move "$DISK/mount" /sys/class

echo "$BOOT_ID" >"$DISK/boot_id"
mount --bind "$DISK/boot_id" /proc/sys/kernel/random/boot_id

# The kubelet would change these sysctls of the whole machine unless they have these values: mount files over them.
mkdir -p "$DISK/sysctl"
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=$DISK/sysctl/$(basename "${setting%=*}")
  echo "${setting#*=}" >"$file"
  mount --bind "$file" "/proc/sys/${setting%=*}"
done

mkdir -p "$DISK/var/log" "$DISK/var/lib/kubelet" "$DISK/var/lib/containerd"
if [ -n "${ROOT:-}" ]; then
  for dir in etc var/lib; do mount --bind "$ROOT/$dir" "/$dir"; done
  # A fault may mount another /var/lib, and paths of sockets must be short.
  mount --bind "$DISK/var/lib" /srv
  if [ ! -e /etc/machine-id ]; then
    touch /etc/hosts /etc/resolv.conf
    echo 'root:x:0:0::/root:/bin/sh' >/etc/passwd
    echo 'root:x:0:' >/etc/group
    echo "${UUID//-/}" >/etc/machine-id
  fi
else
  # The disk of the node: overlays, so that these directories stay unchanged on the machine.
  for dir in etc var/lib usr/lib usr/local/lib; do
    layer=$DISK/${dir//\//-}
    mkdir -p "$layer/upper" "$layer/work"
    mount -t overlay overlay -o "lowerdir=/$dir,upperdir=$layer/upper,workdir=$layer/work" "/$dir"
  done
  for dir in kubelet containerd; do
    mkdir -p "/var/lib/$dir"
    mount --bind "$DISK/var/lib/$dir" "/var/lib/$dir"
  done
fi
mount --bind "$DISK/var/log" /var/log
mount -t tmpfs -o mode=755 run /run

if [ -z "${ROOT:-}" ] && [ ! -e "$DISK/installed" ]; then
  echo "${UUID//-/}" >/etc/machine-id
  echo "$NAME" >/etc/hostname
  rm -f /etc/os-release
  printf 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04 LTS"\n' >/etc/os-release
  rm -rf /etc/netplan /etc/systemd/network
  mkdir -p /etc/netplan /etc/sysctl.d /etc/systemd/network
  (umask 077 && printf 'network:\n  version: 2\n  ethernets:\n    eth0:\n      dhcp4: true\n' >/etc/netplan/50-cloud-init.yaml)
  touch "$DISK/installed"
fi
hostname "$NAME"
mount --make-rshared /
touch "$DISK/ready"

# bash reaps the orphans of containerd while it waits.
while :; do sleep 86400 & wait $! || true; done
