/**
 * Reads OpenstackConfigs as `kubectl apply -f` does, YAML or JSON, and asks the operator what each would do.
 */
import { parseAllDocuments } from 'yaml'
import type { PlanAnswer } from '../contract/operator-api.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Api } from './api.ts'
import { CliError, type Io } from './io.ts'

export interface Planned {
  /** namespace/name. */
  name: string
  plan: PlanAnswer
}

/** An object as a file has it: nothing of it is known yet. */
export interface Source {
  apiVersion?: unknown
  kind?: unknown
  metadata?: { name?: unknown; namespace?: unknown; labels?: unknown }
  spec?: unknown
  status?: unknown
  items?: unknown
}

export async function planned(
  io: Io,
  api: Pick<Api, 'plan'>,
  { filename = '-', namespace }: { filename?: string; namespace?: string },
): Promise<Planned[]> {
  const { objects, said } = await readObjects(io, filename)
  const configs = objects.filter(({ kind }) => kind === 'OpenstackConfig')
  if (configs.length === 0) throw new CliError(`${said} holds no OpenstackConfig; its kind must be said`)
  const others = objects.length - configs.length
  if (others > 0) io.note(`${others} of ${objects.length} objects are no OpenstackConfig and were left out`)
  const answers: Planned[] = []
  for (const config of configs) {
    const placed = { ...config, metadata: placedIn(config, namespace) }
    answers.push({
      name: `${placed.metadata.namespace}/${placed.metadata.name}`,
      plan: await api.plan(placed),
    })
  }
  return answers
}

/** Every object of a file, lists taken apart, and what to call the file. */
export async function readObjects(
  io: Pick<Io, 'read'>,
  filename: string,
): Promise<{ objects: Source[]; said: string }> {
  const text = await io.read(filename).catch(error => {
    throw new CliError(`${filename} cannot be read: ${messageOf(error)}`)
  })
  const said = filename === '-' ? 'the standard input' : filename
  return { objects: objectsIn(text, said), said }
}

function objectsIn(text: string, said: string): Source[] {
  const documents = [...parseAllDocuments(text)]
  const broken = documents.flatMap(({ errors }) => errors)[0]
  if (broken) throw new CliError(`${said} is neither YAML nor JSON: ${broken.message}`)
  return documents
    .map(document => document.toJS() as Source | null)
    .filter(object => typeof object === 'object' && object !== null)
    .flatMap(object => (Array.isArray(object.items) ? (object.items as Source[]) : [object]))
}

/** The same rule as kubectl's: a flag must not contradict the object. */
function placedIn({ metadata }: Source, namespace: string | undefined) {
  const own = metadata?.namespace
  if (namespace !== undefined && own !== undefined && own !== namespace)
    throw new CliError(`the object is of namespace ${String(own)}, not of ${namespace}`)
  const chosen = own ?? namespace
  if (chosen === undefined)
    throw new CliError('the object has no namespace; add metadata.namespace or give --namespace')
  return { ...metadata, name: metadata?.name, namespace: chosen }
}
