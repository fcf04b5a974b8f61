/**
 * A cloud that has never run before: schemas, keys, accounts, catalog, a flavor and an image. It takes a minute or two, so its
 * state is kept in the cache, and every later cloud starts from a copy.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { environment } from '../../../src/runtime/env.ts'
import { eventually } from '../../support/eventually.ts'
import { run } from '../process.ts'
import { type Places, passwords, region, urlOf } from './addresses.ts'
import { type Api, administrator, apiAs } from './api.ts'
import { cell0 } from './configuration.ts'
import type { Ground } from './directories.ts'
import { cleanEnvironment } from './parts.ts'
import { type Programs, versions } from './programs.ts'

/** Of the accounts that a test works with. */
export const project = 'multinic'
export const imageName = 'tiny'
export const flavorId = '1'

export async function stateIsKept(): Promise<boolean> {
  return existsSync(await keptState())
}

/** Puts a state into place, from the cache or made anew; no part runs afterwards. */
export async function ensureState(ground: Ground): Promise<void> {
  const kept = await keptState()
  const { state } = ground.places
  if (existsSync(kept)) return cp(kept, state, { recursive: true })
  await makeState(ground)
  const cache = dirname(kept)
  await mkdir(cache, { recursive: true })
  const copy = `${kept}.${process.pid}.new`
  await cp(state, copy, { recursive: true })
  // Another run may have been quicker: its state is as good.
  await rename(copy, kept).catch(() => rm(copy, { recursive: true, force: true }))
  const old = (await readdir(cache)).filter(name => /^state-[0-9a-f]+$/.test(name) && join(cache, name) !== kept)
  for (const name of old) await rm(join(cache, name), { recursive: true, force: true })
}

