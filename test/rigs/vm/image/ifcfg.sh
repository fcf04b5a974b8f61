# Debian 12 with a NetworkManager that reads ifcfg files, as on RHEL 8. Debian builds it without this plugin: it is built here
# from Debian's source package, once per content of this file (two minutes of CPU time), without the parts that no guest needs.
manager=networkmanager
customize() {
  local built scripts=$1/etc/sysconfig/network-scripts
  built=$cache/networkmanager-$(sha256sum "$definition" | cut -c 1-16)
  [ -d "$built" ] || build_networkmanager "$built"
  cp "$built/NetworkManager" "$1/usr/sbin/"
  cp "$built/libnm-settings-plugin-ifcfg-rh.so" "$1"/usr/lib/*/NetworkManager/*/
  cp "$built/nm-ifcfg-rh.conf" "$1/usr/share/dbus-1/system.d/"
  printf '[main]\nplugins=ifcfg-rh\nno-auto-default=*\n' >"$1/etc/NetworkManager/conf.d/server.conf"
  rm "$1/etc/NetworkManager/system-connections/primary.nmconnection"
  mkdir -p "$scripts"
  printf '%s\n' NAME=primary TYPE=Ethernet HWADDR=FA:16:3E:00:00:01 BOOTPROTO=dhcp ONBOOT=yes IPV6INIT=yes IPV6_AUTOCONF=no \
    >"$scripts/ifcfg-primary"
  manager=ifcfg
}

build_networkmanager() {
  local root=$work/networkmanager needs=build-essential,meson,gettext,xsltproc
  needs+=,libglib2.0-dev,libdbus-1-dev,libndp-dev,libudev-dev,libsystemd-dev,uuid-dev,libjansson-dev
  cat >"$work/build.sh" <<'SH'
set -e
mkdir /build
cd /build
apt-get --quiet source network-manager
cd network-manager-*/
off=$(printf -- ' -D%s=false' session_tracking_consolekit polkit selinux wext wifi ppp modem_manager concheck ovs nmcli nmtui \
  introspection libpsl qt firewalld_zone ifupdown ebpf vapi more_logging)
meson setup /build/out --prefix=/usr --libdir="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" --sysconfdir=/etc \
  --localstatedir=/var --libexecdir=lib/NetworkManager -Doptimization=0 -Ddebug=false $off -Difcfg_rh=true -Dlibaudit=no \
  -Dsystemdsystemunitdir=no -Dudev_dir=no -Dtests=no -Dcrypto=null -Dreadline=none -Dsession_tracking=no -Dsuspend_resume=systemd
plugin=src/core/settings/plugins/ifcfg-rh
ninja -C /build/out src/core/NetworkManager $plugin/libnm-settings-plugin-ifcfg-rh.so
mkdir /built
cp /build/out/src/core/NetworkManager /build/out/$plugin/*.so $plugin/nm-ifcfg-rh.conf /built/
SH
  mmdebstrap --quiet --variant=buildd --include="$needs" --dpkgopt=force-unsafe-io --aptopt='Acquire::Languages "none"' \
    --customize-hook="copy-in $work/build.sh /" --customize-hook='chroot "$1" sh /build.sh' \
    "$release" "$root" "${sources[@]}" "${sources[@]/#deb /deb-src }" 9>&- >&2
  mv "$root/built" "$1"
  rm -rf "$root" "$work/build.sh"
}
