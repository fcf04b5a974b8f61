/**
 * What a cloud stands on before anything runs: its directory, its configuration, and the programs of this machine.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { currentIsolation } from '../isolation.ts'
import { host, type Places, placesIn, ports } from './addresses.ts'
import { type Choices, configFiles } from './configuration.ts'
import { createParts, type Parts } from './parts.ts'
import { type Programs, programs } from './programs.ts'

export interface Ground {
  places: Places
  programs: Programs
  parts: Parts
  configure(choices: Choices): Promise<void>
  remove(): Promise<void>
}

export const usual: Choices = { tokenSeconds: 3600, pageLimit: 0 }

/** In a world; or outside of one below a directory that is given, and then its ports must be free. */
export async function layGround(choices: Choices, dir?: string): Promise<Ground> {
  if (dir === undefined) currentIsolation()
  else await portsAreFree()
  const installed = await programs()
  const places = placesIn(await mkdtemp(join(dir ?? tmpdir(), 'openstack-')))
  for (const dir of [places.etc, places.log, places.run, places.tmp]) await mkdir(dir)
  const parts = createParts(places, installed)
  const ground: Ground = {
    places,
    programs: installed,
    parts,
    async configure(changed) {
      for (const [name, text] of Object.entries(configFiles(places, installed, changed))) {
        const path = join(places.etc, name)
        await mkdir(dirname(path), { recursive: true })
        await writeFile(path, text, { mode: 0o600 })
      }
    },
    async remove() {
      await parts.kill()
      await rm(places.dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  await ground.configure(choices)
  return ground
}

/** The catalog and the cells of a cloud remember their addresses: it cannot go elsewhere. */
async function portsAreFree(): Promise<void> {
  for (const [part, port] of Object.entries(ports)) {
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', () => reject(new Error(`${part} needs port ${port} of ${host}, which somebody else has`)))
      server.listen(port, host, () => server.close(() => resolve()))
    })
  }
}
