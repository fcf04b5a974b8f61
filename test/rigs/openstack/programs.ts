/**
 * The programs and files of OpenStack on this machine, as Debian's packages lay them out.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { run } from '../process.ts'

/** Never another Python of the path: the packages belong to the system's own. */
export const python = '/usr/bin/python3'

/** Path by what it is for, with the package that holds it. */
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

/** All that is missing at once: other releases and systems cut their packages differently. */
export async function programs(): Promise<Programs> {
  const missing = Object.values(needed).filter(([path]) => !existsSync(path))
  if (missing.length > 0) {
    const system = /^PRETTY_NAME="?([^"\n]*)/m.exec(await readFile('/etc/os-release', 'utf8').catch(() => ''))?.[1]
    const list = missing.map(([path, owner]) => `  ${path} (on Debian 12 in ${owner})`)
    throw new Error(
      [
        `the real cloud cannot start on ${system ?? 'this system'}, because it has no`,
        ...list,
        'scripts/provision.sh openstack installs the packages. The rig knows the layout of Debian 12 (OpenStack Zed).',
      ].join('\n'),
    )
  }
  return Object.fromEntries(Object.entries(needed).map(([name, [path]]) => [name, path])) as Programs
}

/** Names and versions: a state that was made by others is of no use. */
export async function versions(): Promise<string> {
  const names = ['keystone', 'neutron', 'nova', 'placement', 'glance'].map(name => `python3-${name}`)
  return (await run('dpkg-query', ['--show', ...names, 'mariadb-server-core'])).stdout
}
