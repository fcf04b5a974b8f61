#!/usr/bin/env bash
# Makes sure that a Debian or Ubuntu machine has what the tests need. Installs only what is missing, by name; starts no service.
#
#   provision.sh base         for `make test`: the tools of the tests that need root, and an old kubectl
#   provision.sh daemons      for `make e2e`: base, and what applies network files at boot on people's nodes
#   provision.sh kubernetes   for `make e2e`: base, and the real parts of a cluster (some from apt, some built by Go)
#   provision.sh openstack    for `make e2e`: base, and the real parts of a cloud
#   provision.sh rabbitmq     for `make e2e`: base, and a message broker
#   provision.sh postgres     for `make e2e`: base, and a database server
#   provision.sh helm         for `make e2e`: base, and helm (built by Go)
#   provision.sh prometheus   for `make e2e`: base, and promtool (out of a package; no server)
#   provision.sh images       for `make e2e`: base, and what builds Dockerfiles without an engine
#   provision.sh browser      for `make e2e`: base, and a browser for the dashboard, with letters for Korean
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
group=${1:?base, daemons, kubernetes, openstack, rabbitmq, postgres, helm, prometheus, images or browser}

# command:package, as Debian and Ubuntu name them.
base=(ip:iproute2 ping:iputils-ping nft:nftables nsenter:util-linux openssl:openssl ps:procps script:bsdutils)
daemons=(netplan:netplan.io NetworkManager:network-manager dbus-daemon:dbus :systemd :udev)
kubernetes=(etcd:etcd-server containerd:containerd runc:runc busybox:busybox-static)
# Without the packages that are services: these hold all the code, and ask no questions.
openstack=(:python3-keystone :neutron-common :nova-common :python3-placement :glance-common :python3-pymysql
  :rabbitmq-server :mariadb-server uwsgi-core:uwsgi-core :uwsgi-plugin-python3)
rabbitmq=(:rabbitmq-server)
postgres=(postgres:postgresql)
images=(buildah:buildah)
browser=(chromium:chromium :fonts-noto-cjk)

case $group in
  base) tools=("${base[@]}") ;;
  daemons) tools=("${base[@]}" "${daemons[@]}") ;;
  kubernetes) tools=("${base[@]}" "${kubernetes[@]}") ;;
  openstack) tools=("${base[@]}" "${openstack[@]}") ;;
  rabbitmq) tools=("${base[@]}" "${rabbitmq[@]}") ;;
  postgres) tools=("${base[@]}" "${postgres[@]}") ;;
  helm | prometheus) tools=("${base[@]}") ;;
  images) tools=("${base[@]}" "${images[@]}") ;;
  browser) tools=("${base[@]}" "${browser[@]}") ;;
  *) echo "provision.sh: no group '$group' (base, daemons, kubernetes, openstack, rabbitmq, postgres, helm, prometheus, images, browser)" >&2; exit 2 ;;
esac

# Directories such as /usr/sbin are not in everybody's PATH.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# By its command; a package without one of its own by its name.
have() {
  case $1 in
    '') dpkg-query --show --showformat '${db:Status-Abbrev}' "$2" 2>/dev/null | grep -q '^ii' ;;
    etcd) [ -x "${KUBEBUILDER_ASSETS:-/nonexistent}/etcd" ] || command -v etcd >/dev/null ;;
    # Debian keeps it out of the PATH: several versions may be side by side.
    postgres) compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null ;;
    # It becomes an image with nothing beside it, so the one that is linked to libc is of no use.
    busybox) command -v busybox >/dev/null && ! ldd "$(command -v busybox)" 2>/dev/null | grep -q '=>' ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

updated=
update_once() {
  if [ -z "$updated" ] && [ "$(id -u)" = 0 ]; then apt-get update --quiet </dev/null >&2; fi
  updated=1
}

offers_go() {
  apt-cache policy golang-go 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9]*:\)\{0,1\}\([0-9]\)/\2/p'
}

packages=()
for tool in "${tools[@]}"; do have "${tool%%:*}" "${tool#*:}" || packages+=("${tool#*:}"); done
builder=
case $group in kubernetes | helm) builder=$here/../test/rigs/$group/build.sh ;; esac
if [ -n "$builder" ] && ! command -v go >/dev/null && ! "$builder" --check >/dev/null 2>&1; then
  [ -n "$(offers_go)" ] || update_once
  # From 1.21 on Go fetches the toolchain that a module asks for; an older one cannot, and build.sh says what to do.
  if dpkg --compare-versions "0$(offers_go)" ge 01.21; then packages+=(golang-go); fi
fi

if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "missing on this machine: ${packages[*]}. As root: apt-get install ${packages[*]}" >&2
    exit 1
  fi
  echo "installing ${packages[*]}" >&2
  # Asked by the packages before they start a service; a machine that has an answer already keeps its own.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  install_all() {
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends \
      --option DPkg::Lock::Timeout=300 "${packages[@]}" </dev/null >&2
  }
  # The lists may be absent (a new image) or older than the archive.
  install_all || { update_once && install_all; }
  for package in "${packages[@]}"; do
    case $package in
      network-manager) systemctl --quiet disable NetworkManager.service 2>/dev/null || true ;;
      etcd-server) systemctl --quiet disable etcd.service 2>/dev/null || true ;;
      containerd) systemctl --quiet disable containerd.service 2>/dev/null || true ;;
      rabbitmq-server) systemctl --quiet disable rabbitmq-server.service 2>/dev/null || true ;;
      mariadb-server) systemctl --quiet disable mariadb.service 2>/dev/null || true ;;
      postgresql) systemctl --quiet disable postgresql.service 2>/dev/null || true ;;
    esac
  done
fi

if [ -n "$builder" ]; then "$builder" >/dev/null; fi

# Debian's kubectl is years old, and people have it: the sandbox's API is tried with it. It is kept outside the tree, beside
# whatever kubectl the machine has. Where the package is not to be had (Ubuntu), the tests take the machine's own.
old_kubectl=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/kubectl-debian
if [ "$group" = base ] && [ ! -x "$old_kubectl/kubectl" ] && command -v apt-get >/dev/null; then
  work=$(mktemp -d)
  chmod 755 "$work"
  fetch() { (cd "$work" && apt-get download --quiet kubernetes-client) </dev/null >&2; }
  if { fetch || { update_once && fetch; }; } && dpkg-deb --extract "$work"/kubernetes-client_*.deb "$work"; then
    mkdir -p "$old_kubectl"
    mv "$work/usr/bin/kubectl" "$old_kubectl/kubectl"
  else
    echo "the package kubernetes-client is not to be had here: an old kubectl is not tried" >&2
  fi
  rm -rf "$work"
fi
if [ "$group" = prometheus ]; then "$here/../test/rigs/prometheus/fetch.sh" >/dev/null; fi
