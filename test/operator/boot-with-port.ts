/**
 * A server of the simulated cloud with one active port.
 */
import {
  addPort,
  addServer,
  type CloudState,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../sandbox/cloud/state.ts'

export function bootWithPort(cloudState: CloudState, subnet: Subnet, name: string, more: Partial<Server> = {}): Server {
  const server = Object.assign(addServer(cloudState, name), more)
  const address = subnet.cidr.replace(/0\/24$/, String(cloudState.servers.size + 9))
  setPortStatus(cloudState, addPort(cloudState, { server, subnet, address }).id, 'ACTIVE')
  return server
}
