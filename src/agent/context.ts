/**
 * What every step of a run works with: the host, the settings and the request.
 */

import type { Log } from '../telemetry/log.ts'
import type { Settings } from './config.ts'
import type { NetworkManager } from './daemons/network-manager.ts'
import type { Networkd } from './daemons/networkd.ts'
import type { Host } from './host/host.ts'
import type { AgentRequest } from './input.ts'
import type { Paths } from './paths.ts'
import type { Change } from './state/change.ts'
import type { Unread } from './state/change-keys.ts'

export interface AgentContext {
  host: Host
  /** Set on hosts where NetworkManager runs. */
  networkManager?: NetworkManager | undefined
  /** Set on hosts where networkd runs. */
  networkd?: Networkd | undefined
  /** Why it is not known whether NetworkManager runs. */
  networkManagerError?: string
  paths: Paths
  settings: Settings
  request: AgentRequest
  /** Of the journal of an earlier run. */
  unread?: readonly Unread[]
  log: Log
  /** Changes of the kernel that took effect in this pass. */
  done?: Set<Change>
}

/** The part that is needed to change the host; recovery and rollback work without a request. */
export type HostContext = Pick<
  AgentContext,
  'host' | 'networkManager' | 'networkManagerError' | 'networkd' | 'paths' | 'log' | 'done'
>
