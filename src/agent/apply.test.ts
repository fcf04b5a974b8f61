import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aNode } from './agent.fixture.ts'
import { applyUnits } from './apply.ts'
import type { Host, Ran } from './host.ts'
import { hostPaths } from './paths.ts'
import type { Unit } from './unit.ts'

const ok: Ran = { code: 0, stdout: '', stderr: '' }

/** A kernel that answers a line with an error, once. */
function kernel(refuses: Record<string, string>): { host: Host; done: string[] } {
  const left = new Map(Object.entries(refuses))
  const done: string[] = []
  const unused = () => {
    throw new Error('not used here')
  }
  const host: Host = {
    async ip(_args, lines = []) {
      for (const [index, line] of lines.entries()) {
        const error = left.get(line)
        if (error) {
          left.delete(line)
          return { code: 1, stdout: '', stderr: `RTNETLINK answers: ${error}\nCommand failed -:${index + 1}\n` }
        }
        done.push(line)
      }
      return ok
    },
    readFile: unused,
    readValue: unused,
    list: unused,
    writeFile: unused,
    rename: unused,
    removeFile: unused,
    makeDirectory: unused,
    removeDirectory: unused,
    writeValue: unused,
    writeReport: unused,
    connect: unused,
    resolve: unused,
    reach: unused,
    lock: unused,
    now: () => 0,
    sleep: async () => {},
  }
  return { host, done }
}

const unit = (id: number, group = `multinic${id}`): Unit => ({
  purpose: 'apply',
  id,
  name: `multinic${id}`,
  mac: `fa:16:3e:00:00:0${id + 1}`,
  ifindex: id + 3,
  group,
  changes: [
    { kind: 'name', from: `ens${id + 4}`, to: `multinic${id}` },
    { kind: 'mtu', from: 1500, to: 1450 },
    { kind: 'altname', op: 'add', altname: `port-${id}` },
  ],
})

const all = (id: number) => [
  `link set dev if${id + 3} name multinic${id}`,
  `link set dev if${id + 3} mtu 1450`,
  `link property add dev if${id + 3} altname port-${id}`,
]

async function run(units: Unit[], refuses: Record<string, string>, up = false) {
  const observed = aNode(2)
  const links = observed.links.map(link => ({ ...link, up }))
  const { host, done } = kernel(refuses)
  const { failures, refusedAltnames } = await applyUnits(units, {
    host,
    paths: hostPaths,
    observed: { ...observed, links },
  })
  const told = [...failures].map(([group, { reason, message }]) => `${group} ${reason}: ${message}`)
  return { failures: told, refusedAltnames, done }
}

test('a line that fails ends its NIC; the others go on', async () => {
  const { failures, done } = await run([unit(0), unit(1)], { 'link set dev if3 mtu 1450': 'Invalid argument' })
  assert.deepEqual(failures, ['multinic0 CommandFailed: mtu 1500 to 1450: Invalid argument'])
  assert.deepEqual(done, [all(0)[0], ...all(1)])
})

test('NICs that trade names fail together', async () => {
  const { failures, done } = await run([unit(0, 'both'), unit(1, 'both')], {
    'link set dev if3 mtu 1450': 'Invalid argument',
  })
  assert.deepEqual(failures, ['both CommandFailed: mtu 1500 to 1450: Invalid argument'])
  assert.deepEqual(done, [all(0)[0]])
})

test('an older kernel that does not rename a link that is up gets down, rename, up', async () => {
  const rename = 'link set dev if3 name multinic0'
  const { failures, done } = await run([unit(0)], { [rename]: 'Device or resource busy' }, true)
  assert.deepEqual(failures, [])
  assert.deepEqual(done, ['link set dev if3 down', rename, 'link set dev if3 up', ...all(0).slice(1)])
})

test('a name that somebody took meanwhile is told as such', async () => {
  const { failures } = await run([unit(0)], { 'link set dev if3 name multinic0': 'File exists' })
  assert.deepEqual(failures, ['multinic0 InterfaceNameInUse: rename ens4 to multinic0: File exists'])
})

test('a kernel without altnames does without, and it is told which', async () => {
  const { failures, refusedAltnames, done } = await run([unit(0), unit(1)], {
    [all(0)[2] ?? '']: 'Operation not supported',
  })
  assert.deepEqual([failures, refusedAltnames], [[], ['port-0']])
  assert.deepEqual(done, [...all(0).slice(0, 2), ...all(1)])
})
