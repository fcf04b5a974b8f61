/** Taking our definitions away: what the cluster does not tell is never taken for empty, and whoever forces it keeps the NICs. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { run } from '../rigs/process.ts'

const script = join(import.meta.dirname, '../../scripts/uninstall.sh')

/** A kubectl that writes down how it was called. What it answers is shell, by the call; definitions go when they are deleted. */
async function uninstall(t: TestContext, answers: Record<string, string>, env: Record<string, string> = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-uninstall-'))
  t.after(() => rm(dir, { recursive: true }))
  const cases = Object.entries(answers).map(([call, answer]) => `  "${call}"*) ${answer} ;;\n`)
  const kubectl = [
    '#!/bin/sh\n',
    `printf '%s\\n' "$*" >> ${dir}/calls\n`,
    'case "$*" in\n',
    ...cases,
    `  "get customresourcedefinition "*) [ -e ${dir}/gone ] || echo "$3" ;;\n`,
    `  "delete --kustomize "*) touch ${dir}/gone ;;\n`,
    'esac\n',
  ]
  await writeFile(join(dir, 'kubectl'), kubectl.join(''), { mode: 0o755 })
  const ran = await run(script, [], { check: false, env: { FORCE: '', ...env, KUBECTL: join(dir, 'kubectl') } })
  const calls = (await readFile(join(dir, 'calls'), 'utf8')).trim().split('\n')
  return { ...ran, changes: calls.filter(call => !call.startsWith('get ')) }
}

async function removesNothing(t: TestContext, call: string): Promise<void> {
  for (const FORCE of ['', '1']) {
    const { code, stderr, changes } = await uninstall(t, { [call]: 'echo Forbidden >&2; exit 1' }, { FORCE })
    assert.equal(code, 1)
    assert.match(stderr, /Forbidden.*does not tell .*; nothing was removed/s)
    assert.deepEqual(changes, [])
  }
}

test('a cluster that does not answer, at once or later on, loses nothing, forced or not', async t => {
  await removesNothing(t, 'get customresourcedefinition openstackconfigs')
  await removesNothing(t, 'get customresourcedefinition multinicbizconfigs')
})

test('a list that is refused is no empty one: nothing is removed, forced or not', t =>
  removesNothing(t, 'get multinicnodeconfigs.multinic.io --all-namespaces'))

test('where no object exists the definitions go', async t => {
  const { code, stderr, changes } = await uninstall(t, {})
  assert.equal(code, 0, stderr)
  assert.deepEqual(
    changes.map(call => call.split(' ')[0]),
    ['delete'],
  )
})

const [osc, mnnc] = ['openstackconfigs.multinic.example.com', 'multinicnodeconfigs.multinic.io']
const two = {
  [`get ${osc} `]: `echo "${osc} here main"`,
  [`get ${mnnc} `]: `echo "${mnnc} here worker-1"`,
}

test('while objects exist it refuses and names them', async t => {
  const { code, stderr, changes } = await uninstall(t, two)
  assert.equal(code, 1)
  assert.match(stderr, /refused: 2 objects exist.*multinicnodeconfigs\.multinic\.io here worker-1.*FORCE=1/s)
  assert.deepEqual(changes, [])
})

test('forced, each object is told to leave the nodes alone before it goes', async t => {
  const { code, stderr, changes } = await uninstall(t, two, { FORCE: '1' })
  assert.equal(code, 0, stderr)
  assert.deepEqual(changes.slice(0, 2), [
    `patch ${osc} main --namespace here --type merge --patch {"metadata":{"finalizers":null},"spec":{"deletionPolicy":"Retain"}}`,
    `patch ${mnnc} worker-1 --namespace here --type merge --patch {"metadata":{"finalizers":null,"annotations":{"multinic.io/force-delete":"uninstall"}}}`,
  ])
  assert.match(changes[2] ?? '', /^delete --kustomize /)
})
