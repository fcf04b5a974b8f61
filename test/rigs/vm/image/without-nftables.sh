# Debian 12 with Netplan, without nft.
nftables=
