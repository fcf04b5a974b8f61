/**
 * The state of a new cloud: schemas, keys, accounts, catalog, a flavor and an image. It takes one or two minutes to create,
 * so it is cached, and every later cloud starts from a copy.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { environment } from '../../../src/runtime/env.ts'
import { eventually } from '../../support/eventually.ts'
import { run } from '../process.ts'
import { type Directories, passwords, region, urlOf } from './addresses.ts'
import { type Api, administrator, apiAs } from './api.ts'
import { cell0 } from './configuration.ts'
import type { PreparedCloud } from './directories.ts'
import { cleanEnvironment } from './processes.ts'
import { type Programs, versions } from './programs.ts'

/** The project of the tests. */
export const project = 'multinic'
export const imageName = 'tiny'
export const flavorId = '1'

export async function stateIsCached(): Promise<boolean> {
  return existsSync(await cachedState())
}

/** Copies the state from the cache, or creates it. No process runs afterwards. */
export async function ensureState(cloud: PreparedCloud): Promise<void> {
  const cached = await cachedState()
  const { state } = cloud.directories
  if (existsSync(cached)) return cp(cached, state, { recursive: true })
  await createState(cloud)
  const cache = dirname(cached)
  await mkdir(cache, { recursive: true })
  const copy = `${cached}.${process.pid}.new`
  await cp(state, copy, { recursive: true })
  // Another run may have saved its state first, which is equally good.
  await rename(copy, cached).catch(() => rm(copy, { recursive: true, force: true }))
  const old = (await readdir(cache)).filter(name => /^state-[0-9a-f]+$/.test(name) && join(cache, name) !== cached)
  for (const name of old) await rm(join(cache, name), { recursive: true, force: true })
}

async function cachedState(): Promise<string> {
  const cache = environment()['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  return join(cache, 'multinic', 'openstack', await stateName())
}

/** Depends on the package versions and on the code that creates the state. */
async function stateName(): Promise<string> {
  const hash = createHash('sha256').update(await versions())
  for (const file of ['seed.ts', 'addresses.ts']) hash.update(await readFile(join(import.meta.dirname, file)))
  return `state-${hash.digest('hex').slice(0, 16)}`
}

async function createState({ directories, programs, processes }: PreparedCloud): Promise<void> {
  await mkdir(join(directories.state, 'images'), { recursive: true })
  const data = `--datadir=${join(directories.state, 'mysql')}`
  const install = ['--no-defaults', '--user=root', data, '--auth-root-authentication-method=normal', '--skip-test-db']
  await manage(programs.mariadbInstall, install)
  await Promise.all([processes.mariadb(), processes.broker()])
  await Promise.all([
    setUpKeystone(programs, directories),
    setUpNova(programs, directories),
    setUpOthers(programs, directories),
  ])
  await processes.keystone()
  const api = apiAs(administrator)
  await createAccounts(api)
  await processes.services()
  await waitForNova(api, new Date(0))
  await manage(programs.novaManage, ['--config-file', join(directories.etc, 'nova.conf'), 'cell_v2', 'discover_hosts'])
  await createFlavorAndImage(api)
  await processes.stop()
}

async function manage(command: string, args: readonly string[]): Promise<void> {
  await run(command, args, { env: cleanEnvironment() })
}

async function setUpKeystone({ keystoneManage }: Programs, { etc }: Directories): Promise<void> {
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
    ...['admin', 'public', 'internal'].flatMap(interfaceName => [`--bootstrap-${interfaceName}-url`, url]),
  )
}

async function setUpNova({ novaManage }: Programs, { etc }: Directories): Promise<void> {
  const nova = (...args: string[]) => manage(novaManage, ['--config-file', join(etc, 'nova.conf'), ...args])
  await nova('api_db', 'sync')
  await nova('db', 'sync', '--local_cell')
  await nova('--config-file', join(etc, 'nova-cell0.conf'), 'db', 'sync', '--local_cell')
  await nova('cell_v2', 'map_cell0', '--database_connection', cell0)
  await nova('cell_v2', 'create_cell', '--name', 'cell1')
}

async function setUpOthers(programs: Programs, { etc }: Directories): Promise<void> {
  await manage(programs.neutronDbManage, ['--config-file', join(etc, 'neutron.conf'), 'upgrade', 'heads'])
  await manage(programs.placementManage, ['--config-file', join(etc, 'placement/placement.conf'), 'db', 'sync'])
  await manage(programs.glanceManage, ['--config-file', join(etc, 'glance.conf'), 'db_sync'])
}

async function createAccounts(api: Api): Promise<void> {
  const create = async (kind: string, body: object): Promise<string> =>
    (await api.call('keystone', 'POST', `/v3/${kind}s`, { [kind]: body }))[kind].id
  const grant = (projectId: string, userId: string, roleId: string) =>
    api.call('keystone', 'PUT', `/v3/projects/${projectId}/users/${userId}/roles/${roleId}`)
  const { roles } = await api.call('keystone', 'GET', '/v3/roles?name=admin')
  const admin: string = roles[0].id
  const service = await create('role', { name: 'service' })
  const serviceProject = await create('project', { name: 'service', domain_id: 'default' })
  const services = [
    ['neutron', 'network', urlOf('neutron')],
    ['nova', 'compute', `${urlOf('nova')}/v2.1`],
    ['placement', 'placement', urlOf('placement')],
    ['glance', 'image', urlOf('glance')],
  ] as const
  for (const [name, type, url] of services) {
    const user = await create('user', { name, domain_id: 'default', password: passwords.service })
    for (const role of [admin, service]) await grant(serviceProject, user, role)
    const id = await create('service', { name, type })
    for (const interfaceName of ['public', 'internal', 'admin'])
      await create('endpoint', { service_id: id, interface: interfaceName, region_id: region, url })
  }
  const { users } = await api.call('keystone', 'GET', '/v3/users?name=admin')
  await grant(await create('project', { name: project, domain_id: 'default' }), users[0].id, admin)
}

interface Service {
  binary: string
  state: string
  updated_at: string | null
}

/** A request before one of these listens is lost, and the server fails to boot a minute later. */
const requiredServices = ['nova-compute', 'nova-conductor', 'nova-scheduler']

/** Waits until the services reported after that time: the saved state contains reports of an earlier run. */
export async function waitForNova(api: Api, since: Date): Promise<void> {
  await eventually(
    async () => {
      const { services } = await api.call('nova', 'GET', '/v2.1/os-services')
      const up = (services as Service[]).filter(
        ({ state, updated_at }) => state === 'up' && Date.parse(`${updated_at}Z`) >= since.getTime() - 1_000,
      )
      const missing = requiredServices.filter(binary => !up.some(service => service.binary === binary))
      if (missing.length > 0) throw new Error(`${missing.join(', ')} not up: ${JSON.stringify(services)}`)
      const { resource_providers } = await api.call('placement', 'GET', '/resource_providers')
      if (resource_providers.length === 0) throw new Error('placement does not know the compute host')
    },
    { within: 240_000, every: 300 },
  )
}

async function createFlavorAndImage(api: Api): Promise<void> {
  const flavor = { name: 'tiny', id: flavorId, vcpus: 1, ram: 64, disk: 0 }
  await api.call('nova', 'POST', '/v2.1/flavors', { flavor })
  const image = { name: imageName, disk_format: 'raw', container_format: 'bare', visibility: 'public' }
  const { id } = await api.call('glance', 'POST', '/v2/images', image)
  await api.call('glance', 'PUT', `/v2/images/${id}/file`, Buffer.alloc(512))
}
