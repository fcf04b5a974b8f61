/** `make deploy` with a stub of kubectl: what it applies depends on the policies that the API server has. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { run } from '../rigs/process.ts'

const root = join(import.meta.dirname, '../..')

/** The kustomization that make deploy renders for an API server with these resources. */
async function renderedFor(resources: readonly string[]): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-deploy-'))
  try {
    const kubectl = join(dir, 'kubectl')
    const answers = `api-resources) printf '%s\\n' ${resources.join(' ')} ;; kustomize) echo "$2" >> ${dir}/rendered ;; apply) cat > /dev/null ;;`
    await writeFile(kubectl, `#!/bin/sh\ncase $1 in ${answers} esac\n`, { mode: 0o755 })
    await run('make', ['--silent', '--directory', root, 'deploy', `KUBECTL=${kubectl}`])
    return (await readFile(join(dir, 'rendered'), 'utf8')).trim()
  } finally {
    await rm(dir, { recursive: true })
  }
}

const group = 'admissionregistration.k8s.io'

test('make deploy gives the right to write Secrets only with the policy that limits it', async () => {
  const webhooks = `validatingwebhookconfigurations.${group}`
  const policies = ['policies', 'policybindings'].map(kind => `validatingadmission${kind}.${group}`)
  assert.equal(await renderedFor([webhooks, ...policies]), 'config/default')
  assert.equal(await renderedFor([webhooks]), 'config/before-1.30')
})
