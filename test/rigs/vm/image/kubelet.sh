# Debian 12 with Netplan, containerd and cgroup version 2. The kubelet and its files come from the payload (kubelet.ts).
packages+=(containerd)
customize() {
  mkdir -p "$1/etc/cni/net.d" "$1/etc/containerd"
  echo '{"cniVersion":"0.4.0","name":"lo","plugins":[{"type":"loopback"}]}' >"$1/etc/cni/net.d/99-lo.conflist"
  cat >"$1/etc/containerd/config.toml" <<'TOML'
version = 2
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "rig.local/pause:1"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
TOML
  cat >"$1/etc/systemd/system/kubelet.service" <<'UNIT'
[Service]
ExecStart=/payload/kubelet --config=/payload/kubelet.json --kubeconfig=/payload/kubeconfig --hostname-override=node-1 --node-ip=10.0.2.15
Restart=always
RestartSec=5
UNIT
}
