# Debian 11 with Netplan, the oldest with a kernel that the mirrors have.
release=bullseye manager=netplan
