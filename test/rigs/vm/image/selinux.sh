# Debian 13 with Netplan and systemd-networkd, and with SELinux in enforcing mode. The policy is Debian's, not that of RHEL.
release=trixie
packages+=(selinux-policy-default policycoreutils selinux-utils)
parameters='security=selinux selinux=1 audit=1'
customize() {
  printf 'SELINUX=enforcing\nSELINUXTYPE=default\n' >"$1/etc/selinux/config"
  # The command channel is no part of the test.
  printf '[Service]\nSELinuxContext=system_u:system_r:initrc_t:s0\n' >"$1/etc/systemd/system/qemu-guest-agent.service.d/selinux.conf"
  # The kernel of this machine stores labels without knowing them, and mke2fs copies them.
  chroot "$1" setfiles -F /etc/selinux/default/contexts/files/file_contexts /
}
