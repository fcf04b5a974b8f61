import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCluster, widgetDefinition } from '../cluster.fixture.ts'
import { aggregated, byPriority, groupDocument, groupList, resourceList } from './discovery.ts'
import { openApiDocument, openApiIndex } from './openapi.ts'

function kinds() {
  const cluster = aCluster()
  cluster.create('apiextensions.k8s.io/customresourcedefinitions', widgetDefinition())
  cluster.close()
  return cluster.kinds.all()
}

test('stable versions are preferred, then higher ones', () => {
  const versions = ['v1alpha1', 'v2beta1', 'v1', 'v10', 'v2', 'v1beta2', 'other']
  assert.deepEqual(versions.sort(byPriority), ['v10', 'v2', 'v1', 'v2beta1', 'v1beta2', 'v1alpha1', 'other'])
})

test('a group has its versions, the preferred one first', () => {
  assert.deepEqual(groupDocument(kinds(), 'test.example.com'), {
    kind: 'APIGroup',
    apiVersion: 'v1',
    name: 'test.example.com',
    versions: [
      { groupVersion: 'test.example.com/v1', version: 'v1' },
      { groupVersion: 'test.example.com/v1alpha1', version: 'v1alpha1' },
    ],
    preferredVersion: { groupVersion: 'test.example.com/v1', version: 'v1' },
  })
  assert.equal(groupDocument(kinds(), 'nothing.example.com'), undefined)
  const groups = groupList(kinds())['groups'] as { name: string }[]
  assert.ok(groups.some(group => group.name === 'batch') && !groups.some(group => group.name === ''))
})

test('a version lists its kinds with their subresources', () => {
  const list = (group: string, version: string) =>
    ((resourceList(kinds(), group, version)?.['resources'] ?? []) as { name: string }[]).map(one => one.name)
  assert.deepEqual(list('test.example.com', 'v1'), ['widgets', 'widgets/status'])
  assert.deepEqual(list('authorization.k8s.io', 'v1'), [
    'selfsubjectaccessreviews',
    'selfsubjectrulesreviews',
    'subjectaccessreviews',
    'localsubjectaccessreviews',
  ])
  for (const name of ['pods', 'pods/status', 'pods/log', 'nodes', 'namespaces/finalize', 'events']) {
    assert.ok(list('', 'v1').includes(name), name)
  }
})

test('all of it is to be had at once', () => {
  const { items } = aggregated(kinds(), false, 'v2') as {
    items: { metadata: { name: string }; versions: { version: string; resources: object[] }[] }[]
  }
  const widgets = items.find(one => one.metadata.name === 'test.example.com')
  assert.deepEqual(
    widgets?.versions.map(one => one.version),
    ['v1', 'v1alpha1'],
  )
  assert.deepEqual(widgets?.versions[0]?.resources, [
    {
      resource: 'widgets',
      responseKind: { group: 'test.example.com', version: 'v1', kind: 'Widget' },
      scope: 'Namespaced',
      singularResource: 'widget',
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['wd'],
      subresources: [
        {
          subresource: 'status',
          responseKind: { group: 'test.example.com', version: 'v1', kind: 'Widget' },
          verbs: ['get', 'patch', 'update'],
        },
      ],
    },
  ])
})

test('OpenAPI shows the schema of a kind, and that a patch can be checked and tried', () => {
  const index = openApiIndex(kinds(), 7)['paths'] as Record<string, { serverRelativeURL: string }>
  assert.equal(index['apis/test.example.com/v1']?.serverRelativeURL, '/openapi/v3/apis/test.example.com/v1?hash=7')
  const document = JSON.parse(JSON.stringify(openApiDocument(kinds(), 'test.example.com', 'v1')))
  const widget = document.components.schemas['com.example.test.v1.Widget']
  assert.equal(widget.properties.spec.properties.size.maximum, 10)
  assert.deepEqual(widget['x-kubernetes-group-version-kind'], [
    { group: 'test.example.com', kind: 'Widget', version: 'v1' },
  ])
  const { patch } = document.paths['/apis/test.example.com/v1/namespaces/{namespace}/widgets/{name}']
  const names = patch.parameters.map((one: { name: string }) => one.name)
  assert.ok(names.includes('fieldValidation') && names.includes('dryRun'))
})
