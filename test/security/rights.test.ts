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
  const rules = ofKind(/Role$/).flatMap(({ rules = [] }) => rules)
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

test('the agent and the inventory have no permissions and no token', () => {
  const bound = ofKind(/Binding$/).flatMap(({ subjects = [] }) => subjects.map(({ name }) => name))
  assert.deepEqual([...new Set(bound)].sort(), ['multinic-agent', 'multinic-operator', 'viola-api'])
  const inventory = pods.find(({ name }) => name === 'multinic-inventory')?.pod
  assert.equal(inventory?.automountServiceAccountToken, false)
  const accounts = ofKind(/^ServiceAccount$/).filter(({ metadata }) => /agent-job|inventory/.test(metadata.name))
  assert.deepEqual(
    accounts.map(({ automountServiceAccountToken }) => automountServiceAccountToken),
    [false, false],
  )
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
