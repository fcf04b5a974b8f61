/**
 * Progress of a request to renumber interfaces, in the status of an OpenstackConfig.
 */
import * as z from 'zod'
import { interfaceName, nodeName } from './renumber.ts'
import { opaqueId } from './text.ts'

const renumberedPort = z.object({ portId: opaqueId, from: interfaceName, to: interfaceName })

export const renumberStatus = z
  .object({
    request: z.string().max(64).meta({ description: 'Hash of the annotation multinic.io/renumber.' }),
    state: z.enum(['InProgress', 'Done', 'Stopped']),
    total: z.int32().min(0),
    done: z.int32().min(0),
    message: z.string().max(1024).optional(),
    current: renumberedPort
      .extend({
        nodeName,
        exchange: renumberedPort
          .optional()
          .meta({ description: 'The interface that had the index, and the index that it gets.' }),
        phase: z.enum(['Moving', 'RollingBack']),
        message: z.string().max(1024).optional().meta({ description: 'Why it is rolled back.' }),
      })
      .optional()
      .meta({ description: 'The interface that gets its index now. One at a time.' }),
  })
  .meta({ description: 'Progress of the last request to renumber interfaces.' })
export type RenumberStatus = z.infer<typeof renumberStatus>
export type MoveInProgress = NonNullable<RenumberStatus['current']>
