# Debian 12 for arm64 with Netplan and systemd-networkd.
arch=arm64
