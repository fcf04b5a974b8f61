/** The permissions and Pod security of the chart with all components. Other tests prove on a real API server that each permission is needed. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'

interface Rule {
  apiGroups: string[]
  resources: string[]
  verbs: string[]
}
interface Rendered {
  kind: string
  metadata: { name: string }
  rules?: Rule[]
  subjects?: { name: string }[]
  roleRef?: { name: string }
  automountServiceAccountToken?: boolean
  spec?: { template?: { spec: PodSpec } }
}
interface PodSpec {
  serviceAccountName: string
  automountServiceAccountToken: boolean
  hostNetwork?: boolean
  securityContext: { runAsNonRoot: boolean; runAsUser: number; seccompProfile: { type: string } }
  containers: { securityContext: object; resources: { limits: { memory?: string } } }[]
}

const rendered = parseAllDocuments(
  readFileSync(new URL('../golden/helm/everything.yaml', import.meta.url), 'utf8'),
).flatMap(document => (document.toJSON() as Rendered | null) ?? [])
const ofKind = (kind: RegExp) => rendered.filter(object => kind.test(object.kind))
const pods = ofKind(/^Deployment$/).flatMap(({ metadata, spec }) =>
  spec?.template ? [{ ...metadata, pod: spec.template.spec }] : [],
)

test('no RBAC rule has a wildcard or allows escalation', () => {
  const bound = ofKind(/Binding$/).map(({ roleRef }) => roleRef?.name)
  // multinic-cli is for people: the chart binds it to nobody.
  const unbound = ofKind(/Role$/).filter(({ metadata }) => !bound.includes(metadata.name))
  assert.deepEqual(unbound.map(({ metadata }) => metadata.name).sort(), ['multinic-admin', 'multinic-cli'])
  const rules = ofKind(/Role$/)
    .filter(role => role.metadata.name !== 'multinic-cli')
    .flatMap(({ rules = [] }) => rules)
  assert.ok(rules.length > 5)
  for (const { apiGroups, resources, verbs } of rules) {
    assert.ok(![...apiGroups, ...resources, ...verbs].includes('*'), JSON.stringify(resources))
    assert.deepEqual(
      verbs.filter(verb => ['bind', 'escalate', 'impersonate', 'deletecollection'].includes(verb)),
      [],
    )
    const strong = ['pods/exec', 'pods/attach', 'serviceaccounts/token', 'clusterroles', 'rolebindings', 'nodes/proxy']
    assert.deepEqual(
      resources.filter(resource => strong.includes(resource)),
      [],
    )
    if (resources.includes('pods')) assert.deepEqual(verbs, ['list', 'watch'])
  }
})

/** `ClusterRole get nodes` */
function permissionsIn(objects: readonly Rendered[], role: string): string[] {
  const roles = objects.filter(({ kind, metadata }) => kind.endsWith('Role') && metadata.name.endsWith(role))
  const permissions = roles.flatMap(({ kind, rules = [] }) =>
    rules.flatMap(({ resources, verbs }) =>
      resources.flatMap(resource => verbs.map(verb => `${kind} ${verb} ${resource}`)),
    ),
  )
  return permissions.sort()
}

test('the chart gives the permissions of config/, of which other tests remove each', () => {
  const files = {
    'multinic-operator': 'rbac/operator_role.yaml',
    'multinic-agent-controller': 'rbac/controller_role.yaml',
    'viola-api': 'viola/role.yaml',
    'multinic-provider-writer': 'rbac/access_roles.yaml',
  }
  for (const [role, file] of Object.entries(files)) {
    const text = readFileSync(new URL(`../../config/${file}`, import.meta.url), 'utf8')
    const objects = parseAllDocuments(text).map(document => document.toJSON() as Rendered)
    const expected = permissionsIn(objects, role)
    assert.ok(expected.length > 0, role)
    assert.deepEqual(permissionsIn(rendered, role), expected, role)
  }
})

test('the agent has no permissions and no token, and the inventory may only ask about its callers', () => {
  const bound = ofKind(/Binding$/).flatMap(({ subjects = [], roleRef }) =>
    subjects.map(({ name }) => [name, roleRef?.name] as const),
  )
  const accounts = ['multinic-agent', 'multinic-inventory', 'multinic-operator', 'multinic-reader', 'viola-api']
  assert.deepEqual([...new Set(bound.map(([name]) => name))].sort(), accounts)
  const rolesOf = (account: string) => bound.filter(([name]) => name === account).map(([, role]) => role)
  assert.deepEqual(rolesOf('multinic-inventory'), ['system:auth-delegator'])
  assert.deepEqual(rolesOf('multinic-reader'), ['multinic-reader'])
  for (const { metadata, automountServiceAccountToken } of ofKind(/^ServiceAccount$/))
    assert.equal(automountServiceAccountToken, false, metadata.name)
})

test('every component that serves an API may ask the API server about its callers', () => {
  const delegated = ofKind(/Binding$/).filter(({ roleRef }) => roleRef?.name === 'system:auth-delegator')
  const accounts = delegated.flatMap(({ subjects = [] }) => subjects.map(({ name }) => name))
  assert.deepEqual(accounts.sort(), ['multinic-inventory', 'multinic-operator', 'viola-api'])
})

test('a NetworkPolicy admits only the namespace of the release to Viola and the inventory', () => {
  const policies = ofKind(/^NetworkPolicy$/) as unknown as {
    metadata: { name: string }
    spec: { ingress: { ports: { port: string }[]; from: object[] }[] }
  }[]
  assert.equal(policies.length, 4)
  for (const { metadata, spec } of policies)
    for (const { ports, from } of spec.ingress) {
      const isMetrics = ports[0]?.port === 'http' && metadata.name !== 'viola-api'
      assert.deepEqual(from, [isMetrics ? { namespaceSelector: {} } : { podSelector: {} }], metadata.name)
    }
})

test('every component runs as non-root without capabilities, with a read-only root file system and a memory limit', () => {
  assert.equal(pods.length, 4)
  for (const { name, pod } of pods) {
    assert.equal(pod.hostNetwork, undefined, name)
    assert.equal(pod.securityContext.runAsNonRoot && pod.securityContext.runAsUser > 0, true, name)
    assert.equal(pod.securityContext.seccompProfile.type, 'RuntimeDefault', name)
    for (const { securityContext, resources } of pod.containers) {
      const restricted = {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      }
      assert.deepEqual(securityContext, restricted, name)
      assert.ok(resources.limits.memory, name)
    }
  }
})
