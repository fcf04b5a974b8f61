# Debian 13 with Netplan and systemd-networkd, and with SELinux in enforcing mode. The policy is Debian's, not that of RHEL.
release=trixie
packages+=(selinux-policy-default policycoreutils selinux-utils)
# Denials go to the kernel log, and none is left out.
parameters='security=selinux selinux=1 audit=1 sysctl.kernel.printk_ratelimit=0 log_buf_len=4M'
# The module for the nodes of a cluster, which is part of the image.
module=$here/../../../deployments/selinux/multinic.cil
kind+=-$(sha256sum "$module" | cut -c 1-8)
customize() {
  printf 'SELINUX=enforcing\nSELINUXTYPE=default\n' >"$1/etc/selinux/config"
  # The command channel is no part of the test.
  printf '[Service]\nSELinuxContext=system_u:system_r:initrc_t:s0\n' >"$1/etc/systemd/system/qemu-guest-agent.service.d/selinux.conf"
  # Debian's domain of container engines may not mount directories of the host. So runc keeps the domain of the command
  # channel, and this domain may start the agent in its own.
  cat >"$1/etc/selinux/guest.cil" <<'CIL'
(allow initrc_t spc_t (process (transition siginh rlimitinh noatsecure)))
(allow initrc_t spc_t (process2 (nnp_transition nosuid_transition)))
CIL
  cp "$module" "$1/etc/selinux/"
  chroot "$1" semodule --noreload --install /etc/selinux/guest.cil --install /etc/selinux/multinic.cil
  # The kernel of this machine stores labels without knowing them, and mke2fs copies them.
  chroot "$1" setfiles -F /etc/selinux/default/contexts/files/file_contexts /
  chcon system_u:object_r:bin_t:s0 "$1/usr/sbin/runc"
}
