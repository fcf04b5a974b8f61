/**
 * Reads OpenstackConfigs like `kubectl apply -f`, in YAML or JSON, and asks the operator for a dry run of each.
 */
import { parseAllDocuments } from 'yaml'
import type { PlanAnswer, StoredPlans } from '../contract/operator-api.ts'
import { messageOf } from '../runtime/errors.ts'
import { type Api, OperatorUnavailable } from './api.ts'
import { CliError, type Io } from './io.ts'

/** `name` is namespace/name. `stored`: no operator answered, and these are the plans of its last syncs. */
export type Planned = { name: string; plan: PlanAnswer } | { name: string; stored: StoredPlans }

/** An object from a file, not validated yet. */
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
  api: Pick<Api, 'plan' | 'storedPlans'>,
  { filename = '-', namespace }: { filename?: string; namespace?: string },
): Promise<Planned[]> {
  const { objects, origin } = await readObjects(io, filename)
  const configs = objects.filter(({ kind }) => kind === 'OpenstackConfig')
  if (configs.length === 0) throw new CliError(`${origin} contains no OpenstackConfig; check kind`)
  const others = objects.length - configs.length
  if (others > 0) io.note(`ignored ${others} of ${objects.length} objects: not an OpenstackConfig`)
  const answers: Planned[] = []
  for (const config of configs) {
    const placed = { ...config, metadata: placedIn(config, namespace) }
    const name = `${placed.metadata.namespace}/${placed.metadata.name}`
    try {
      answers.push({ name, plan: await api.plan(placed) })
    } catch (error) {
      if (!(error instanceof OperatorUnavailable)) throw error
      const stored = await api.storedPlans(name).catch(() => [])
      if (stored.length === 0) throw error
      io.note(error.message)
      answers.push({ name, stored })
    }
  }
  return answers
}

/** Every object of a file, with lists expanded, and the name of the file for messages. */
export async function readObjects(
  io: Pick<Io, 'read'>,
  filename: string,
): Promise<{ objects: Source[]; origin: string }> {
  const text = await io.read(filename).catch(error => {
    throw new CliError(`cannot read ${filename}: ${messageOf(error)}`)
  })
  const origin = filename === '-' ? 'standard input' : filename
  return { objects: objectsIn(text, origin), origin }
}

function objectsIn(text: string, origin: string): Source[] {
  const documents = [...parseAllDocuments(text)]
  const broken = documents.flatMap(({ errors }) => errors)[0]
  if (broken) throw new CliError(`${origin} is neither YAML nor JSON: ${broken.message}`)
  return documents
    .map(document => document.toJS() as Source | null)
    .filter(object => typeof object === 'object' && object !== null)
    .flatMap(object => (Array.isArray(object.items) ? (object.items as Source[]) : [object]))
}

/** As in kubectl, the flag must not contradict the object. */
function placedIn({ metadata }: Source, namespace: string | undefined) {
  const own = metadata?.namespace
  if (namespace !== undefined && own !== undefined && own !== namespace)
    throw new CliError(`the object is in namespace ${String(own)}, not in ${namespace}`)
  const chosen = own ?? namespace
  if (chosen === undefined) throw new CliError('the object has no namespace; set metadata.namespace or --namespace')
  return { ...metadata, name: metadata?.name, namespace: chosen }
}
