/** Named network namespaces beside `ip netns` of others, in a mount namespace in which /run/netns does not exist yet. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const stateDirModule = join(import.meta.dirname, 'state-dir.ts')

/** What `unshare` leaves if nobody has made /run/netns a mount point before: the namespace file is mounted below /run. */
const addBelowRun = `mkdir /run/netns && : > /run/netns/old-worker-1 && unshare --net=/run/netns/old-worker-1 true`

/** Runs the code of a module with an empty /run, without any effect on this machine. */
function runWithOwnRun(preparation: string, code: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'multinic-namespaces-'))
  const source = `
    import { execFileSync } from 'node:child_process'
    import { readdirSync } from 'node:fs'
    import { addNamespace, makeStateDir, removeNamespace, stateDir, stopAndRemove } from ${JSON.stringify(stateDirModule)}
    const state = stateDir(${JSON.stringify(join(dir, 'sandbox'))})
    await makeStateDir(state)
    const byOthers = name => execFileSync('ip', ['netns', 'add', name])
    const names = () => console.log(readdirSync('/run/netns').map(name => name.replace(state.prefix, '')).sort().join(' '))
    ${code}`
  const node = [process.execPath, '--input-type=module', '--eval', source]
  const start = ['--mount', '--propagation', 'private', 'sh', '-e', '-c']
  const init = `mount -t tmpfs tmpfs /run; ${preparation}; exec "$@"`
  const { stdout, stderr, status } = spawnSync('unshare', [...start, init, 'init', ...node], { encoding: 'utf8' })
  rmSync(dir, { recursive: true })
  assert.equal(status, 0, stderr)
  return stdout
}

test('experience H1: a namespace can be removed and added again after others have added theirs', () => {
  const printed = runWithOwnRun(
    'true',
    `const name = state.prefix + 'worker-1'
     await addNamespace(state, name)
     byOthers('theirs')
     await removeNamespace(name)
     names()
     await addNamespace(state, name)
     byOthers('more')
     names()
     await stopAndRemove(state)
     names()`,
  )
  assert.equal(printed, 'theirs\nmore theirs worker-1\nmore theirs\n')
})

test('a namespace below a mount of others is removed too', () => {
  const printed = runWithOwnRun(
    addBelowRun,
    `byOthers('theirs')
     await removeNamespace('old-worker-1')
     names()
     execFileSync('ip', ['-n', 'theirs', 'link', 'set', 'lo', 'up'])`,
  )
  assert.equal(printed, 'theirs\n')
})
