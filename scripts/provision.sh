#!/usr/bin/env bash
# Installs what the tests need on a Debian or Ubuntu machine, if it is missing. Starts no service.
#
#   provision.sh base         for `make test`: network tools
#   provision.sh daemons      for `make e2e`: base, and netplan, NetworkManager, systemd, udev, busybox
#   provision.sh kubernetes   for `make e2e`: base, and a Kubernetes cluster (from apt, and built with Go)
#   provision.sh cni          for `make e2e` and `make vm`: base, and Multus and CNI plugins (built with Go)
#   provision.sh keepalived for `make e2e`: base, and keepalived
#   provision.sh ovn          for `make e2e`: base, and Open vSwitch and OVN
#   provision.sh openstack    for `make e2e`: base, and OpenStack with its database and broker
#   provision.sh rabbitmq     for `make e2e`: base, and RabbitMQ
#   provision.sh postgres     for `make e2e`: base, and PostgreSQL
#   provision.sh helm         for `make e2e`: base, and helm (built with Go)
#   provision.sh oauth2-proxy for `make e2e`: base, and oauth2-proxy (built with Go)
#   provision.sh baseline     for `make e2e`: base, and the version to upgrade from (built from the git history)
#   provision.sh prometheus   for `make e2e`: base, and promtool (extracted from a package; no server)
#   provision.sh grafana      for `make e2e`: base, and the types of Grafana's dashboards (from npm; no server)
#   provision.sh otel-collector for `make e2e`: base, and an OpenTelemetry collector (built with Go)
#   provision.sh images       for `make e2e`: base, and buildah
#   provision.sh browser      for `make e2e`: base, and Chromium with Korean fonts
#   provision.sh emulator     for `make e2e`: base, and a user-mode emulator for programs of arm64
#   provision.sh hypervisor   for `make vm`: base, and libvirt with what Nova and Neutron need for real servers
#   provision.sh vm [KIND...] for `make vm`: base, and QEMU, a DHCP server and images of guests (built with mmdebstrap)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
group=${1:?base, daemons, kubernetes, cni, keepalived, ovn, openstack, rabbitmq, postgres, helm, oauth2-proxy, baseline, prometheus, grafana, otel-collector, images, browser, emulator, hypervisor or vm}

# command:package of Debian and Ubuntu.
base=(ip:iproute2 ping:iputils-ping nft:nftables nsenter:util-linux openssl:openssl ps:procps script:bsdutils)
daemons=(netplan:netplan.io NetworkManager:network-manager dbus-daemon:dbus :systemd :udev busybox:busybox-static)
kubernetes=(etcd:etcd-server iptables:iptables containerd:containerd runc:runc busybox:busybox-static dnsmasq:dnsmasq-base)
# Packages with the code only: those that install services ask questions.
openstack=(:python3-keystone :neutron-common :nova-common :python3-placement :glance-common :python3-pymysql
  openstack:python3-openstackclient :rabbitmq-server :mariadb-server uwsgi-core:uwsgi-core :uwsgi-plugin-python3)
rabbitmq=(:rabbitmq-server)
postgres=(postgres:postgresql)
keepalived=(keepalived:keepalived)
ovn=(ovs-vswitchd:openvswitch-switch ovn-northd:ovn-central ovn-controller:ovn-host ethtool:ethtool)
images=(buildah:buildah)
emulator=(qemu-aarch64-static:qemu-user-static)
browser=(chromium:chromium :fonts-noto-cjk)
vm=(qemu-system-x86_64:qemu-system-x86 mmdebstrap:mmdebstrap mke2fs:e2fsprogs dnsmasq:dnsmasq-base nbdkit:nbdkit)
# libvirtd without its service.
hypervisor=(libvirtd:libvirt-daemon :libvirt-daemon-driver-qemu virsh:libvirt-clients :python3-libvirt qemu-img:qemu-utils
  iptables:iptables ipset:ipset)
# QEMU also runs the packages while the image is built.
arm64=(qemu-system-aarch64:qemu-system-arm :qemu-efi-aarch64 :qemu-user-static arch-test:arch-test)

