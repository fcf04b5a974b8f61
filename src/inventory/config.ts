/**
 * Settings of the inventory.
 */
import { z } from 'zod'

export const inventorySettings = z.object({
  INVENTORY_ENABLED: z.stringbool().default(true),
  INVENTORY_ADDR: z.string().default(':18081'),
  /** A path that ends in .json names the file of older versions: it is imported once into the .db beside it. */
  INVENTORY_DB_PATH: z.string().min(1).default('/var/lib/multinic-operator/inventory.db'),
  /** The bundled dashboard. Found by itself next to the program. */
  INVENTORY_WEB_DIR: z.string().min(1).optional(),
  INVENTORY_TOKENS_FILE: z.string().min(1).optional(),
  /** How long history is kept. A change of all 10 interfaces of a node takes about 15 KiB. */
  INVENTORY_HISTORY_DAYS: z.coerce.number().int().min(1).max(36_500).default(365),
})
