/**
 * The real kubectl on the sandbox's API server: the one on PATH, and further ones that KUBECTL names (comma-separated).
 */
import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { eventually } from '../../../test/eventually.ts'
import { environment } from '../../env.ts'
import { silent } from '../../log.ts'
import { startKubeApi } from './server.ts'

const run = promisify(execFile)
const named = (environment()['KUBECTL'] ?? '').split(',').filter(path => path !== '')
const found = ['kubectl', ...named].filter(path => spawnSync(path, ['version', '--client']).status === 0)

if (found.length === 0) {
  test('kubectl', t => {
    t.diagnostic(
      'NO KUBECTL WAS FOUND: nothing here was tried with a real one. Install kubernetes-client, or set KUBECTL.',
    )
    t.skip('no kubectl on PATH')
  })
}

const nodeConfig = (mtu: number) => `
apiVersion: multinic.io/v1
kind: MultiNicNodeConfig
metadata: {name: worker-1, namespace: multinic-system}
spec:
  nodeName: worker-1
  interfaces:
  - {id: 0, name: multinic0, macAddress: "fa:16:3e:00:00:01", address: 10.0.0.5, cidr: 10.0.0.0/24, mtu: ${mtu}}
`

const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: j1}
spec:
  template:
    spec:
      restartPolicy: OnFailure
      containers: [{name: agent, image: multinic-agent, command: ["true"]}]
