# Debian 12 with NetworkManager.
manager=networkmanager
