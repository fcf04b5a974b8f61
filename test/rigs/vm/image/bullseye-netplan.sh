# Debian 11 with Netplan, the oldest with a kernel that the mirrors have.
release=bullseye manager=netplan
# The mirrors list security updates of this release that they do not have any more.
security=
