/**
 * Writes every generated file of the tree; with --check it only says which of them are out of date.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { stringify } from 'yaml'
import type { ZodType } from 'zod'
import { crdOf, kinds } from '../src/contract/crd.ts'
import { readOnlyPolicy, readOnlyPolicyBinding } from '../src/contract/legacy/biz-admission.ts'
import { openApiDocument } from '../src/contract/openapi.ts'
import { settingDefaults, settingEnvironment, settings } from '../src/contract/settings.ts'
import { controllerSettings } from '../src/controller/config.ts'
import { inventoryApi } from '../src/inventory/api.ts'
import { inventoryShape } from '../src/inventory/config.ts'
import { processSettings } from '../src/operator/config.ts'
import { violaApi } from '../src/viola/api.ts'
import { violaSettings } from '../src/viola/config.ts'
import { callsPage, objectsPage } from './api-pages.ts'
import { chartFiles, rules } from './chart.ts'
import { dockerfileTexts } from './dockerfile.ts'
import { figureFiles, readFigures } from './figures-page.ts'
import { inventorySchemaPage } from './inventory-schema.ts'
import { metricsPage } from './metrics-page.ts'
import { reasonsPage } from './reasons-page.ts'

const header = '# Made by `make generate` from src/contract. Do not edit.\n'
const files = new Map<string, string>()

files.set('src/runtime/version.ts', versionFile())
files.set('src/cli/part-rights.ts', partRightsFile())

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
files.set(
  'config/admission/biz-read-only.yaml',
  `${header}${[readOnlyPolicy, readOnlyPolicyBinding].map(object => stringify(object, { lineWidth: 0 })).join('---\n')}`,
)
files.set('docs/reference/objects.md', objectsPage())
files.set('docs/reference/calls.md', callsPage())
files.set('docs/reference/reasons.md', reasonsPage('en'))
files.set('docs/reference/reasons.ko.md', reasonsPage('ko'))
files.set('docs/reference/metrics.md', metricsPage())
files.set('docs/reference/settings.md', settingsPage())
files.set('docs/reference/controller-settings.md', controllerSettingsPage())
files.set('docs/reference/operator-settings.md', operatorSettingsPage())
files.set('docs/reference/inventory-settings.md', inventorySettingsPage())
files.set('docs/reference/viola-settings.md', violaSettingsPage())
files.set('docs/reference/inventory-schema.md', await inventorySchemaPage())

const figures = readFigures()
for (const [path, text] of [...chartFiles(), ...dockerfileTexts(), ...(figures ? figureFiles(figures) : [])])
  files.set(path, text)

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
 * The version of everything: \`make generate\` takes it from package.json. Do not edit.
 */
export const version = '${version}'
`
}

function partRightsFile(): string {
  return `/**
 * What each part needs of Kubernetes, as YAML: \`make generate\` takes it from config/. Do not edit.
 */
export const partRights = \`
${stringify(rules(), { lineWidth: 0, aliasDuplicateObjects: false })}\`
`
}

