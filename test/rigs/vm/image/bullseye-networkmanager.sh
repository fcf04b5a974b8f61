# Debian 11 with NetworkManager, the oldest with a kernel that the mirrors have.
release=bullseye manager=networkmanager
