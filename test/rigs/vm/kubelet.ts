/**
 * A real kubelet in a guest of the kind `kubelet`, as on a node of production: containerd, runc, systemd, cgroup version 2. The
 * API server runs on the host.
 */
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import { binary } from '../kubernetes/binaries.ts'
import { type ControlPlane, kubeconfigText } from '../kubernetes/control-plane.ts'
import { writePauseImage } from '../kubernetes/images.ts'
import { kubeletConfig } from '../kubernetes/node-config.ts'
import { run } from '../process.ts'
import type { Machine } from './machine.ts'

export interface KubeletOptions {
  name: string
  address: string
  /** OCI archives. */
  images: readonly string[]
}

/** Writes what kubelet.service (image/kubelet.sh) reads to the root directory of the payload. */
export async function addKubelet(
  root: string,
  cp: ControlPlane,
  { name, address, images }: KubeletOptions,
): Promise<void> {
  const serving = await cp.authority.issue(`guest-${name}`, `/O=system:nodes/CN=system:node:${name}`, {
    subjectAltName: `IP:${address},DNS:${name}`,
    extendedKeyUsage: 'clientAuth,serverAuth',
  })
  const copies = { 'node.crt': serving.cert, 'node.key': serving.key, 'ca.crt': cp.authority.cert }
  for (const [file, source] of Object.entries({ ...copies, kubelet: binary('kubelet') }))
    await copyFile(source, join(root, file))
  for (const [at, image] of images.entries()) await copyFile(image, join(root, `image-${at}.tar`))
  await writePauseImage(join(root, 'image-pause.tar'))
  const inGuest = { cert: '/payload/node.crt', key: '/payload/node.key' }
  const clientCa = '/payload/ca.crt'
  // The default, failCgroupV1, refuses another version than 2.
  const config = { ...kubeletConfig({ address, serving: inGuest, clientCa }), cgroupDriver: 'systemd' }
  await writeFile(join(root, 'kubelet.json'), JSON.stringify(config))
  const user = { 'client-certificate': inGuest.cert, 'client-key': inGuest.key }
  await writeFile(join(root, 'kubeconfig'), kubeconfigText(cp.server, clientCa, user))
}

/** Imports the images and starts the kubelet. Resolves when its Node is Ready. */
export async function startKubelet(machine: Machine, cp: ControlPlane, name: string): Promise<void> {
  // There is no kube-proxy: redirect the service address of the API server to the real one.
  const rule = `type nat hook prerouting priority -100; ip daddr 10.0.0.1 tcp dport 443 dnat to ${new URL(cp.server).host}`
  await run('nft', ['-f', '-'], { input: `table ip kubernetes {\nchain prerouting {\n${rule}\n}\n}\n` })
  await machine.exec(`set -e
    mount -o ro /dev/vdb /payload
    until ctr version >/dev/null 2>&1; do sleep 1; done
    for image in /payload/image-*.tar; do ctr --namespace k8s.io images import "$image"; done
    systemctl start kubelet`)
  await eventually(
    async () => {
      const { status } = (await cp.get(`/api/v1/nodes/${name}`)) as {
        status?: { conditions?: { type: string; status: string; message?: string }[] }
      }
      const ready = status?.conditions?.find(condition => condition.type === 'Ready')
      if (ready?.status !== 'True') throw new Error(`${name} is not Ready: ${ready?.message}`)
    },
    { within: 15 * 60_000, every: 1_000 },
  )
}
