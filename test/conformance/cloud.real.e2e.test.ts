import { startOpenStack } from '../rigs/openstack/rig.ts'
import { realCloud } from './cloud/real.ts'
import { cloudConformance } from './cloud.ts'

cloudConformance('real Keystone, Neutron and Nova', async () => realCloud(await startOpenStack()))
