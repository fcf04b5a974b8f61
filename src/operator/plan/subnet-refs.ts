/**
 * The subnets that an OpenstackConfig selects, as the user names them.
 */
import type { OpenstackConfigSpec } from '../../contract/openstack-config.ts'

/** A subnet as the user names it. */
export interface SubnetRef {
  id?: string | undefined
  name?: string | undefined
  index?: number | undefined
  alias?: string | undefined
  /** Where the user names it. */
  field: string
}

/** Of subnets, subnetIDs, subnetID and subnetName, the first field that is set applies. */
export function subnetRefsOf(spec: OpenstackConfigSpec): SubnetRef[] {
  const { subnets = [], subnetIDs = [], subnetID, subnetName } = spec
  if (subnets.length > 0)
    return subnets.map(({ id, name, index, alias }, n) => {
      const field = `spec.subnets[${n}].${id === undefined ? 'name' : 'id'}`
      return { id: id?.trim(), name: name?.trim(), index, alias, field }
    })
  const ids = [...new Set(subnetIDs.map(id => id.trim()).filter(id => id !== ''))]
  if (ids.length > 0) return ids.map(id => ({ id, field: 'spec.subnetIDs' }))
  if (subnetID?.trim()) return [{ id: subnetID.trim(), field: 'spec.subnetID' }]
  if (subnetName?.trim()) return [{ name: subnetName.trim(), field: 'spec.subnetName' }]
  return []
}
