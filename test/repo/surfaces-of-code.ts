/**
 * Every surface of the program, generated from its code: routes, commands, pages, columns, conditions, metrics, Events and the
 * files of a support bundle.
 */
import { Command } from 'commander'
import { addSandboxCommands } from '../../sandbox/commands/sandbox.ts'
import { userCommands } from '../../src/cli/commands.ts'
import { openProgram } from '../../src/cli/program.ts'
import { bundledObjects } from '../../src/cli/support-bundle.ts'
import { terminalIo } from '../../src/cli/terminal.ts'
import { conditionTypes } from '../../src/contract/condition-types.ts'
import { crdOf, kinds } from '../../src/contract/crd.ts'
import { metricCatalogue } from '../../src/contract/metrics.ts'
import { reasonGroups } from '../../src/contract/reasons/catalogue.ts'
import { inventoryApi } from '../../src/inventory/api.ts'
import { operatorApi } from '../../src/operator/app.ts'
import { addComponentCommands } from '../../src/program/components.ts'
import { violaApi } from '../../src/viola/api.ts'
import { screens } from '../../web/state/route.ts'
import { isTest, sources } from './sources.ts'

export type SurfaceKind =
  | 'routes'
  | 'commands'
  | 'pages'
  | 'columns'
  | 'conditions'
  | 'metrics'
  | 'events'
  | 'files of the support bundle'

export function surfacesOfCode(): Record<SurfaceKind, string[]> {
  return {
    routes: routes(),
    commands: commands(),
    pages: [...screens],
    columns: kinds.flatMap(kind => columnsOf(crdOf(kind)).map(name => `${kind.kind} ${name}`)),
    conditions: Object.entries(conditionTypes).flatMap(([kind, types]) => types.map(type => `${kind} ${type}`)),
    metrics: Object.values(metricCatalogue).flatMap(component => Object.keys(component)),
    events: Object.keys(reasonGroups),
    'files of the support bundle': [...bundledObjects.map(name => `${name}.json`), ...otherFiles()],
  }
}

/** Those of the OpenAPI documents, and those that a server adds itself. */
function routes(): string[] {
  const apis = Object.entries({ inventory: inventoryApi, operator: operatorApi, viola: violaApi })
  const documented = apis.flatMap(([name, api]) => api.routes.map(({ method, path }) => `${name} ${method} ${path}`))
  const others = sources('src/**/*.ts').filter(({ path }) => !isTest(path))
  const added = others.flatMap(({ text }) => [
    ...text.matchAll(/\bapp\.(get|post|put|patch|delete)\(\s*['`]([^'`]+)['`]/g),
  ])
  return [...documented, ...added.map(([, method, path]) => `every ${method} ${path}`)]
}

function commands(): string[] {
  const program = openProgram()
  addComponentCommands(program)
  const sandbox = new Command('sandbox')
  addSandboxCommands(sandbox)
  for (const command of [...userCommands(terminalIo({}, 'en'), () => {}), sandbox]) program.addCommand(command)
  const leaves = (command: Command, path: string[]): string[] =>
    command.commands.length === 0
      ? [path.join(' ')]
      : command.commands.flatMap(each => leaves(each as Command, [...path, each.name()]))
  return leaves(program, [])
}

function columnsOf(crd: object): string[] {
  const { spec } = crd as { spec: { versions: { additionalPrinterColumns?: { name: string }[] }[] } }
  return spec.versions.flatMap(({ additionalPrinterColumns = [] }) => additionalPrinterColumns.map(({ name }) => name))
}

function otherFiles(): string[] {
  const [bundle] = sources('src/cli/support-bundle.ts')
  const names = [...(bundle?.text ?? '').matchAll(/\bsave\(\s*['`]([^'`]+)['`]/g)].map(([, name = '']) => name)
  return names.filter(name => !name.endsWith('name}.json'))
}
