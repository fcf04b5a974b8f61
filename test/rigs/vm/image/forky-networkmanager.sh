# Debian 14 with NetworkManager, not yet released.
release=forky manager=networkmanager
