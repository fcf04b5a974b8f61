# Debian 14 with NetworkManager, not yet released.
release=forky manager=networkmanager
# A mirror that is not updated any more is good enough.
options=(--aptopt='Acquire::Check-Valid-Until "false"')
