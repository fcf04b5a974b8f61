/**
 * The generated files of the Helm chart, and the reference page of its values.
 */
import { readFileSync } from 'node:fs'
import { parseAllDocuments, stringify } from 'yaml'
import { crdOf, kinds } from '../src/contract/crd.ts'
import { agentPolicy } from '../src/controller/agent-policy.ts'
import { nodeLabelsPolicy } from '../src/controller/networks/node-labels-policy.ts'
import { nodeConditionPolicy } from '../src/controller/node-condition-policy.ts'
import { operatorConfigMapsPolicy, operatorSecretsPolicy } from '../src/operator/write-policies.ts'
import { chartValues, type Group, type Leaf } from './chart-values.ts'
import { type Language, referencePages, table } from './reference.ts'

const chart = 'deployments/helm'
const header = '# Made by `make generate`. Do not edit.\n'
const yaml = (value: unknown) => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })

export function chartFiles(): Map<string, string> {
  const { version, description } = JSON.parse(readFileSync('package.json', 'utf8'))
  const about = {
    apiVersion: 'v2',
    name: 'multinic-agent',
    description,
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.20.0-0',
    keywords: ['networking', 'openstack', 'multi-nic'],
  }
  const files = new Map([
    [`${chart}/Chart.yaml`, header + yaml(about)],
    [
      `${chart}/values.yaml`,
      `# Made by \`make generate\` from scripts/chart-values.ts.\n${valuesYaml(chartValues, 0)}`,
    ],
    [`${chart}/values.schema.json`, `${JSON.stringify(valuesSchema(), null, 2)}\n`],
    [`${chart}/files/rules.yaml`, header + yaml(rules())],
    [`${chart}/files/policies/jobs.yaml`, header + yaml(agentPolicy.spec)],
    [`${chart}/files/policies/node-condition.yaml`, header + yaml(nodeConditionPolicy.spec)],
    [`${chart}/files/policies/node-labels.yaml`, header + yaml(nodeLabelsPolicy.spec)],
    [`${chart}/files/policies/operator-secrets.yaml`, header + yaml(operatorSecretsPolicy.spec)],
    [`${chart}/files/policies/operator-configmaps.yaml`, header + yaml(operatorConfigMapsPolicy.spec)],
    [`${chart}/files/access.yaml`, header + yaml(accessRoles())],
    ...referencePages('helm-values', 'scripts/chart-values.ts', pageTexts, (_, { columns }) =>
      table(columns, valueRows()),
    ),
  ])
  for (const kind of kinds)
    files.set(`${chart}/files/crds/${kind.group}_${kind.plural}.yaml`, header + yaml(crdOf(kind)))
  return files
}

const isLeaf = (value: Leaf | Group): value is Leaf => 'is' in value

function valuesYaml({ of }: Group, depth: number): string {
  const indent = '  '.repeat(depth)
  return Object.entries(of)
    .map(([name, value]) => {
      const comment = `${depth === 0 ? '\n' : ''}${indent}# ${value.about}\n`
      if (!isLeaf(value)) return `${comment}${indent}${name}:\n${valuesYaml(value, depth + 1)}`
      const body = yaml({ [name]: value.is })
        .trimEnd()
        .split('\n')
      return `${comment}${body.map(line => `${indent}${line}`).join('\n')}\n`
    })
    .join('')
}

function valuesSchema(): object {
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...schemaOf(chartValues) }
}

function schemaOf(value: Leaf | Group): object {
  if (isLeaf(value)) return { description: value.about, ...value.schema }
  const properties = Object.fromEntries(Object.entries(value.of).map(([name, one]) => [name, schemaOf(one)]))
  return { description: value.about, type: 'object', additionalProperties: false, properties }
}

const pageTexts: Record<Language, { title: string; text: string; columns: string[] }> = {
  en: {
    title: 'Helm chart values',
    text: '`helm` rejects unknown names and wrong types. `settings` take the environment variables of a component under the same names.',
    columns: ['value', 'default', 'meaning'],
  },
  ko: {
    title: 'Helm 차트 값',
    text: '`helm`은 알 수 없는 이름과 잘못된 유형을 거부합니다. `settings`에는 구성 요소의 환경 변수를 같은 이름으로 적습니다.',
    columns: ['값', '기본값', '설명'],
  },
}

function valueRows(): string[][] {
  return leavesOf(chartValues, '').map(([name, { is, about }]) => [`\`${name}\``, `\`${JSON.stringify(is)}\``, about])
}

function leavesOf({ of }: Group, before: string): [string, Leaf][] {
  return Object.entries(of).flatMap(([name, value]): [string, Leaf][] =>
    isLeaf(value) ? [[before + name, value]] : leavesOf(value, `${before}${name}.`),
  )
}

interface RbacObject {
  kind: string
  rules?: unknown[]
}

/** The rules of the ClusterRoles for callers, by name. */
function accessRoles(): Record<string, unknown> {
  const documents = parseAllDocuments(readFileSync('config/rbac/access_roles.yaml', 'utf8')).map(one => one.toJSON())
  const roles = documents.filter(({ kind }) => kind === 'ClusterRole')
  return Object.fromEntries(roles.map(({ metadata, rules }) => [metadata.name, rules]))
}

/** The permissions of each component, from config/, and those of the options of the controller. */
export function rules(): Record<string, Record<string, unknown>> {
  const from = {
    controller: 'config/rbac/controller_role.yaml',
    nodeCondition: 'config/rbac/controller_node_condition.yaml',
    nodeLabels: 'config/rbac/controller_node_labels.yaml',
    networkAttachments: 'config/rbac/controller_network_attachments.yaml',
    operator: 'config/rbac/operator_role.yaml',
    operatorSecrets: 'config/rbac/operator_secrets_role.yaml',
    viola: 'config/viola/role.yaml',
  }
  return Object.fromEntries(
    Object.entries(from).map(([component, path]) => {
      const objects = parseAllDocuments(readFileSync(path, 'utf8')).map(document => document.toJS() as RbacObject)
      const rulesOf = (kind: string) =>
        objects.filter(object => object.kind === kind).flatMap(object => object.rules ?? [])
      return [component, { cluster: rulesOf('ClusterRole'), namespace: rulesOf('Role') }]
    }),
  )
}