function settingsPage(): string {
  const rows = Object.entries(settingEnvironment).map(([name, variable]) => {
    const value = (settingDefaults as Record<string, unknown>)[name]
    const text = Array.isArray(value) ? value.join(',') : String(value ?? '')
    const description = settings.shape[name as keyof typeof settings.shape].description ?? ''
    return `| \`${variable}\` | \`${name}\` | ${text === '' ? 'none' : `\`${text}\``} | ${description} |`
  })
  return `<!-- Made by \`make generate\` from src/contract/settings.ts. Do not edit. -->
# Settings of a sync

The object (\`spec.settings\`) wins over the operator's environment; the default counts when neither says anything.

| environment | spec.settings | default | meaning |
|---|---|---|---|
${rows.join('\n')}
`
}

/** A setting that is turned into something else has its default before that. */
interface Defaulted {
  defaultValue?: unknown
  in?: { def: { defaultValue?: unknown } }
}

function environmentRows(shape: Record<string, ZodType>): string {
  const rows = Object.entries(shape).map(([name, setting]) => {
    const { defaultValue, in: before } = setting.def as Defaulted
    const text = String(defaultValue ?? before?.def.defaultValue ?? '')
    return `| \`${name}\` | ${text === '' ? 'none' : `\`${text}\``} | ${setting.description ?? ''} |`
  })
  return rows.join('\n')
}

function operatorSettingsPage(): string {
  return `<!-- Made by \`make generate\` from src/operator/config.ts. Do not edit. -->
# Settings of the operator

All of them are environment variables of the process; every mistake is named at the start. Settings that an object may
overrule (\`CONTRABASS_ENDPOINT\`, \`VIOLA_ENDPOINT\`, time-outs, intervals and so on) are in [settings.md](settings.md).

| environment | default | meaning |
|---|---|---|
${environmentRows(processSettings.shape)}

The operator needs the rights in [config/rbac/operator_role.yaml](../../config/rbac/operator_role.yaml).

## What is taken away, and when

A port that is missing from a list is only asked about. It is taken away when Neutron, asked by its id, no longer has it on
the VM and Nova does not list it among the VM's interfaces. A VM that Nova answers 404 for counts as gone when Nova shows
another VM of the same object, or remembers the deletion (its list of actions, microversion 2.21); otherwise its interfaces
stay, the object is Degraded with \`VmNotFound\`, and taking the VM out of \`vmNames\` takes them away. Many ports that vanish at
once are held (\`RemovalHeld\`) until the annotation \`multinic.io/release-removals\` gets a new value.

Changing \`k8sProviderID\` or \`violaEndpoint\` of an object empties no cluster: what was delivered to the place before stays,
and \`status.leftBehind\`, the condition \`RemovalPending\` (reason \`NodesOrphaned\`) and an Event tell it, until the object points
back or the same annotation gets a new value. An address whose Viola already holds what was delivered is taken for the old
one under a new name.

## After errors

A failed sync is tried again after \`pollErrorInterval\`, then twice as long each time, up to five minutes, with a fifth of
jitter; a longer \`Retry-After\` is kept. An edit of the object, a change of one of its Secrets, or a new value of the annotation
\`multinic.io/force-reconcile\` is looked at at once; an edit and the annotation also start the intervals anew.
`
}

function violaSettingsPage(): string {
  return `<!-- Made by \`make generate\` from src/viola/config.ts. Do not edit. -->
# Settings of Viola

All of them are environment variables; an empty one counts as absent, and every mistake is named at the start.
[The guide](../guides/viola.md) shows them at work.

| environment | default | meaning |
|---|---|---|
${environmentRows(violaSettings.shape)}
`
}

function inventorySettingsPage(): string {
  return `<!-- Made by \`make generate\` from src/inventory/config.ts. Do not edit. -->
# Settings of the inventory

All of them are environment variables, of \`multinic inventory\` or of the operator that holds the inventory itself; an empty
one counts as absent, and every mistake is named at the start. [The guide](../guides/inventory.md) shows them at work.

| environment | default | meaning |
|---|---|---|
${environmentRows(inventoryShape)}
`
}

function controllerSettingsPage(): string {
  return `<!-- Made by \`make generate\` from src/controller/config.ts. Do not edit. -->
# Settings of the controller

All of them are environment variables; an empty one counts as absent, and every mistake is named at the start. Settings of
the agent (\`NETWORK_*\`, \`NIC_WAIT\`, \`PREFLIGHT_ALLOW_UP\`) reach its Jobs under the same name; without one the agent's own
default counts.

| environment | default | meaning |
|---|---|---|
${environmentRows(controllerSettings.shape)}

Everything can be paused: annotation \`multinic.io/paused\` on a MultiNicNodeConfig holds that node, on the namespace of the
controller it holds all of them. What runs is left to end; \`false\`, or no annotation, goes on.
`
}
