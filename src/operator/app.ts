/**
 * The operator's HTTP API: health, metrics, the verdicts of the last syncs, and dry runs.
 */

import type { FastifyInstance } from 'fastify'
import { toWireInterface } from '../contract/interfaces.ts'
import { type Api, openApiDocument } from '../contract/openapi.ts'
import { type OpenstackConfig, openstackConfig } from '../contract/openstack-config.ts'
import {
  type OperatorVerdict,
  type PlanAnswer,
  planAnswer,
  planPath,
  verdictsAnswer,
  verdictsPath,
} from '../contract/operator-api.ts'
import { fieldErrors } from '../contract/problem.ts'
import { reasonText } from '../contract/reasons/catalogue.ts'
import { keyOf } from '../kube/keys.ts'
import { nextLink, queryOf } from '../server/routes.ts'
import { createApp, HttpProblem } from '../server/server.ts'
import { mayActFor, type Tokens } from '../server/tokens.ts'
import type { Log } from '../telemetry/log.ts'
import type { Exposition } from '../telemetry/metrics.ts'
import { removalText } from './findings.ts'
import type { Inspection } from './inspect.ts'
import { providerIdOf } from './provider.ts'
import { SyncError } from './sync-error.ts'
import { pageOf } from './verdict-pages.ts'
import type { Verdict } from './verdicts.ts'

export interface OperatorApiDeps {
  /** Absent: anyone who reaches the API can read verdicts, and nobody can request a plan. */
  tokens?: Tokens | undefined
  /** Verdicts of the last sync of each object, by namespace/name. */
  verdicts: () => ReadonlyMap<string, readonly Verdict[]>
  /** The Biz cluster of an object. */
  providerOf?: (config: string) => string | undefined
  /** Plans and changes nothing. */
  dryRun: (config: OpenstackConfig) => Promise<Inspection>
}

export interface OperatorAppOptions extends OperatorApiDeps {
  log: Log
  metrics: Exposition
  ready: () => string[]
}

const authorization = { authorization: 'Bearer token, if authentication is on.' }
const tokenSettings = 'OPERATOR_TOKENS_FILE or INVENTORY_TOKENS_FILE'

export const operatorApi: Api = {
  title: 'MultiNIC operator',
  description: 'Why a port is or is not an interface of its node, and what an OpenstackConfig would change.',
  version: '1.0',
  routes: [
    {
      method: 'get',
      path: verdictsPath,
      summary: 'Verdicts of the last syncs.',
      headers: authorization,
      query: {
        config: 'namespace/name of an OpenstackConfig.',
        port: 'Port id.',
        vm: 'VM id or entry of vmNames.',
        providerId: 'Only objects that deliver to this Biz cluster.',
        taken: 'true: only selected ports. false: only ignored ports and VMs, without primary ports.',
        limit: 'Page size; the Link header points to the next page.',
        cursor: 'Start of the next page, from the Link header.',
      },
      answers: { 200: { description: 'The verdicts.', body: verdictsAnswer } },
      problems: [400, 401, 403],
    },
    {
      method: 'post',
      path: planPath,
      summary: 'What an OpenstackConfig would deliver and remove, and why. Changes nothing.',
      headers: { authorization: 'Bearer token of a caller for this Biz cluster. Always required.' },
      body: openstackConfig,
      answers: { 200: { description: 'The plan.', body: planAnswer } },
      problems: [400, 401, 403],
    },
  ],
}

export function createOperatorApp(options: OperatorAppOptions): FastifyInstance {
  const { log, metrics, ready, tokens } = options
  const warnings = () => (tokens ? [] : [`anyone who reaches this API can read verdicts: set ${tokenSettings}`])
  const app = createApp({ log, metrics, ready, warnings, openapi: openApiDocument(operatorApi) })
  serveOperatorApi(app, () => options)
  return app
}

/**
 * Adds the API to an app, also to the app of another component. It answers 503 until the operator has started. `mayRead`
 * replaces the operator's own check of who may read verdicts.
 */
export function serveOperatorApi(
  app: FastifyInstance,
  deps: () => OperatorApiDeps | undefined,
  mayRead?: (authorization: string | undefined) => Promise<void>,
): void {
  const started = () => deps() ?? starting()

  app.get(verdictsPath, async (request, reply) => {
    const { authorization } = request.headers
    await mayRead?.(authorization)
    const { tokens, verdicts, providerOf } = started()
    if (!mayRead) await tokens?.callerOf(authorization)
    const all = [...verdicts()].flatMap(([key, list]) =>
      list.map(one => toOperatorVerdict(key, one, providerOf?.(key))),
    )
    const { verdicts: page, next } = pageOf(all, queryOf(request))
    if (next !== undefined) reply.header('link', nextLink(request.url, next))
    return { verdicts: page }
  })

  app.post(planPath, async request => {
    const { tokens, dryRun } = started()
    // A plan reads Secrets and calls the addresses that the posted object names: never for an unknown caller.
    if (!tokens) throw new HttpProblem(403, `plans require a token, and no tokens are configured: set ${tokenSettings}`)
    const caller = await tokens.callerOf(request.headers.authorization)
    const parsed = openstackConfig.safeParse(request.body)
    if (!parsed.success)
      throw new HttpProblem(400, 'the body is not a valid OpenstackConfig', fieldErrors(parsed.error))
    const config = parsed.data as OpenstackConfig
    if (!config.metadata.namespace) throw new HttpProblem(400, 'metadata.namespace is required')
    if (!mayActFor(caller, providerIdOf(config)))
      throw new HttpProblem(403, `the token of ${caller.name} is not for provider ${providerIdOf(config)}`)
    return planOf(config, dryRun)
  })
}

function starting(): never {
  throw new HttpProblem(503, 'the operator is starting; try again in a few seconds')
}

async function planOf(config: OpenstackConfig, dryRun: OperatorApiDeps['dryRun']): Promise<PlanAnswer> {
  try {
    const { plan, cloudState } = await dryRun(config)
    const [key, providerId] = [keyOf(config), providerIdOf(config)]
    return {
      nodes: plan.nodes.map(({ nodeName, instanceId, action, interfaces, why }) => ({
        nodeName,
        instanceId,
        action,
        interfaces: interfaces.map(toWireInterface),
        why,
      })),
      verdicts: plan.verdicts.map(one => toOperatorVerdict(key, one, providerId)),
      heldRemovals: plan.removalsOnHold.map(removalText),
      ...(cloudState.novaError && { error: planError(cloudState.novaError) }),
    }
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return { nodes: [], verdicts: [], heldRemovals: [], error: planError(error) }
  }
}

function planError({ reason, message }: SyncError): NonNullable<PlanAnswer['error']> {
  const remedy = reasonText(reason)?.remedy
  return { reason, message, ...(remedy !== undefined && { remedy }) }
}

function toOperatorVerdict(config: string, verdict: Verdict, providerId: string | undefined): OperatorVerdict {
  const remedy = reasonText(verdict.reason)?.remedy
  return { config, ...(providerId && { providerId }), ...verdict, ...(remedy !== undefined && { remedy }) }
}
