/**
 * Response of the controller's /healthz. Existing monitoring relies on these names.
 */
import * as z from 'zod'
import { duration, timestamp } from './text.ts'

export const controllerHealth = z.object({
  status: z.enum(['healthy', 'degraded', 'unhealthy']),
  uptime: duration,
  processed_configs: z.int().min(0),
  active_jobs: z.int().min(0),
  crd_watcher_status: z.enum(['running', 'stopped']),
  last_crd_processed: z.union([timestamp, z.literal('')]).nullish(),
})

export type ControllerHealth = z.infer<typeof controllerHealth>
