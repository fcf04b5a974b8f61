/**
 * The operator's HTTP API: health, metrics and dry runs. Verdicts are in the inventory.
 */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FieldError } from '../contract/interfaces.ts'
import type { Api } from '../contract/openapi.ts'
import { type OpenstackConfig, openstackConfig, openstackConfigs, providerIdOf } from '../contract/openstack-config.ts'
import { type OperatorVerdict, type PlanAnswer, planAnswer, planPath } from '../contract/operator-api.ts'
import { fieldErrors, longListIn } from '../contract/problem.ts'
import { reasonText } from '../contract/reasons/catalogue.ts'
import { unknownFields } from '../contract/unknown-fields.ts'
import { keyOf } from '../kube/keys.ts'
import type { Access, Caller } from '../server/access.ts'
import type { ServerMetrics } from '../server/request-metrics.ts'
import type { Right } from '../server/reviews.ts'
import { type Handler, serveApi } from '../server/routes.ts'
import { createApp, HttpProblem } from '../server/server.ts'
import type { Log } from '../telemetry/log.ts'
import type { Exposition } from '../telemetry/metrics.ts'
import { secretsUsedBy } from './clouds/credentials.ts'
import type { PlanLimit } from './limits/plan-limit.ts'
import type { Inspection } from './observe/inspection.ts'
import { toPlannedNode } from './plan/stored-plan.ts'
import type { Verdict } from './plan/verdicts.ts'
import { SyncError } from './sync-error.ts'

export interface OperatorApiDeps {
  /** Plans and changes nothing. */
  dryRun: (config: OpenstackConfig) => Promise<Inspection>
  planLimit: PlanLimit
}

export interface OperatorAppOptions extends OperatorApiDeps {
  access: Access
  log: Log
  metrics: Exposition & ServerMetrics
  ready: () => string[]
  /** Another replica syncs while this one is no leader. It answers plans all the same. */
  isLeader: () => boolean
}

/** vmNames is the longest list of an OpenstackConfig. */
const maxListLength = 5_000

export const operatorApi: Api = {
  title: 'MultiNIC operator',
  description: 'What an OpenstackConfig would change.',
  version: '1.0',
  routes: [
    {
      method: 'post',
      path: planPath,
      summary: 'What an OpenstackConfig would deliver and remove, and why. Changes nothing.',
      headers: {
        authorization:
          'Bearer token of a caller who may create OpenstackConfigs and get the named Secrets in this namespace. Always required.',
      },
      body: openstackConfig,
      answers: { 200: { description: 'The plan.', body: planAnswer } },
      problems: [400, 401, 403, 429, 503],
    },
  ],
}

const standby = { role: 'standby', serves: ['plans'] }

export function createOperatorApp(options: OperatorAppOptions): FastifyInstance {
  const { log, metrics, ready, isLeader, access } = options
  const details = () => (isLeader() ? { role: 'leader', serves: ['syncs', 'plans'] } : standby)
  const app = createApp({ log, metrics, ready, details, warnings: access.warnings, api: operatorApi })
  serveOperatorApi(app, () => options, access)
  app.addHook('onClose', () => access.close())
  return app
}

/** Adds the API to an app, also to the app of another component. It answers 503 until the operator has started. */
export function serveOperatorApi(app: FastifyInstance, deps: () => OperatorApiDeps | undefined, access: Access): void {
  const callers = new WeakMap<FastifyRequest, Caller>()

  const handlers: Record<string, Handler> = {
    [`post ${planPath}`]: async request => {
      const tooLong = longListIn(request.body, maxListLength)
      if (tooLong) throw new HttpProblem(400, 'the body is not a valid OpenstackConfig', { errors: [tooLong] })
      const parsed = openstackConfig.safeParse(request.body)
      const errors = parsed.success ? unknownIn(request.body, parsed.data) : fieldErrors(parsed.error)
      if (errors.length > 0) throw new HttpProblem(400, 'the body is not a valid OpenstackConfig', { errors })
      const config = parsed.data as OpenstackConfig
      const { namespace } = config.metadata
      if (!namespace) throw new HttpProblem(400, 'metadata.namespace is required')
      // A plan reads Secrets and sends them to the addresses that the posted object names: it acts as its caller.
      const caller = callers.get(request) as Caller
      for (const right of planRights(config)) await access.requireKnown(caller, right)
      const { dryRun, planLimit } = deps() ?? starting()
      return planLimit.run({ user: caller.user, namespace }, () => planOf(config, dryRun))
    },
  }
  // Runs before the body is read.
  serveApi(app, operatorApi, handlers, async (_route, request, reply) => {
    callers.set(request, await access.callerOf(request, reply, { known: true }))
  })
}

/** The status is not planned. That of a newer operator may have more fields. */
function unknownIn(body: unknown, parsed: object): FieldError[] {
  return unknownFields({ ...(body as object), status: undefined }, { ...parsed, status: undefined })
}

const configs = { group: openstackConfigs.group, resource: openstackConfigs.plural }

/** What the caller must be allowed to do: what the operator does for the object, and what its endpoints receive. */
function planRights(config: OpenstackConfig): Right[] {
  const { namespace = '' } = config.metadata
  const secrets = secretsUsedBy(config)
  return [
    { verb: 'create', ...configs, namespace },
    ...secrets.map((name): Right => ({ verb: 'get', group: '', resource: 'secrets', namespace, name })),
  ]
}

function starting(): never {
  throw new HttpProblem(503, 'the operator is starting; try again in a few seconds')
}

async function planOf(config: OpenstackConfig, dryRun: OperatorApiDeps['dryRun']): Promise<PlanAnswer> {
  try {
    const { plan, cloudState } = await dryRun(config)
    const [key, providerId] = [keyOf(config), providerIdOf(config)]
    return {
      nodes: plan.nodes.map(toPlannedNode),
      verdicts: plan.verdicts.map(one => toOperatorVerdict(key, one, providerId)),
      heldRemovals: plan.removalsOnHold,
      moves: plan.moves,
      ...(cloudState.vmsError && { error: planError(cloudState.vmsError) }),
    }
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return { nodes: [], verdicts: [], heldRemovals: [], error: planError(error) }
  }
}

function planError({ reason, message, cloudError }: SyncError): NonNullable<PlanAnswer['error']> {
  const remedy = reasonText(reason)?.remedy
  const also = cloudError ? `; ${cloudError.reason}: ${cloudError.message}` : ''
  return { reason, message: `${message}${also}`, ...(remedy !== undefined && { remedy }) }
}

function toOperatorVerdict(config: string, verdict: Verdict, providerId: string | undefined): OperatorVerdict {
  const remedy = reasonText(verdict.reason)?.remedy
  return { config, ...(providerId && { providerId }), ...verdict, ...(remedy !== undefined && { remedy }) }
}
