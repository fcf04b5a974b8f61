/** What installing and building prints: progress, and the output of other programs only when they fail. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { environment } from '../src/runtime/env.ts'

const scripts = import.meta.dirname
let dir: string

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-progress-'))
})
after(() => rm(dir, { recursive: true }))

/** Writes programs that stand in for those of the system, and returns a PATH with them. */
async function pathWith(programs: Record<string, string>): Promise<string> {
  const bin = await mkdtemp(join(dir, 'bin-'))
  for (const [name, body] of Object.entries(programs)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${body}\n`)
    await chmod(join(bin, name), 0o755)
  }
  return `${bin}:${environment()['PATH']}`
}

async function run(command: string[], env: Record<string, string>): Promise<{ code: number; printed: string }> {
  const [file = '', ...args] = command
  const child = spawn('sh', ['-c', 'exec "$@" 2>&1', 'sh', file, ...args], {
    env: { ...environment(), HOME: dir, ...env },
  })
  const [printed, code] = await Promise.all([
    text(child.stdout),
    new Promise<number>(resolve => child.once('exit', status => resolve(status ?? 1))),
  ])
  return { code, printed }
}

test('a command that takes long shows the elapsed time, and not its output', async () => {
  const flag = join(dir, 'seen')
  const child = spawn(
    join(scripts, 'progress.sh'),
    ['fetching', 'sh', '-c', `echo noise; until [ -e ${flag} ]; do sleep 0.1; done`],
    {
      env: { ...environment(), PROGRESS_INTERVAL: '0.1' },
    },
  )
  let printed = ''
  child.stderr.setEncoding('utf8').on('data', async piece => {
    printed += piece
    if (/^fetching: \d+ s$/m.test(printed)) await writeFile(flag, '')
  })
  const code = await new Promise(resolve => child.once('close', resolve))
  assert.equal(code, 0)
  assert.match(printed, /^fetching\n(fetching: \d+ s\n)+$/)
})

test('a command that fails shows its output and keeps its exit code', async () => {
  const failing = [join(scripts, 'progress.sh'), 'fetching', 'sh', '-c', 'echo the cause; exit 7']
  assert.deepEqual(await run(failing, {}), { code: 7, printed: 'fetching\nthe cause\nfetching: failed (exit 7)\n' })
})

for (const [code, printed] of [
  [0, /^installing the npm packages\n$/],
  [1, /^installing the npm packages\nnoise of npm\ninstalling the npm packages: failed \(exit 1\)\nmake(\[\d\])?: /],
] as const)
  test(`make prints the output of npm only when it fails (exit ${code})`, async () => {
    const checkout = await mkdtemp(join(dir, 'checkout-'))
    for (const name of ['node_modules', 'scripts']) await mkdir(join(checkout, name))
    for (const name of ['Makefile', 'package.json', 'package-lock.json', 'scripts/progress.sh'])
      await copyFile(join(scripts, '..', name), join(checkout, name))
    const PATH = await pathWith({ npm: `echo noise of npm; exit ${code}` })
    const result = await run(['make', '-C', checkout, '--no-print-directory', 'install-packages'], { PATH })
    assert.match(result.printed, printed)
    assert.equal(result.code === 0, code === 0)
  })

for (const [code, printed] of [
  [0, /^installing .*nftables.*\n$/],
  [100, /^installing .*nftables.*\nnoise of apt-get install\n/],
] as const)
  test(`provisioning prints the output of apt-get only when it fails (exit ${code})`, async () => {
    const PATH = await pathWith({
      'apt-get': `echo noise of apt-get $1; exit ${code}`,
      systemctl: '',
    })
    // Without /usr/sbin the network tools are missing, and nothing is written to this machine.
    const hidden = 'mount -t tmpfs tmpfs /usr/sbin; exec "$@"'
    const start = ['unshare', '--mount', '--propagation', 'private', 'sh', '-e', '-c', hidden, 'sh']
    const result = await run([...start, join(scripts, 'provision.sh'), 'base'], {
      PATH,
      XDG_CACHE_HOME: join(dir, `${code}`),
    })
    assert.match(result.printed, printed)
    assert.equal(result.code === 0, code === 0)
  })
