#!/usr/bin/env bash
# Builds the disk, kernel and initrd of a Debian guest from packages, and prints their directory below
# ${XDG_CACHE_HOME:-~/.cache}/multinic/vm. Builds once per content of this file and of the definition of the kind.
# Needs root and mmdebstrap, and no loop device. Takes about two minutes; another processor, five.
#
#   image.sh KIND   a file in image/, such as netplan: Debian 12 with Netplan and systemd-networkd
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kind=${1:?one of $(cd "$here/image" && echo *.sh | sed 's/\.sh//g')}
definition=$here/image/$kind.sh
[ -f "$definition" ] || { echo "image.sh: unknown kind '$kind' ($(cd "$here/image" && echo *.sh | sed 's/\.sh//g'))" >&2; exit 2; }

# What a definition may set. Kernel parameters: audit=0, because a later audit=1 does not undo it.
release=bookworm manager=netplan arch=amd64 parameters=audit=0
# Every unit and every module costs seconds in an emulated guest. runc runs the agent's container.
packages=(systemd-sysv udev dbus iproute2 iputils-ping kmod procps e2fsprogs initramfs-tools zstd busybox-static
  qemu-guest-agent runc)
# A node without it (nftables=) loses the tables of multinic at a reboot, until the agent has run again.
nftables=yes
# The security updates of the release, and more options of mmdebstrap.
security=yes options=()
# Runs last, with the root directory of the guest as its argument.
customize() { :; }
# shellcheck source=/dev/null
. "$definition"
packages+=("linux-image-cloud-$arch" ${nftables:+nftables})
case $manager in
  netplan) packages+=(netplan.io) ;;
  networkmanager) packages+=(network-manager) ;;
esac

cache=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/vm
out=$cache/$kind-$(cat "$here/image.sh" "$definition" | sha256sum | cut -c 1-16)
if [ -e "$out/versions" ]; then echo "$out"; exit 0; fi

mkdir -p "$cache"
exec 9>"$cache/.lock-$kind"
flock 9
if [ -e "$out/versions" ]; then echo "$out"; exit 0; fi
echo "building the $kind guest (some minutes, once)" >&2
work=$(mktemp -d "$cache/.build.XXXXXX")
registered=
cleanup() {
  rm -rf "$work"
  if [ -n "$registered" ]; then echo -1 >"$registered"; fi
}
trap cleanup EXIT
root=$work/root

# The Debian mirrors of this machine, which have every release; otherwise the default of mmdebstrap.
mapfile -t sources < <(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 'Component: main' | sort --unique |
  sed -n "s/^Debian \(.*\)/deb \1 $release main\ndeb \1 $release-updates main/p${security:+; s/^Debian-Security \(.*\)/deb \1 $release-security main/p}")

# The packages of another processor run in qemu-user while they are installed.
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
  binfmt=/proc/sys/fs/binfmt_misc
  [ -e $binfmt/register ] || mount -t binfmt_misc binfmt_misc $binfmt
  case $arch in arm64) interpreter=qemu-aarch64 ;; esac
  if [ ! -e $binfmt/$interpreter ]; then
    cat /usr/lib/binfmt.d/$interpreter.conf >$binfmt/register
    registered=$binfmt/$interpreter
  fi
fi

mkdir -p "$work/initramfs-tools/conf.d"
printf 'MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\n' >"$work/initramfs-tools/conf.d/guest.conf"
printf '%s\n' virtio_pci virtio_blk virtio_net ext4 >"$work/initramfs-tools/modules"
mmdebstrap --quiet --variant=minbase --architectures="$arch" --include="$(IFS=,; echo "${packages[*]}")" \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt=force-unsafe-io --aptopt='Acquire::Languages "none"' \
  --essential-hook="copy-in $work/initramfs-tools /etc" "${options[@]}" \
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
case $manager in
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
customize "$root"

mv "$root"/boot/vmlinuz-* "$work/vmlinuz"
mv "$root"/boot/initrd.img-* "$work/initrd.img"
printf '{"arch":"%s","manager":"%s","parameters":"%s"}\n' "$arch" "$manager" "$parameters" >"$work/guest.json"
dpkg-query --admindir="$root/var/lib/dpkg" --show >"$work/versions"
# 1 GiB of free space; the file is sparse.
mke2fs -q -t ext4 -d "$root" "$work/root.ext4" "$(($(du -sm "$root" | cut -f1) + 1024))M" >&2
rm -rf "$root" "$work/initramfs-tools" "$out"
mkdir "$out"
mv "$work"/* "$out/"
echo "$out"
