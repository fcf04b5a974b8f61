import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCluster, rejectionOf, widgetDefinition } from '../cluster.fixture.ts'
import { patchType, responseFormat, targetOf } from './requests.ts'

const cluster = aCluster()
cluster.create('apiextensions.k8s.io/customresourcedefinitions', widgetDefinition())
cluster.close()

const paths: Record<string, string> = {
  '/api/v1/nodes': 'nodes - - -',
  '/api/v1/nodes/n1/status': 'nodes - n1 status',
  '/api/v1/pods': 'pods - - -',
  '/api/v1/namespaces': 'namespaces - - -',
  '/api/v1/namespaces/x': 'namespaces - x -',
  '/api/v1/namespaces/x/status': 'namespaces - x status',
  '/api/v1/namespaces/x/finalize': 'namespaces - x finalize',
  '/api/v1/namespaces/x/pods': 'pods x - -',
  '/api/v1/namespaces/x/pods/p/log': 'pods x p log',
  '/apis/batch/v1/namespaces/x/jobs/j': 'jobs x j -',
  '/apis/test.example.com/v1alpha1/namespaces/x/widgets/w': 'widgets x w -',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode': 'clusterroles - system:node -',
}

for (const [path, target] of Object.entries(paths)) {
  test(`${path} is ${target}`, () => {
    const { kind, namespace = '-', name, subresource = '-' } = targetOf(path, cluster.kinds)
    assert.equal(`${kind.plural} ${namespace} ${name || '-'} ${subresource}`, target)
  })
}

const unserved = [
  '/api/v1/things',
  '/apis/batch/v2/namespaces/x/jobs',
  '/apis/nothing.example.com/v1/widgets',
  '/api/v1/namespaces/x/nodes',
  '/api/v1/pods/p',
  '/api/v1/namespaces/x/pods/p/log/more',
]

for (const path of unserved) {
  test(`${path} is not served`, () => assert.equal(rejectionOf(() => targetOf(path, cluster.kinds)).code, 404))
}

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const formats: Record<string, [accept: string, query: string, format: ReturnType<typeof responseFormat>]> = {
  'kubectl get': [
    `${table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`,
    'includeObject=Object',
    { as: 'table', wholeObjects: true, type: 'json' },
  ],
  'plain JSON': ['application/json', '', { as: 'plain', wholeObjects: false, type: 'json' }],
  'protobuf first': [
    'application/vnd.kubernetes.protobuf,application/json',
    '',
    { as: 'plain', wholeObjects: false, type: 'json' },
  ],
  YAML: ['application/yaml', '', { as: 'plain', wholeObjects: false, type: 'yaml' }],
  'an unsupported type': ['text/html', '', { as: 'plain', wholeObjects: false, type: undefined }],
  'no Accept header': ['', '', { as: 'plain', wholeObjects: false, type: 'json' }],
}

for (const [name, [accept, query, format]] of Object.entries(formats)) {
  test(`response format: ${name}`, () => assert.deepEqual(responseFormat(accept, new URLSearchParams(query)), format))
}

test('the media type determines the patch type', () => {
  assert.equal(patchType('application/apply-patch+yaml; charset=utf-8', true), 'apply')
  assert.equal(patchType('application/strategic-merge-patch+json', false), 'strategic')
  assert.equal(rejectionOf(() => patchType('application/strategic-merge-patch+json', true)).code, 415)
  assert.equal(rejectionOf(() => patchType('application/json', false)).code, 415)
})
