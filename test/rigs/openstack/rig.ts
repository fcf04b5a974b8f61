/**
 * A real cloud for tests: Keystone, Neutron, Nova (with Placement, Glance and a compute host with the fake driver), RabbitMQ
 * and MariaDB, from the packages of the system.
 *
 * Requires isolation (isolation.ts), because it listens on the loopback address and the standard ports.
 */
import { type Actions, actionsOn } from './actions.ts'
import { host, passwords, ports, rabbitLogin, region, urlOf } from './addresses.ts'
import { type Api, administrator, apiAs } from './api.ts'
import type { CloudSettings } from './configuration.ts'
import { defaultSettings, prepareCloud } from './directories.ts'
import { waitForBridgeAgent } from './hypervisor.ts'
import { ensureState, project, waitForNova } from './seed.ts'

export interface OpenStackOptions extends Partial<CloudSettings> {
  /** Without isolation: its files are in this directory, and it uses the loopback address of the machine. */
  dir?: string
}

export interface OpenStack extends Actions {
  keystoneUrl: string
  neutronUrl: string
  novaUrl: string
  region: string
  rabbit: { host: string; port: number; user: string; password: string; url: string }
  /** Administrator of the cloud and of the project of the tests. */
  admin: { user: string; password: string; domain: string }
  projectId: string
  adminProjectId: string
  /** As the administrator, in the project of the tests. */
  api: Api
  /** Sets the lifetime of new tokens. Keystone restarts, which takes some seconds. */
  setTokenLifetime(seconds: number): Promise<void>
  close(): Promise<void>
}

export async function startOpenStack(options: OpenStackOptions = {}): Promise<OpenStack> {
  const { dir, ...overrides } = options
  const settings = { ...defaultSettings, ...overrides }
  const cloud = await prepareCloud(settings, dir)
  const { directories, processes } = cloud
  try {
    await ensureState(cloud)
    const startedAt = new Date()
    await Promise.all([processes.broker(), processes.mariadb().then(processes.keystone)])
    await processes.services()
    const api = apiAs({ ...administrator, project: { name: project } })
    await waitForNova(api, startedAt)
    if (settings.hypervisor) await waitForBridgeAgent(api)
    const projects = await api.call('keystone', 'GET', '/v3/projects')
    const idOf = (name: string): string =>
      projects.projects.find((candidate: { name: string; id: string }) => candidate.name === name)?.id ?? ''
    const projectId = idOf(project)
    return {
      ...(await actionsOn(api, { directories, projectId })),
      keystoneUrl: urlOf('keystone'),
      neutronUrl: urlOf('neutron'),
      novaUrl: urlOf('nova'),
      region,
      rabbit: {
        host,
        port: ports.rabbit,
        ...rabbitLogin,
        url: `amqp://${rabbitLogin.user}:${rabbitLogin.password}@${host}:${ports.rabbit}/`,
      },
      admin: { user: 'admin', password: passwords.admin, domain: 'Default' },
      projectId,
      adminProjectId: idOf('admin'),
      api,
      async setTokenLifetime(seconds) {
        await cloud.configure({ ...settings, tokenSeconds: seconds })
        await processes.stop('keystone')
        await processes.keystone()
      },
      close: cloud.remove,
    }
  } catch (error) {
    await cloud.remove()
    throw error
  }
}
