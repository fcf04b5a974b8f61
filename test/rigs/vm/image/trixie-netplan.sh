# Debian 13 with Netplan.
release=trixie manager=netplan
