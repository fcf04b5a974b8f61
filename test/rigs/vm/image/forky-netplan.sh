# Debian 14 with Netplan, not yet released.
release=forky manager=netplan
# A mirror that is not updated any more is good enough.
options=(--aptopt='Acquire::Check-Valid-Until "false"')
