# Debian 13 with NetworkManager.
release=trixie manager=networkmanager
