/** kubectl: CRDs, explain, client-side and server-side apply, and validation errors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { jobText, type KubectlSession, nodeConfigText } from './session.ts'

const crds = new URL('../../../config/crd/bases', import.meta.url).pathname

export function applyCases(session: () => KubectlSession): void {
  test('the CRDs are installed, served and listed', async () => {
    const { k } = session()
    const applied = await k('apply', '-f', crds)
    assert.equal(applied.match(/^customresourcedefinition\S+ \w+$/gm)?.length, 3, applied)
    const wait = ['--for=condition=Established', 'crd/multinicnodeconfigs.multinic.io', '--timeout=30s']
    assert.match(await k('wait', ...wait), /condition met/)
    await eventually(async () => {
      const listed = await k('api-resources', '--api-group=multinic.io', '-o', 'wide')
      assert.match(listed, /multinicnodeconfigs +mnnc +multinic\.io\/v1 +true +MultiNicNodeConfig +\[?\w+/)
    })
    assert.match(await k('api-versions'), /^multinic\.io\/v1alpha1$/m)
    assert.match(await k('version'), /Server Version: .*v1\.\d+\.\d+/)
  })

  test('explain shows fields', async () => {
    const { k } = session()
    await eventually(async () => {
      const output = await k('explain', 'mnnc.spec.interfaces')
      assert.match(output, /macAddress\s*<string> -required-/)
      assert.match(output, /MAC address: six hex pairs/)
    })
    assert.match(await k('explain', 'mnnc.spec.interfaces.mtu'), /mtu <integer>/)
    assert.match(await k('explain', 'mnnc', '--recursive'), /ownerReferences\s*<\[\]\w+>/)
    assert.match(await k('explain', 'job.spec.backoffLimit'), /backoffLimit <integer>/)
    assert.match(await k('explain', 'pod.spec.containers.env'), /valueFrom\s*<\w+>/)
  })

  test('apply prints created, unchanged and configured; a dry run and a diff change nothing', async () => {
    const { k, file, namespace } = session()
    assert.match(await k('create', 'namespace', namespace), /created/)
    const path = await file('config.yaml', nodeConfigText(namespace, 1450))
    await eventually(async () => assert.match(await k('apply', '-f', path), /worker-1 created/))
    assert.match(await k('apply', '-f', path), /worker-1 unchanged/)
    await file('config.yaml', nodeConfigText(namespace, 1400))
    assert.match(await k('diff', '-f', path), /-.*mtu: 1450.*\+.*mtu: 1400/s)
    assert.match(await k('apply', '--dry-run=server', '-f', path), /configured \(server dry run\)/)
    assert.match(await k('apply', '-f', path), /worker-1 configured/)
    assert.equal(await k('diff', '-f', path), '')
  })

  test('an invalid value is reported with its field', async () => {
    const { k, file, namespace } = session()
    const path = await file('bad.yaml', nodeConfigText(namespace, 1450).replace('fa:16:3e:00:00:01', 'zz'))
    assert.match(await k('apply', '-f', path), /spec\.interfaces\[0\]\.macAddress: Invalid value: "zz"/)
  })

  test('a misspelt field is rejected, or dropped with --validate=false', async () => {
    const { k, file, namespace } = session()
    const ours = await file('odd.yaml', nodeConfigText(namespace, 1400, '  surprise: 1'))
    assert.match(await k('apply', '-f', ours), /unknown field \\?"(spec\.)?surprise\\?"/)
    assert.match(await k('apply', '-f', ours, '--validate=false'), /configured/)
    const spec = await k('get', 'mnnc', 'worker-1', '-n', namespace, '-o', 'jsonpath={.spec}')
    assert.doesNotMatch(spec, /surprise/)
    assert.match(await k('apply', '-f', ours, '--validate=warn'), /Warning: unknown field "spec\.surprise"/)
    const job = await file('job.yaml', jobText(namespace, '        comand: ["false"]'))
    assert.match(await k('apply', '-f', job), /unknown field "(spec\.template\.spec\.containers\[0\]\.)?comand"/)
    await file('job.yaml', jobText(namespace, '  backoffLimit: many'))
    assert.match(await k('apply', '-f', job), /backoffLimit/)
    assert.match(await k('get', 'jobs', '-n', namespace), /No resources found/)
  })

  test('a conflict of server-side apply names field and manager; --force-conflicts resolves it', async () => {
    const { k, file, namespace } = session()
    const path = await file('config.yaml', nodeConfigText(namespace, 1450))
    assert.match(await k('apply', '--server-side', '--force-conflicts', '-f', path), /serverside-applied/)
    const other = ['apply', '--server-side', '--field-manager=other']
    const theirs = await file('theirs.yaml', nodeConfigText(namespace, 1300))
    const refused = await k(...other, '-f', theirs)
    assert.match(refused, /Apply failed with \d conflicts?: conflicts? with "kubectl/)
    assert.match(refused, /\.spec\.interfaces/)
    assert.match(await k(...other, '--force-conflicts', '-f', theirs), /serverside-applied/)
    const fields = ['-o', 'jsonpath={.metadata.managedFields[*].manager}', '--show-managed-fields']
    assert.match(await k('get', 'mnnc', 'worker-1', '-n', namespace, ...fields), /\bother\b/)
    // Client-side apply still works afterwards.
    assert.match(await k('apply', '-f', path), /worker-1 (configured|unchanged)/)
    assert.match(await k('get', 'mnnc', 'worker-1', '-n', namespace, '-o', 'yaml'), /mtu: 1450/)
  })
}
