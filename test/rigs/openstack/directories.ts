/**
 * Prepares a cloud before its processes start: directories, configuration, and the programs of this machine.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { currentIsolation } from '../isolation.ts'
import { type Directories, directoriesIn, host, ports } from './addresses.ts'
import { type CloudSettings, configFiles } from './configuration.ts'
import { type CloudProcesses, createProcesses } from './processes.ts'
import { type Programs, programs } from './programs.ts'

export interface PreparedCloud {
  directories: Directories
  programs: Programs
  processes: CloudProcesses
  configure(settings: CloudSettings): Promise<void>
  remove(): Promise<void>
}

export const defaultSettings: CloudSettings = { tokenSeconds: 3600, pageLimit: 0, hypervisor: false }

/** Requires isolation, unless a directory is given; then its ports must be free. */
export async function prepareCloud(settings: CloudSettings, dir?: string): Promise<PreparedCloud> {
  if (dir === undefined) currentIsolation()
  else await checkPorts()
  const installed = await programs()
  const directories = directoriesIn(await mkdtemp(join(dir ?? tmpdir(), 'openstack-')))
  for (const dir of [directories.etc, directories.log, directories.run, directories.tmp]) await mkdir(dir)
  const processes = createProcesses(directories, installed, settings.hypervisor)
  const cloud: PreparedCloud = {
    directories,
    programs: installed,
    processes,
    async configure(changed) {
      for (const [name, text] of Object.entries(configFiles(directories, installed, changed))) {
        const path = join(directories.etc, name)
        await mkdir(dirname(path), { recursive: true })
        await writeFile(path, text, { mode: 0o600 })
      }
    },
    async remove() {
      await processes.kill()
      await rm(directories.dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  await cloud.configure(settings)
  return cloud
}

/** The saved catalog and cells contain the addresses, so the ports are fixed. */
async function checkPorts(): Promise<void> {
  for (const [service, port] of Object.entries(ports)) {
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', () => reject(new Error(`${service} needs port ${port} of ${host}, which is in use`)))
      server.listen(port, host, () => server.close(() => resolve()))
    })
  }
}
