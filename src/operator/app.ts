/**
 * The operator's HTTP: health, numbers, the verdicts of the last syncs, and dry runs.
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
import type { Look } from './inspect.ts'
import { identityOf } from './observed-state.ts'
import { providerIdOf } from './provider.ts'
import { SyncError } from './sync-error.ts'
import { pageOf } from './verdict-pages.ts'
import type { Verdict } from './verdicts.ts'

/** What the API answers from. */
export interface Answering {
  /** Absent: anyone who reaches the API can read verdicts, and nobody can request a plan. */
  tokens?: Tokens | undefined
  /** Verdicts of the last sync of each object, by namespace/name. */
  verdicts: () => ReadonlyMap<string, readonly Verdict[]>
  /** The Biz cluster of an object. */
  providerOf?: (config: string) => string | undefined
  /** Looks and decides, and changes nothing. */
  dryRun: (config: OpenstackConfig) => Promise<Look>
}

export interface OperatorAppOptions extends Answering {
  log: Log
  metrics: Exposition
  ready: () => string[]
}

const authorization = { authorization: 'Bearer token, where authentication is on.' }
const tokenSettings = 'OPERATOR_TOKENS_FILE or INVENTORY_TOKENS_FILE'

export const operatorApi: Api = {
  title: 'MultiNIC operator',
  description: 'Why a port is or is not an interface of its node, and what an OpenstackConfig would do.',
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
        providerId: 'Only of objects that deliver to this Biz cluster.',
        taken: 'false: only ports and VMs that were not taken; true: only those that were.',
        limit: 'At most so many; a Link header then leads to the next page.',
        cursor: 'Where the next page starts, from the Link header.',
      },
      answers: { 200: { description: 'The verdicts.', body: verdictsAnswer } },
      problems: [400, 401, 403],
    },
    {
      method: 'post',
      path: planPath,
      summary: 'Say what an OpenstackConfig would send and remove, and why. Nothing is changed.',
      headers: { authorization: 'Bearer token of a caller for this Biz cluster. Always required.' },
      body: openstackConfig,
      answers: { 200: { description: 'What would be done.', body: planAnswer } },
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
 * Adds the API to an app, also to one of another part: an operator that has not started yet answers 503. With `mayRead`,
 * that part says who may read.
 */
export function serveOperatorApi(
  app: FastifyInstance,
  answering: () => Answering | undefined,
  mayRead?: (authorization: string | undefined) => Promise<void>,
): void {
  const started = () => answering() ?? starting()

  app.get(verdictsPath, async (request, reply) => {
    const { authorization } = request.headers
    await mayRead?.(authorization)
    const { tokens, verdicts, providerOf } = started()
    if (!mayRead) await tokens?.callerOf(authorization)
    const all = [...verdicts()].flatMap(([key, list]) => list.map(one => shown(key, one, providerOf?.(key))))
    const { verdicts: page, next } = pageOf(all, queryOf(request))
    if (next !== undefined) reply.header('link', nextLink(request.url, next))
    return { verdicts: page }
  })

  app.post(planPath, async request => {
    const { tokens, dryRun } = started()
    // A plan opens Secrets and connects to the addresses that the posted object names: never for an unknown caller.
    if (!tokens) throw new HttpProblem(403, `plans require a token, and no tokens are configured: set ${tokenSettings}`)
    const caller = await tokens.callerOf(request.headers.authorization)
    const parsed = openstackConfig.safeParse(request.body)
    if (!parsed.success) throw new HttpProblem(400, 'this is not an OpenstackConfig', fieldErrors(parsed.error))
    const config = parsed.data as OpenstackConfig
    if (!config.metadata.namespace) throw new HttpProblem(400, 'metadata.namespace is needed')
    if (!mayActFor(caller, providerIdOf(config)))
      throw new HttpProblem(403, `the token of ${caller.name} is not for provider ${providerIdOf(config)}`)
    return planned(config, dryRun)
  })
}

function starting(): never {
  throw new HttpProblem(503, 'the operator is starting; ask again in a moment')
}

async function planned(config: OpenstackConfig, dryRun: Answering['dryRun']): Promise<PlanAnswer> {
  try {
    const { plan, facts } = await dryRun(config)
    const [key, providerId] = [keyOf(config), providerIdOf(config)]
    return {
      nodes: plan.nodes.map(({ nodeName, instanceId, action, interfaces, why }) => ({
        nodeName,
        instanceId,
        action,
        interfaces: interfaces.map(toWireInterface),
        why,
      })),
      verdicts: plan.verdicts.map(one => shown(key, one, providerId)),
      heldRemovals: plan.heldRemovals.map(({ node, nic }) => `${node} ${nic.name} (port ${identityOf(nic)})`),
      ...(facts.novaError && { error: failure(facts.novaError) }),
    }
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return { nodes: [], verdicts: [], heldRemovals: [], error: failure(error) }
  }
}

function failure({ reason, message }: SyncError): NonNullable<PlanAnswer['error']> {
  const remedy = reasonText(reason)?.remedy
  return { reason, message, ...(remedy !== undefined && { remedy }) }
}

function shown(config: string, verdict: Verdict, providerId: string | undefined): OperatorVerdict {
  const remedy = reasonText(verdict.reason)?.remedy
  return { config, ...(providerId && { providerId }), ...verdict, ...(remedy !== undefined && { remedy }) }
}
