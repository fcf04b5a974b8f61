/** scripts/uninstall.sh: a failed request never counts as an empty list, and FORCE=1 leaves the NICs alone. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { run } from '../rigs/process.ts'

const script = join(import.meta.dirname, '../../scripts/uninstall.sh')

/** Runs the script with a stub of kubectl that records its calls. `answers` maps a call to shell code; CRDs disappear when deleted. */
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
  const result = await run(script, [], { check: false, env: { FORCE: '', ...env, KUBECTL: join(dir, 'kubectl') } })
  const calls = (await readFile(join(dir, 'calls'), 'utf8')).trim().split('\n')
  return { ...result, changes: calls.filter(call => !call.startsWith('get ')) }
}

async function deletesNothing(t: TestContext, call: string): Promise<void> {
  for (const FORCE of ['', '1']) {
    const { code, stderr, changes } = await uninstall(t, { [call]: 'echo Forbidden >&2; exit 1' }, { FORCE })
    assert.equal(code, 1)
    assert.match(stderr, /Forbidden.*cannot (read|list) .*; nothing was deleted/s)
    assert.deepEqual(changes, [])
  }
}

test('if a CRD cannot be read, nothing is deleted, with or without FORCE', async t => {
  await deletesNothing(t, 'get customresourcedefinition openstackconfigs')
  await deletesNothing(t, 'get customresourcedefinition multinicbizconfigs')
})

test('if the objects cannot be listed, nothing is deleted, with or without FORCE', t =>
  deletesNothing(t, 'get multinicnodeconfigs.multinic.io --all-namespaces'))

test('if no objects exist, the CRDs are deleted', async t => {
  const { code, stderr, changes } = await uninstall(t, {})
  assert.equal(code, 0, stderr)
  assert.deepEqual(
    changes.map(call => call.split(' ')[0]),
    ['delete'],
  )
})

const [osc, mnnc] = ['openstackconfigs.multinic.example.com', 'multinicnodeconfigs.multinic.io']
const twoObjects = {
  [`get ${osc} `]: `echo "${osc} here main"`,
  [`get ${mnnc} `]: `echo "${mnnc} here worker-1"`,
}

test('while objects exist, it refuses and lists them', async t => {
  const { code, stderr, changes } = await uninstall(t, twoObjects)
  assert.equal(code, 1)
  assert.match(stderr, /refused: 2 objects exist.*multinicnodeconfigs\.multinic\.io here worker-1.*FORCE=1/s)
  assert.deepEqual(changes, [])
})

test('with FORCE=1, each object is set to leave the nodes alone before it is deleted', async t => {
  const { code, stderr, changes } = await uninstall(t, twoObjects, { FORCE: '1' })
  assert.equal(code, 0, stderr)
  assert.deepEqual(changes.slice(0, 2), [
    `patch ${osc} main --namespace here --type merge --patch {"metadata":{"finalizers":null},"spec":{"deletionPolicy":"Retain"}}`,
    `patch ${mnnc} worker-1 --namespace here --type merge --patch {"metadata":{"finalizers":null,"annotations":{"multinic.io/force-delete":"uninstall"}}}`,
  ])
  assert.match(changes[2] ?? '', /^delete --kustomize /)
})
