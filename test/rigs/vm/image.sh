#!/usr/bin/env bash
# Builds the disk, kernel and initrd of a Debian 12 guest from packages, once per content of this file, and prints their
# directory below ${XDG_CACHE_HOME:-~/.cache}/multinic/vm. Needs root and mmdebstrap, and no loop device. Takes about two minutes.
#
#   image.sh netplan          Netplan with systemd-networkd
#   image.sh networkmanager   NetworkManager
set -euo pipefail

kind=${1:?netplan or networkmanager}
release=bookworm
# Every unit and every module costs seconds in an emulated guest. runc runs the agent's container.
packages=(systemd-sysv udev dbus iproute2 iputils-ping kmod procps e2fsprogs initramfs-tools zstd busybox-static
  linux-image-cloud-amd64 qemu-guest-agent runc)
case $kind in
  netplan) packages+=(netplan.io) ;;
  networkmanager) packages+=(network-manager) ;;
  *) echo "image.sh: unknown kind '$kind' (netplan, networkmanager)" >&2; exit 2 ;;
esac

cache=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/vm
out=$cache/$kind-$(sha256sum "${BASH_SOURCE[0]}" | cut -c 1-16)
if [ -e "$out/versions" ]; then echo "$out"; exit 0; fi

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if [ -e "$out/versions" ]; then echo "$out"; exit 0; fi
echo "building the $kind guest (about two minutes, once)" >&2
work=$(mktemp -d "$cache/.build.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root

# The mirrors of this machine if it has this release; otherwise the default of mmdebstrap.
mapfile -t sources < <(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
  grep -E " $release(-updates|-security)? main$" | sort --unique)

mkdir -p "$work/initramfs-tools/conf.d"
printf 'MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\n' >"$work/initramfs-tools/conf.d/guest.conf"
printf '%s\n' virtio_pci virtio_blk virtio_net ext4 >"$work/initramfs-tools/modules"
mmdebstrap --quiet --variant=minbase --include="$(IFS=,; echo "${packages[*]}")" \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --aptopt='Acquire::Languages "none"' \
  --essential-hook="copy-in $work/initramfs-tools /etc" \
  "$release" "$root" "${sources[@]}" 9>&- >&2

echo node-1 >"$root/etc/hostname"
printf '127.0.0.1 localhost node-1\n::1 localhost\n' >"$root/etc/hosts"
echo '/dev/vda / ext4 rw,relatime 0 1' >"$root/etc/fstab"
: >"$root/etc/machine-id"
mkdir "$root/payload"

# Slow in an emulated guest, and unrelated to the network.
for unit in getty@tty1.service getty.target systemd-timesyncd.service systemd-pstore.service ldconfig.service \
  systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-journal-flush.service systemd-logind.service \
  systemd-random-seed.service systemd-hwdb-update.service keyboard-setup.service console-setup.service e2scrub_reap.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer e2scrub_all.timer logrotate.timer motd.timer \
  modprobe@dm_mod.service modprobe@loop.service modprobe@drm.service modprobe@fuse.service modprobe@efi_pstore.service
do ln -sf /dev/null "$root/etc/systemd/system/$unit"; done
mkdir -p "$root/etc/systemd/journald.conf.d" "$root/etc/systemd/system/qemu-guest-agent.service.d"
printf '[Journal]\nStorage=volatile\nRateLimitIntervalSec=0\n' >"$root/etc/systemd/journald.conf.d/guest.conf"
# The command channel starts early and does not wait for the network.
printf '[Unit]\nDefaultDependencies=no\nAfter=systemd-udevd.service local-fs.target\n' \
  >"$root/etc/systemd/system/qemu-guest-agent.service.d/guest.conf"

# The primary NIC by its MAC address, as cloud-init writes it.
case $kind in
  netplan)
    cat >"$root/etc/netplan/50-cloud-init.yaml" <<'YAML'
network:
  version: 2
  ethernets:
    primary:
      dhcp4: true
      match: {macaddress: "fa:16:3e:00:00:01"}
YAML
    chmod 600 "$root/etc/netplan/50-cloud-init.yaml"
    chroot "$root" systemctl --quiet enable systemd-networkd
    chroot "$root" systemctl --quiet disable systemd-networkd-wait-online
    ;;
  networkmanager)
    cat >"$root/etc/NetworkManager/system-connections/primary.nmconnection" <<'KEYFILE'
[connection]
id=primary
type=ethernet
[ethernet]
mac-address=fa:16:3e:00:00:01
[ipv4]
method=auto
[ipv6]
method=link-local
KEYFILE
    chmod 600 "$root/etc/NetworkManager/system-connections/primary.nmconnection"
    chroot "$root" systemctl --quiet disable NetworkManager-wait-online
    ;;
esac

mv "$root"/boot/vmlinuz-* "$work/vmlinuz"
mv "$root"/boot/initrd.img-* "$work/initrd.img"
dpkg-query --admindir="$root/var/lib/dpkg" --show >"$work/versions"
# 1 GiB of free space; the file is sparse.
mke2fs -q -t ext4 -d "$root" "$work/root.ext4" "$(($(du -sm "$root" | cut -f1) + 1024))M" >&2
rm -rf "$root" "$work/initramfs-tools" "$out"
mkdir "$out"
mv "$work"/* "$out/"
echo "$out"
