/**
 * Writes all generated files; with --check it only lists those that are out of date.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { stringify } from 'yaml'
import { crdOf, kinds } from '../src/contract/crd.ts'
import { readOnlyPolicy, readOnlyPolicyBinding } from '../src/contract/legacy/biz-admission.ts'
import { openApiDocument } from '../src/contract/openapi.ts'
import { agentPolicy, agentPolicyBinding } from '../src/controller/agent-policy.ts'
import { nodeLabelsPolicy, nodeLabelsPolicyBinding } from '../src/controller/networks/node-labels-policy.ts'
import { nodeConditionPolicy, nodeConditionPolicyBinding } from '../src/controller/node-condition-policy.ts'
import { inventoryApi } from '../src/inventory/api.ts'
import {
  operatorConfigMapsPolicy,
  operatorConfigMapsPolicyBinding,
  operatorSecretsPolicy,
  operatorSecretsPolicyBinding,
} from '../src/operator/write-policies.ts'
import { violaApi } from '../src/viola/api.ts'
import { callPages, objectPages } from './api-pages.ts'
import { attackPages } from './attacks-page.ts'
import { chartFiles, rules } from './chart.ts'
import { cliPages } from './cli-page.ts'
import { dockerfileTexts } from './dockerfile.ts'
import { figureFiles, readFigures } from './figures-page.ts'
import { guestPages } from './guests-page.ts'
import { inventorySchemaPages } from './inventory-schema.ts'
import { kubernetesPages } from './kubernetes-page.ts'
import { metricPages } from './metrics-page.ts'
import { nightlyPages, readNightlyRuns } from './nightly-page.ts'
import { nightlyParts } from './nightly-parts.ts'
import { reasonPages } from './reasons-page.ts'
import { settingsPages } from './settings-pages.ts'
import { readSoak, soakFiles } from './soak-page.ts'
import { tokenAttackPages } from './token-attacks-page.ts'
import { violaTestManifest } from './viola-manifests.ts'

const header = '# Made by `make generate` from src/contract. Do not edit.\n'
const files = new Map<string, string>()

files.set('src/runtime/version.ts', versionFile())
files.set('src/cli/doctor/component-rights.ts', componentRightsFile())
files.set('config/test/viola-test-api.yaml', violaTestManifest())

for (const kind of kinds) {
  const text = header + stringify(crdOf(kind), { lineWidth: 0, aliasDuplicateObjects: false })
  files.set(`config/crd/bases/${kind.group}_${kind.plural}.yaml`, text)
  files.set(`deployments/crds/${kind.group}_${kind.plural}.yaml`, text)
}
for (const [name, api] of Object.entries({ viola: violaApi, inventory: inventoryApi }))
  files.set(
    `docs/reference/${name}.openapi.yaml`,
    header + stringify(openApiDocument(api), { lineWidth: 0, aliasDuplicateObjects: false }),
  )
const policies = {
  'biz-read-only': [readOnlyPolicy, readOnlyPolicyBinding],
  'agent-jobs': [agentPolicy, agentPolicyBinding],
  'node-condition': [nodeConditionPolicy, nodeConditionPolicyBinding],
  'node-labels': [nodeLabelsPolicy, nodeLabelsPolicyBinding],
  'operator-secrets': [operatorSecretsPolicy, operatorSecretsPolicyBinding],
  'operator-configmaps': [operatorConfigMapsPolicy, operatorConfigMapsPolicyBinding],
}
for (const [name, objects] of Object.entries(policies))
  files.set(
    `config/admission/${name}.yaml`,
    header + objects.map(object => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n'),
  )
const pages = [
  ...objectPages(),
  ...callPages(),
  ...cliPages(),
  ...reasonPages(),
  ...metricPages(),
  ...settingsPages(),
  ...(await inventorySchemaPages()),
  ...guestPages(),
  ...kubernetesPages(),
  ...tokenAttackPages(),
  ...attackPages(),
  ...nightlyPages(nightlyParts(0), readNightlyRuns()),
]
for (const [path, text] of pages) files.set(path, text)

const [figures, soak] = [readFigures(), readSoak()]
const measured = [...(figures ? figureFiles(figures) : []), ...(soak ? soakFiles(soak) : [])]
for (const [path, text] of [...chartFiles(), ...dockerfileTexts(), ...measured]) files.set(path, text)

const stale = [...files].filter(([path, text]) => read(path) !== text)
if (process.argv.includes('--check')) {
  for (const [path] of stale) console.error(`out of date: ${path} (run make generate)`)
  process.exitCode = stale.length > 0 ? 1 : 0
} else {
  for (const [path, text] of stale) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    console.log(`wrote ${path}`)
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function versionFile(): string {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  return `/**
 * The version of MultiNIC. Made by \`make generate\` from package.json. Do not edit.
 */
export const version = '${version}'
`
}

function componentRightsFile(): string {
  return `/**
 * The Kubernetes permissions of each component, as YAML. Made by \`make generate\` from config/. Do not edit.
 */
export const componentRights = \`
${stringify(rules(), { lineWidth: 0, aliasDuplicateObjects: false })}\`
`
}