`

for (const kubectl of found) {
  const version = String(spawnSync(kubectl, ['version', '--client']).stdout).match(/v1\.\d+\.\d+/)?.[0]
  describe(`${kubectl} ${version}`, { concurrency: false }, async () => {
    const dir = await mkdtemp(join(tmpdir(), 'multinic-kubectl-'))
    const api = await startKubeApi({ name: 'kubectl', dir, log: silent })
    api.podLogs(() => 'configured multinic0\n')
    after(async () => {
      await api.close()
      await rm(dir, { recursive: true })
    })
    const env = { ...environment(), KUBECONFIG: api.kubeconfig, HOME: dir }
    const k = async (...args: string[]) => {
      try {
        return (await run(kubectl, args, { env, timeout: 20_000 })).stdout
      } catch (error) {
        const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
        return stdout + stderr
      }
    }
    const file = async (name: string, text: string) => {
      await writeFile(join(dir, name), text)
      return join(dir, name)
    }
    const words = (text: string) =>
      text
        .trim()
        .split('\n')
        .map(line => line.trim().split(/\s{2,}/))

    test('installs our CRDs and lists them', async () => {
      const applied = await k('apply', '-f', new URL('../../../config/crd/bases', import.meta.url).pathname)
      assert.equal(applied.match(/ created/g)?.length, 3, applied)
      assert.match(await k('api-resources'), /multinicnodeconfigs +mnnc +multinic\.io\/v1 +true +MultiNicNodeConfig/)
      const wait = ['--for=condition=Established', 'crd/multinicnodeconfigs.multinic.io', '--timeout=5s']
      assert.match(await k('wait', ...wait), /condition met/)
    })

    test('applies: created, unchanged, configured', async () => {
      assert.match(await k('create', 'namespace', 'multinic-system'), /created/)
      const path = await file('config.yaml', nodeConfig(1450))
      assert.match(await k('apply', '-f', path), /worker-1 created/)
      assert.match(await k('apply', '-f', path), /worker-1 unchanged/)
      await file('config.yaml', nodeConfig(1400))
      assert.match(await k('apply', '-f', path), /worker-1 configured/)
      assert.match(await k('apply', '--server-side', '--force-conflicts', '-f', path), /serverside-applied/)
    })

    test('is told which field is wrong', async () => {
      const path = await file('bad.yaml', nodeConfig(1450).replace('fa:16:3e:00:00:01', 'zz'))
      assert.match(await k('apply', '-f', path), /spec\.interfaces\[0\]\.macAddress: Invalid value: "zz"/)
    })

    test('explains a field, and shows what would change', async () => {
      assert.match(await k('explain', 'mnnc.spec.interfaces.macAddress'), /macAddress <string>/)
      const path = await file('next.yaml', nodeConfig(9000))
      assert.match(await k('apply', '--dry-run=server', '-f', path), /configured \(server dry run\)/)
      assert.match(await k('diff', '-f', path), /mtu: 1400.*mtu: 9000/s)
    })

    test('gets as a table, as YAML and as JSON', async () => {
      const [head, row] = words(await k('get', 'mnnc', '-n', 'multinic-system'))
      assert.deepEqual(head, ['NAME', 'NODE', 'STATE', 'NICS', 'REASON', 'AGE'])
      assert.deepEqual(row?.slice(0, 2), ['worker-1', 'worker-1'])
      assert.match(await k('get', 'mnnc', '-A', '-o', 'wide'), /multinic-system +worker-1/)
      assert.match(await k('get', 'mnnc', 'worker-1', '-n', 'multinic-system', '-o', 'yaml'), /mtu: 1400/)
      const json = JSON.parse(await k('get', 'mnnc', '-n', 'multinic-system', '-o', 'json'))
      assert.equal(json.items[0].spec.nodeName, 'worker-1')
    })

    test('describes', async () => {
      const said = await k('describe', 'mnnc', 'worker-1', '-n', 'multinic-system')
      assert.match(said, /Mac Address: +fa:16:3e:00:00:01/)
      assert.match(said, /Events: +<none>/)
    })

    test('watches', async t => {
      const watching = spawn(kubectl, ['get', 'mnnc', '-n', 'multinic-system', '-w'], { env })
      t.after(() => watching.kill())
      let seen = ''
      watching.stdout.on('data', data => {
        seen += data
      })
      await eventually(() => assert.match(seen, /worker-1/))
      const status = { status: { state: 'Configured', nics: '1/1' } }
      const object = api.store.get('multinic.io/multinicnodeconfigs', 'multinic-system', 'worker-1')
      assert.ok(object)
      api.store.put('multinic.io/multinicnodeconfigs', { ...object, ...status })
      await eventually(() => assert.match(seen, /worker-1 +worker-1 +Configured +1\/1/))
    })

    test('labels, patches and makes plain objects', async () => {
      assert.match(await k('label', 'mnnc', 'worker-1', '-n', 'multinic-system', 'a=b'), /labeled/)
      const patch = ['-n', 'multinic-system', '--type=merge', '-p', '{"spec":{"instanceId":"i-1"}}']
      assert.match(await k('patch', 'mnnc', 'worker-1', ...patch), /patched/)
      assert.match(await k('create', 'configmap', 'c1', '--from-literal=a=b'), /created/)
      assert.match(await k('create', 'secret', 'generic', 's1', '--from-literal=a=b'), /created/)
      assert.match(await k('get', 'configmap,secret'), /secret\/s1 +Opaque +1/)
      assert.match(await k('auth', 'can-i', 'create', 'jobs'), /yes/)
    })

    test('runs a Job, as far as there is a node', async () => {
      const path = await file('job.yaml', job)
      assert.match(await k('apply', '-f', path), /job\.batch\/j1 created/)
      assert.match(await k('apply', '-f', path), /job\.batch\/j1 unchanged/)
      await eventually(async () => assert.match(await k('get', 'pods'), /j1-\w{5} +0\/1 +Pending/))
      assert.match(await k('describe', 'job', 'j1'), /SuccessfulCreate/)
      assert.match(await k('logs', 'job/j1'), /configured multinic0/)
      assert.match(await k('get', 'events'), /job\/j1 +Created pod: j1-/)
    })

    test('deletes, and what belonged to it goes too', async () => {
      assert.match(await k('delete', 'job', 'j1'), /job\.batch "j1" deleted/)
      await eventually(() => assert.deepEqual(api.store.list('/pods'), []))
      assert.match(await k('delete', 'mnnc', 'worker-1', '-n', 'multinic-system'), /deleted/)
      assert.match(await k('delete', 'namespace', 'multinic-system'), /deleted/)
      assert.doesNotMatch(await k('get', 'namespaces'), /multinic-system/)
      assert.equal((await k('delete', 'crd', '--all')).match(/deleted/g)?.length, 3)
    })
  })
}
