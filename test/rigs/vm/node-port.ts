/**
 * A Pod in a guest with a NodePort, without Kubernetes: a network namespace on a bridge and a DNAT rule, as a bridge CNI plugin
 * and kube-proxy make them. Its unit is named kubelet.service, so units that must run before Pods are ordered before it.
 */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from '../process.ts'
import type { Shell } from './machine.ts'

export const nodePort = 30_080
const script = '/usr/local/sbin/pod'

/** Worst case: the Pod does not wait for the network. nft is that of the agent's image, as the node may not have it. */
const pod = `#!/bin/sh
set -e
mountpoint -q /payload || mount -t ext4 -o ro /dev/vdb /payload
echo 1 >/proc/sys/net/ipv4/ip_forward
ip link add cni0 type bridge
ip address add 10.244.0.1/24 dev cni0
ip link set cni0 up
ip netns add pod
ip link add veth0 type veth peer name eth0 netns pod
ip link set veth0 master cni0 up
ip -n pod link set lo up
ip -n pod address add 10.244.0.5/24 dev eth0
ip -n pod link set eth0 up
ip -n pod route add default via 10.244.0.1
ip netns exec pod busybox httpd -p 8080 -h /run/systemd
$0 proxy
`
const proxy = `chroot /payload/agent /usr/sbin/nft -f - <<'NFT'
table ip proxy
delete table ip proxy
table ip proxy {
  chain nodeports {
    type nat hook prerouting priority dstnat
    tcp dport ${nodePort} dnat to 10.244.0.5:8080
  }
}
NFT
`
const unit = `[Unit]
Description=A Pod with a NodePort
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=${script}
[Install]
WantedBy=multi-user.target
`

/** Starts the Pod now and at each boot. */
export async function addPod(guest: Shell): Promise<void> {
  await guest.writeFile(script, pod.replace('set -e\n', `set -e\nif [ "$1" = proxy ]; then\n${proxy}exit\nfi\n`))
  await guest.writeFile('/etc/systemd/system/kubelet.service', unit)
  await guest.exec(`chmod 755 ${script}; systemctl daemon-reload; systemctl enable --now kubelet.service`)
}

/** What kube-proxy does when somebody has flushed its rules. */
export async function syncProxy(guest: Shell): Promise<void> {
  await guest.exec(`${script} proxy`)
}

/** A new connection; resolves to whether the Pod answered. */
export function answers(from: string, to: string, within = 2_000): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host: to, port: nodePort, localAddress: from })
    const end = (answered: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answered)
    }
    const timer = setTimeout(end, within, false)
    socket.on('error', () => end(false))
    socket.on('connect', () => socket.write('GET / HTTP/1.0\r\n\r\n'))
    socket.on('data', () => end(true))
  })
}

export async function pings(from: string, to: string): Promise<boolean> {
  return (await run('ping', ['-c', '1', '-W', '2', '-I', from, to], { check: false })).code === 0
}

export interface Probe {
  /** Milliseconds of performance.now(); undefined while it has not been answered. */
  readonly firstAnswer: number | undefined
  stop(): void
}

/** Tries every 100 ms, without waiting for earlier tries, until the first answer. */
export function startProbe(attempt: () => Promise<boolean>): Probe {
  let firstAnswer: number | undefined
  let stopped = false
  const loop = async () => {
    while (!stopped && firstAnswer === undefined) {
      void attempt().then(answered => {
        if (answered) firstAnswer ??= performance.now()
      })
      await sleep(100) // the resolution of the measurement
    }
  }
  void loop()
  return {
    get firstAnswer() {
      return firstAnswer
    },
    stop: () => {
      stopped = true
    },
  }
}
