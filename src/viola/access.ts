/**
 * The access to the Viola API: callers and rights of the cluster that Viola runs in.
 */
import { type Access, openAccess } from '../server/access.ts'
import type { StartCall } from '../telemetry/client-metrics.ts'
import type { Log } from '../telemetry/log.ts'
import type { ViolaSettings } from './config.ts'
import { connectOwnCluster } from './targets/credentials.ts'

export function openViolaAccess(settings: ViolaSettings, log: Log, startCall?: StartCall): Promise<Access> {
  return openAccess({
    prefix: 'VIOLA',
    tokensFile: settings.VIOLA_TOKENS_FILE,
    audience: settings.VIOLA_TOKEN_AUDIENCE,
    anonymous: settings.VIOLA_ANONYMOUS_ACCESS,
    connect: () => connectOwnCluster(settings, log, startCall),
    log,
  })
}
