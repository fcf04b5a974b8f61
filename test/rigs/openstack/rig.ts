/**
 * A real cloud for tests: Keystone, Neutron, Nova (with Placement, Glance and a compute host whose servers are imaginary),
 * RabbitMQ and MariaDB, from the packages of the system.
 *
 * Only in a world of its own (scripts/e2e.ts makes one a test file): all of it is on the loopback address, on the usual ports.
 */
import { type Actions, actionsOn } from './actions.ts'
import { host, passwords, ports, rabbitLogin, region, urlOf } from './addresses.ts'
import { type Api, administrator, apiAs } from './api.ts'
import type { Choices } from './configuration.ts'
import { layGround, usual } from './directories.ts'
import { ensureState, novaIsUp, project } from './seed.ts'

export interface OpenStackOptions extends Partial<Choices> {
  /** Outside of a world: its files are below this directory, its ports are those of the machine's loopback address. */
  dir?: string
}

export interface OpenStack extends Actions {
  keystoneUrl: string
  neutronUrl: string
  novaUrl: string
  region: string
  rabbit: { host: string; port: number; user: string; password: string; url: string }
  /** Of the whole cloud, and in the project of the tests. */
  admin: { user: string; password: string; domain: string }
  projectId: string
  adminProjectId: string
  /** As the administrator, in the project of the tests. */
  api: Api
  /** From now on new tokens live so long. Keystone is away for some seconds. */
  setTokenLifetime(seconds: number): Promise<void>
  close(): Promise<void>
}

export async function startOpenStack(options: OpenStackOptions = {}): Promise<OpenStack> {
  const { dir, ...chosen } = options
  const choices = { ...usual, ...chosen }
  const ground = await layGround(choices, dir)
  const { places, parts } = ground
  try {
    await ensureState(ground)
    const startedAt = new Date()
    await Promise.all([parts.broker(), parts.mariadb().then(parts.keystone)])
    await parts.services()
    const api = apiAs({ ...administrator, project: { name: project } })
    await novaIsUp(api, startedAt)
    const projects = await api.call('keystone', 'GET', '/v3/projects')
    const idOf = (name: string): string =>
      projects.projects.find((one: { name: string; id: string }) => one.name === name)?.id ?? ''
    const projectId = idOf(project)
    return {
      ...(await actionsOn(api, { places, projectId })),
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
        await ground.configure({ ...choices, tokenSeconds: seconds })
        await parts.stop('keystone')
        await parts.keystone()
      },
      close: ground.remove,
    }
  } catch (error) {
    await ground.remove()
    throw error
  }
}