case $group in
  base) tools=("${base[@]}") ;;
  daemons) tools=("${base[@]}" "${daemons[@]}") ;;
  kubernetes) tools=("${base[@]}" "${kubernetes[@]}") ;;
  openstack) tools=("${base[@]}" "${openstack[@]}") ;;
  rabbitmq) tools=("${base[@]}" "${rabbitmq[@]}") ;;
  postgres) tools=("${base[@]}" "${postgres[@]}") ;;
  cni | helm | oauth2-proxy | baseline | prometheus | grafana | otel-collector) tools=("${base[@]}") ;;
  keepalived) tools=("${base[@]}" "${keepalived[@]}") ;;
  ovn) tools=("${base[@]}" "${ovn[@]}") ;;
  images) tools=("${base[@]}" "${images[@]}") ;;
  browser) tools=("${base[@]}" "${browser[@]}") ;;
  emulator) tools=("${base[@]}" "${emulator[@]}") ;;
  hypervisor) tools=("${base[@]}" "${hypervisor[@]}") ;;
  vm)
    guests=("${@:2}")
    if [ $# = 1 ]; then guests=(netplan networkmanager); fi
    tools=("${base[@]}" "${vm[@]}")
    case " ${guests[*]} " in *arm64*) tools+=("${arm64[@]}") ;; esac
    ;;
  *) echo "provision.sh: unknown group '$group' (base, daemons, kubernetes, cni, keepalived, ovn, openstack, rabbitmq, postgres, helm, oauth2-proxy, baseline, prometheus, grafana, otel-collector, images, browser, emulator, hypervisor, vm)" >&2; exit 2 ;;
esac

# /usr/sbin is not in the PATH of every user.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# Checks for the command; for a package without a command, checks for the package.
have() {
  case $1 in
    '') dpkg-query --show --showformat '${db:Status-Abbrev}' "$2" 2>/dev/null | grep -q '^ii' ;;
    etcd) [ -x "${KUBEBUILDER_ASSETS:-/nonexistent}/etcd" ] || command -v etcd >/dev/null ;;
    # Debian installs several versions in parallel, outside the PATH.
    postgres) compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null ;;
    # The tests make an image of this file alone, so it must be statically linked.
    busybox) command -v busybox >/dev/null && ! ldd "$(command -v busybox)" 2>/dev/null | grep -q '=>' ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

updated=
update_once() {
  if [ -z "$updated" ] && [ "$(id -u)" = 0 ]; then
    "$here/progress.sh" 'updating the package lists' apt-get update --quiet
  fi
  updated=1
}

go_candidate() {
  apt-cache policy golang-go 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9]*:\)\{0,1\}\([0-9]\)/\2/p'
}

packages=()
for tool in "${tools[@]}"; do have "${tool%%:*}" "${tool#*:}" || packages+=("${tool#*:}"); done
builder=
case $group in kubernetes | cni | helm | oauth2-proxy | baseline | otel-collector) builder=$here/../test/rigs/$group/build.sh ;; esac
if [ -n "$builder" ] && [ "$group" != baseline ] && ! command -v go >/dev/null && ! "$builder" --check >/dev/null 2>&1; then
  [ -n "$(go_candidate)" ] || update_once
  # Go 1.21 and later fetches the toolchain that a module requires. With an older Go, build.sh prints what to do.
  if dpkg --compare-versions "0$(go_candidate)" ge 01.21; then packages+=(golang-go); fi
fi

if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "provision.sh: missing packages: ${packages[*]}. Run as root: apt-get install ${packages[*]}" >&2
    exit 1
  fi
  # Packages run policy-rc.d before they start a service; 101 forbids it. A policy that exists stays.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  install_all() {
    DEBIAN_FRONTEND=noninteractive "$here/progress.sh" "installing ${packages[*]}" \
      apt-get install --yes --quiet --no-install-recommends --option DPkg::Lock::Timeout=300 "${packages[@]}"
  }
  # The package lists may be missing (new image) or older than the archive.
  install_all || { update_once && install_all; }
  for package in "${packages[@]}"; do
    case $package in
      network-manager) systemctl --quiet disable NetworkManager.service 2>/dev/null || true ;;
      etcd-server) systemctl --quiet disable etcd.service 2>/dev/null || true ;;
      keepalived) systemctl --quiet disable keepalived.service 2>/dev/null || true ;;
      openvswitch-switch | ovn-central | ovn-host) systemctl --quiet disable "$package.service" 2>/dev/null || true ;;
      containerd) systemctl --quiet disable containerd.service 2>/dev/null || true ;;
      rabbitmq-server) systemctl --quiet disable rabbitmq-server.service 2>/dev/null || true ;;
      mariadb-server) systemctl --quiet disable mariadb.service 2>/dev/null || true ;;
      postgresql) systemctl --quiet disable postgresql.service 2>/dev/null || true ;;
    esac
  done
fi

if [ -n "$builder" ] && ! "$builder" --check >/dev/null 2>&1; then
  "$here/progress.sh" "building $group (once per version)" "$builder"
fi

if [ "$group" = prometheus ]; then "$here/progress.sh" 'preparing promtool' "$here/../test/rigs/prometheus/fetch.sh"; fi
if [ "$group" = grafana ]; then "$here/progress.sh" 'preparing the schema of dashboards' "$here/../test/rigs/grafana/fetch.sh"; fi
if [ "$group" = vm ]; then
  for kind in "${guests[@]}"; do
    "$here/progress.sh" "preparing the image of guest $kind (built once)" "$here/../test/rigs/vm/image.sh" "$kind"
  done
fi
