/**
 * What a sync of one object cannot do without: one call for each kind of object, and the POSTs. `bareLoop` runs it in a new
 * process, whose code is as cold as that of an operator that just started.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { request } from 'undici'
import { portsEach, vmIdOf } from './benchmark-stubs.ts'

export interface Loop {
  ms: number
  /** Time of the list of ports. */
  listingMs: number
}

export const bareCalls = 6

export async function bareLoop(cloud: string, viola: string, vms: number): Promise<Loop> {
  const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, cloud, viola, String(vms)])
  return JSON.parse(stdout) as Loop
}

async function run(cloud: string, viola: string, vms: number): Promise<Loop> {
  const get = async (path: string) => JSON.parse(await (await request(`${cloud}${path}`)).body.text())
  const started = performance.now()
  await get('/v1/contrabass/admin/infra/provider/p')
  await (await request(`${cloud}/v3/auth/tokens`, { method: 'POST', body: '{}' })).body.text()
  await Promise.all([get('/v2.0/subnets'), get('/v2.0/networks'), get('/v2.1/servers/detail')])
  const listed = performance.now()
  const { ports } = await get('/v2.0/ports')
  const listingMs = performance.now() - listed
  const nodes = Array.from({ length: vms }, (_, n) => ({
    nodeName: `worker-${n}`,
    instanceId: vmIdOf(n),
    interfaces: ports.slice(n * portsEach, (n + 1) * portsEach).map((port: { mac_address: string }, id: number) => ({
      id,
      name: `multinic${id}`,
      macAddress: port.mac_address,
    })),
  }))
  for (let at = 0; at < vms; at += 200)
    await (await request(`${viola}/x`, { method: 'POST', body: JSON.stringify(nodes.slice(at, at + 200)) })).body.text()
  return { ms: performance.now() - started, listingMs }
}

const [, program, cloud = '', viola = '', vms] = process.argv
if (program === import.meta.filename) console.log(JSON.stringify(await run(cloud, viola, Number(vms))))