async function keptState(): Promise<string> {
  const cache = environment()['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  return join(cache, 'multinic', 'openstack', await stateName())
}

/** Other versions, or another way to make it, give another state. */
async function stateName(): Promise<string> {
  const hash = createHash('sha256').update(await versions())
  for (const file of ['seed.ts', 'addresses.ts']) hash.update(await readFile(join(import.meta.dirname, file)))
  return `state-${hash.digest('hex').slice(0, 16)}`
}

async function makeState({ places, programs, parts }: Ground): Promise<void> {
  await mkdir(join(places.state, 'images'), { recursive: true })
  const data = `--datadir=${join(places.state, 'mysql')}`
  const install = ['--no-defaults', '--user=root', data, '--auth-root-authentication-method=normal', '--skip-test-db']
  await manage(programs.mariadbInstall, install)
  await Promise.all([parts.mariadb(), parts.broker()])
  await Promise.all([makeKeystone(programs, places), makeNova(programs, places), makeOthers(programs, places)])
  await parts.keystone()
  const api = apiAs(administrator)
  await makeAccounts(api)
  await parts.services()
  await novaIsUp(api, new Date(0))
  await manage(programs.novaManage, ['--config-file', join(places.etc, 'nova.conf'), 'cell_v2', 'discover_hosts'])
  await makeBootable(api)
  await parts.stop()
}

async function manage(command: string, args: readonly string[]): Promise<void> {
  await run(command, args, { env: cleanEnvironment() })
}

async function makeKeystone({ keystoneManage }: Programs, { etc }: Places): Promise<void> {
  const keystone = (...args: string[]) => manage(keystoneManage, ['--config-file', join(etc, 'keystone.conf'), ...args])
  await keystone('db_sync')
  const owner = ['--keystone-user', 'root', '--keystone-group', 'root']
  await keystone('fernet_setup', ...owner)
  await keystone('credential_setup', ...owner)
  const url = `${urlOf('keystone')}/v3`
  await keystone(
    'bootstrap',
    ...['--bootstrap-username', 'admin', '--bootstrap-password', passwords.admin, '--bootstrap-role-name', 'admin'],
    ...['--bootstrap-project-name', 'admin', '--bootstrap-service-name', 'keystone', '--bootstrap-region-id', region],
    ...['admin', 'public', 'internal'].flatMap(face => [`--bootstrap-${face}-url`, url]),
  )
}

async function makeNova({ novaManage }: Programs, { etc }: Places): Promise<void> {
  const nova = (...args: string[]) => manage(novaManage, ['--config-file', join(etc, 'nova.conf'), ...args])
  await nova('api_db', 'sync')
  await nova('db', 'sync', '--local_cell')
  await nova('--config-file', join(etc, 'nova-cell0.conf'), 'db', 'sync', '--local_cell')
  await nova('cell_v2', 'map_cell0', '--database_connection', cell0)
  await nova('cell_v2', 'create_cell', '--name', 'cell1')
}

async function makeOthers(programs: Programs, { etc }: Places): Promise<void> {
  await manage(programs.neutronDbManage, ['--config-file', join(etc, 'neutron.conf'), 'upgrade', 'heads'])
  await manage(programs.placementManage, ['--config-file', join(etc, 'placement/placement.conf'), 'db', 'sync'])
  await manage(programs.glanceManage, ['--config-file', join(etc, 'glance.conf'), 'db_sync'])
}

async function makeAccounts(api: Api): Promise<void> {
  const make = async (kind: string, body: object): Promise<string> =>
    (await api.call('keystone', 'POST', `/v3/${kind}s`, { [kind]: body }))[kind].id
  const grant = (projectId: string, userId: string, roleId: string) =>
    api.call('keystone', 'PUT', `/v3/projects/${projectId}/users/${userId}/roles/${roleId}`)
  const { roles } = await api.call('keystone', 'GET', '/v3/roles?name=admin')
  const admin: string = roles[0].id
  const service = await make('role', { name: 'service' })
  const home = await make('project', { name: 'service', domain_id: 'default' })
  const parts = [
    ['neutron', 'network', urlOf('neutron')],
    ['nova', 'compute', `${urlOf('nova')}/v2.1`],
    ['placement', 'placement', urlOf('placement')],
    ['glance', 'image', urlOf('glance')],
  ] as const
  for (const [name, type, url] of parts) {
    const user = await make('user', { name, domain_id: 'default', password: passwords.service })
    for (const role of [admin, service]) await grant(home, user, role)
    const id = await make('service', { name, type })
    for (const face of ['public', 'internal', 'admin'])
      await make('endpoint', { service_id: id, interface: face, region_id: region, url })
  }
  const { users } = await api.call('keystone', 'GET', '/v3/users?name=admin')
  await grant(await make('project', { name: project, domain_id: 'default' }), users[0].id, admin)
}

interface Service {
  binary: string
  state: string
  updated_at: string | null
}

/** Who is asked before it listens never hears of it, and the server that was to boot fails a minute later. */
const listeners = ['nova-compute', 'nova-conductor', 'nova-scheduler']

/** Up by their own word after that time: the state remembers the word of an earlier run. */
export async function novaIsUp(api: Api, since: Date): Promise<void> {
  await eventually(
    async () => {
      const { services } = await api.call('nova', 'GET', '/v2.1/os-services')
      const up = (services as Service[]).filter(
        ({ state, updated_at }) => state === 'up' && Date.parse(`${updated_at}Z`) >= since.getTime() - 1_000,
      )
      const missing = listeners.filter(binary => !up.some(service => service.binary === binary))
      if (missing.length > 0) throw new Error(`${missing.join(', ')} not up: ${JSON.stringify(services)}`)
      const { resource_providers } = await api.call('placement', 'GET', '/resource_providers')
      if (resource_providers.length === 0) throw new Error('placement does not know the host yet')
    },
    { within: 240_000, every: 300 },
  )
}

async function makeBootable(api: Api): Promise<void> {
  const flavor = { name: 'tiny', id: flavorId, vcpus: 1, ram: 64, disk: 0 }
  await api.call('nova', 'POST', '/v2.1/flavors', { flavor })
  const image = { name: imageName, disk_format: 'raw', container_format: 'bare', visibility: 'public' }
  const { id } = await api.call('glance', 'POST', '/v2/images', image)
  await api.call('glance', 'PUT', `/v2/images/${id}/file`, Buffer.alloc(512))
}
