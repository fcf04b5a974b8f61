# Debian 14 with Netplan, not yet released.
release=forky manager=netplan
