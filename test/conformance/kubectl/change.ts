/** kubectl: label, annotate, patch, edit, create, auth can-i, and Jobs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { jobText, type KubectlSession } from './session.ts'

const slow = { timeout: 120_000 }

export function changeCases(session: () => KubectlSession): void {
  const on = (verb: string, ...args: string[]) => {
    return session().k(verb, 'mnnc', 'worker-1', '-n', session().namespace, ...args)
  }
  const mtu = () => on('get', '-o', 'jsonpath={.spec.interfaces[0].mtu}')

  test('label and annotate set, overwrite with --overwrite, and remove', async () => {
    assert.match(await on('label', 'zone=a'), /labeled/)
    assert.match(await on('label', 'zone=b'), /already has a value \(a\), and --overwrite is false/)
    assert.match(await on('label', 'zone=b', '--overwrite'), /labeled/)
    assert.match(
      await on('label', 'zone=-b-', '--overwrite'),
      /metadata\.labels: Invalid value: "-b-"|invalid label value/,
    )
    assert.match(await on('label', 'zone-'), /labeled/)
    assert.match(await on('annotate', 'note=some text'), /annotated/)
    assert.equal(await on('get', '-o', 'jsonpath={.metadata.labels}{.metadata.annotations.note}'), 'some text')
  })

  test('patch supports JSON and merge patches, and strategic ones for built-in kinds only', async () => {
    const path = '/spec/interfaces/0/mtu'
    const json = (...operations: object[]) => on('patch', '--type=json', '-p', JSON.stringify(operations))
    assert.match(await json({ op: 'test', path, value: 1450 }, { op: 'replace', path, value: 1420 }), /patched/)
    assert.match(await json({ op: 'test', path, value: 1 }), /The request is invalid/)
    assert.match(await json({ op: 'remove', path: '/spec/nothing' }), /The request is invalid/)
    assert.match(await on('patch', '--type=merge', '-p', '{"spec":{"instanceId":"i-1"}}'), /patched/)
    assert.match(await on('patch', '--type=merge', '-p', '{"spec":{"instanceId":"i-1"}}'), /patched \(no change\)/)
    assert.match(await on('patch', '-p', '{"spec":{"instanceId":"i-2"}}'), /application\/merge-patch\+json/)
    assert.match(await on('patch', '--type=merge', '-p', '{"spec":{"nodeName":"w"}}'), /nodeName cannot be changed/)
    assert.equal(await mtu(), '1420')
  })

  test('edit saves a change, rejects an invalid one, and cancels without changes', async () => {
    const { as, namespace } = session()
    const edit = (editor: string) => as({ EDITOR: editor }, 'edit', 'mnnc', 'worker-1', '-n', namespace)
    assert.match(await edit('sed -i "s/mtu: 1420/mtu: 1430/"'), /edited/)
    assert.equal(await mtu(), '1430')
    assert.match(await edit('sed -i "s/mtu: 1430/mtu: 1/"'), /"worker-1" is invalid/)
    assert.match(await edit('true'), /no changes made/)
    assert.equal(await mtu(), '1430')
  })

  test('create and get work for built-in kinds', async () => {
    const { k, namespace } = session()
    const create = (...args: string[]) => k('create', ...args, '-n', namespace)
    assert.match(await create('configmap', 'c1', '--from-literal=a=b'), /created/)
    assert.match(
      await create('configmap', 'c1', '--from-literal=a=b'),
      /\(AlreadyExists\)|configmaps "c1" already exists/,
    )
    assert.match(await create('secret', 'generic', 's1', '--from-literal=a=b'), /created/)
    assert.match(await create('serviceaccount', 'sa1'), /created/)
    assert.match(await create('token', 'sa1', '--duration=1h', '--audience=multinic'), /^ey[\w-]+\.[\w-]+\.[\w-]+$/)
    assert.match(await k('get', 'configmap,secret', '-n', namespace), /secret\/s1 /)
    assert.match(await k('describe', 'secret', 's1', '-n', namespace), /a: +1 bytes/)
    assert.match(await k('describe', 'ns', namespace), /Status: +Active/)
    assert.match(await k('get', 'nodes'), /No resources found/)
  })

  test('auth can-i and --as follow Roles', async () => {
    const { k, namespace } = session()
    assert.match(await k('create', 'role', 'r1', '-n', namespace, '--verb=get,list', '--resource=pods'), /created/)
    const binding = ['--role=r1', `--serviceaccount=${namespace}:sa1`, '-n', namespace]
    assert.match(await k('create', 'rolebinding', 'rb1', ...binding), /created/)
    const sa = ['-n', namespace, '--as', `system:serviceaccount:${namespace}:sa1`]
    assert.match(await k('auth', 'can-i', 'create', 'jobs'), /^yes/)
    await eventually(async () => assert.match(await k('auth', 'can-i', 'list', 'pods', ...sa), /^yes/))
    assert.match(await k('auth', 'can-i', 'delete', 'pods', ...sa), /^no/)
    assert.match(await k('auth', 'can-i', '--list', ...sa), /^pods +\[\] +\[\] +\[get list\]/m)
    assert.match(await k('get', 'pods', ...sa), /No resources found/)
    const refused = await k('get', 'secrets', ...sa)
    assert.match(
      refused,
      /\(Forbidden\): secrets is forbidden: User "system:serviceaccount:.*:sa1" cannot list resource/,
    )
  })

  test('a Job gets a Pod and an Event; its template is immutable', slow, async () => {
    const { k, file, namespace } = session()
    const path = await file('job.yaml', jobText(namespace))
    assert.match(await k('apply', '-f', path), /job\.batch\/j1 created/)
    assert.match(await k('apply', '-f', path), /job\.batch\/j1 unchanged/)
    await eventually(async () => assert.match(await k('get', 'pods', '-n', namespace), /j1-\w{5} +0\/1 +Pending/), {
      within: 60_000,
    })
    assert.match(await k('get', 'job', 'j1', '-n', namespace), /j1 +Running +0\/1/)
    await eventually(async () => assert.match(await k('describe', 'job', 'j1', '-n', namespace), /SuccessfulCreate/))
    assert.match(await k('get', 'events', '-n', namespace), /job\/j1 +Created pod: j1-/)
    const patch = (text: string) => k('patch', 'job', 'j1', '-n', namespace, '-p', text)
    assert.match(await patch('{"spec":{"backoffLimit":3}}'), /patched/)
    const image = '{"spec":{"template":{"spec":{"containers":[{"name":"agent","image":"other"}]}}}}'
    assert.match(await patch(image), /spec\.template: Invalid value: .*field is immutable/s)
    const pods = ['get', 'pods', '-n', namespace, '--field-selector', 'status.phase=Pending', '-o', 'name']
    const pod = (await k(...pods)).trim()
    assert.match(
      await k('patch', pod, '-n', namespace, '-p', '{"spec":{"hostNetwork":true}}'),
      /pod updates may not change/,
    )
    assert.match(await k('patch', pod, '-n', namespace, '-p', '{"metadata":{"labels":{"seen":"yes"}}}'), /patched/)
  })
}
