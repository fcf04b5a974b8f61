/**
 * The programs and files of OpenStack on this machine, at the paths of Debian's packages.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { run } from '../process.ts'

/** Not the Python of the PATH: the packages belong to the system's Python. */
export const python = '/usr/bin/python3'

/** Paths, each with its package. */
const needed = {
  python: [python, 'python3'],
  keystoneManage: ['/usr/bin/keystone-manage', 'python3-keystone'],
  keystoneWsgi: ['/usr/bin/keystone-wsgi-public', 'python3-keystone'],
  neutronServer: ['/usr/bin/neutron-server', 'python3-neutron'],
  neutronDbManage: ['/usr/bin/neutron-db-manage', 'python3-neutron'],
  neutronPaste: ['/usr/share/neutron-common/api-paste.ini', 'neutron-common'],
  novaManage: ['/usr/bin/nova-manage', 'python3-nova'],
  novaPaste: ['/usr/share/nova-common/api-paste.ini', 'nova-common'],
  placementManage: ['/usr/bin/placement-manage', 'python3-placement'],
  placementWsgi: ['/usr/bin/placement-api', 'python3-placement'],
  glanceManage: ['/usr/bin/glance-manage', 'python3-glance'],
  glancePaste: ['/usr/share/glance-common/glance-api-paste.ini', 'glance-common'],
  uwsgi: ['/usr/bin/uwsgi-core', 'uwsgi-core'],
  epmd: ['/usr/bin/epmd', 'erlang-base'],
  rabbitmq: ['/usr/lib/rabbitmq/bin/rabbitmq-server', 'rabbitmq-server'],
  mariadb: ['/usr/sbin/mariadbd', 'mariadb-server-core'],
  mariadbInstall: ['/usr/bin/mariadb-install-db', 'mariadb-server-core'],
} as const satisfies Record<string, readonly [path: string, owner: string]>

export type Programs = Readonly<Record<keyof typeof needed, string>>

/** Reports all missing files at once, because other releases split their packages differently. */
export async function programs(): Promise<Programs> {
  const missing = Object.values(needed).filter(([path]) => !existsSync(path))
  if (missing.length > 0) {
    const system = /^PRETTY_NAME="?([^"\n]*)/m.exec(await readFile('/etc/os-release', 'utf8').catch(() => ''))?.[1]
    const list = missing.map(([path, owner]) => `  ${path} (on Debian 12 in ${owner})`)
    throw new Error(
      [
        `the real cloud cannot start on ${system ?? 'this system'}: missing files:`,
        ...list,
        'Run scripts/provision.sh openstack to install the packages. The rig supports Debian 12 (OpenStack Zed).',
      ].join('\n'),
    )
  }
  return Object.fromEntries(Object.entries(needed).map(([name, [path]]) => [name, path])) as Programs
}

/** Names and versions of the packages: a state of other versions cannot be used. */
export async function versions(): Promise<string> {
  const names = ['keystone', 'neutron', 'nova', 'placement', 'glance'].map(name => `python3-${name}`)
  return (await run('dpkg-query', ['--show', ...names, 'mariadb-server-core'])).stdout
}
