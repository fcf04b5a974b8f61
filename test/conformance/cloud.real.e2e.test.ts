import { portStateTests } from '../rigs/openstack/port-states.ts'
import { type OpenStack, startOpenStack } from '../rigs/openstack/rig.ts'
import { realCloud } from './cloud/real.ts'
import { cloudConformance } from './cloud.ts'

let cloud: OpenStack

cloudConformance(
  'real Keystone, Neutron and Nova',
  async () => {
    cloud = await startOpenStack()
    return realCloud(cloud)
  },
  () => portStateTests(() => cloud),
)
