/**
 * arm64: a hot-plugged NIC on a machine with a device tree and on one with UEFI, and the images of all parts.
 */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { request } from 'undici'
import { buildRoot, recipes } from '../../scripts/image.ts'
import { rootFor } from '../../scripts/images.ts'
import { type Guest, primaryAddress, startGuest } from '../rigs/vm/rig.ts'
import { eventually } from '../support/eventually.ts'
import { imageServices } from '../support/image-services.ts'
import { hotPlugCase } from './hot-plug.ts'

const architecture = 'arm64'

test('arm64 without UEFI: a hot-plugged NIC is configured, and the same after a reboot', async t => {
  // No ACPI and no SMBIOS, so no product_uuid.
  await hotPlugCase(t, { kind: 'arm64' }, async guest => assert.deepEqual(await firmwareOf(guest), ['aarch64']))
})

test('arm64 with UEFI: a hot-plugged NIC is configured, and the same after a reboot', async t => {
  await hotPlugCase(t, { kind: 'arm64', uefi: true }, async guest =>
    assert.deepEqual(await firmwareOf(guest), ['aarch64', 'acpi', 'dmi', 'efi']),
  )
})

async function firmwareOf(guest: Guest): Promise<string[]> {
  const found = await guest.exec('uname -m; for d in acpi dmi efi; do [ ! -e /sys/firmware/$d ] || echo $d; done')
  return found.trim().split('\n')
}

/** Without a kubelet: the image as a root directory, with what a container runtime mounts. No API server answers. */
test('arm64: every image starts', async t => {
  const root = '/payload/services'
  const mounts = { proc: 'proc', dev: 'devtmpfs', data: 'tmpfs', tmp: 'tmpfs', 'var/lib/multinic-operator': 'tmpfs' }
  const payload = async (disk: string) => {
    const services = join(disk, 'services')
    await buildRoot('services', services, { architecture, from: await rootFor(architecture) })
    for (const directory of Object.keys(mounts)) await mkdir(join(services, directory), { recursive: true })
  }
  const guest = await startGuest(t, { kind: 'arm64', networks: [], payload })
  const started = (await guest.agent('check', [])).report ? ['multinic-agent'] : []
  await guest.exec(
    Object.entries(mounts)
      .map(([directory, type]) => `mount -t ${type} ${type} ${root}/${directory}`)
      .join(' && '),
  )
  const user = recipes.services.user
  await guest.exec(`chown ${user} ${root}/data ${root}/var/lib/multinic-operator`)
  await guest.writeFile(`${root}/data/kubeconfig`, kubeconfig)

  for (const [name, args] of Object.entries(recipes.services.starts)) {
    const service = imageServices[name]
    const command = ['chroot', `--userspec=${user}`, root, ...recipes.services.entrypoint, ...args]
    if (service) {
      const env = {
        ...recipes.services.environment,
        KUBECONFIG: '/data/kubeconfig',
        POD_NAMESPACE: 'multinic-system',
        ...service.env,
      }
      const variables = Object.entries(env).map(([key, value]) => `--setenv=${key}=${value}`)
      await guest.exec(['systemd-run', `--unit=${name}`, ...variables, ...command].join(' '))
      const { statusCode } = await eventually(() => request(`http://${primaryAddress}:${service.port}/healthz`), {
        within: 15 * 60_000,
        every: 500,
      })
      // Only the controller is unhealthy while it cannot watch.
      assert.equal(statusCode, name === 'multinic-controller' ? 503 : 200, name)
      await guest.exec(`systemctl stop ${name}`)
    } else assert.match(await guest.exec([...command, '--help'].join(' ')), /Usage: multinic/)
    started.push(name)
  }
  assert.deepEqual(
    started.sort(),
    Object.values(recipes)
      .flatMap(({ starts }) => Object.keys(starts))
      .sort(),
  )
})

const kubeconfig = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'none', cluster: { server: 'http://127.0.0.1:9' } }],
  users: [{ name: 'none', user: {} }],
  contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
  'current-context': 'none',
})
