# Debian 12 with Netplan and systemd-networkd.
manager=netplan
