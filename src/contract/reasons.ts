/**
 * Every reason that our parts show to people, with what it means and what to do. Free of dependencies.
 *
 * The dashboard, `multinic why` and docs/reference/reasons.md say these words and none of their own.
 */
export interface ReasonText {
  meaning: string
  remedy: string
}

const nothing = 'Nothing to do.'

/** Conditions of an OpenstackConfig. */
export const syncReasons = {
  ConfigError: {
    meaning: 'The object, its Secrets or the operator’s environment hold a setting that cannot be used.',
    remedy: 'Correct the fields that the message names.',
  },
  ContrabassError: {
    meaning: 'Contrabass did not tell how to log in to the cloud.',
    remedy:
      'Check contrabassEndpoint, openstackProviderID and the encryption key; the message has the answer of Contrabass.',
  },
  EventBusUnreachable: {
    meaning:
      'The cloud’s message bus is not reached, or has none of the exchanges yet: ports are found by polling, on the fast interval.',
    remedy: 'Check the addresses and the network to the broker, and rabbitmqExchanges; it is tried again by itself.',
  },
  EventBusConnected: { meaning: 'Notifications of the cloud start syncs at once.', remedy: nothing },
  EventBusConnecting: { meaning: 'The cloud’s message bus is being connected to.', remedy: 'Wait a moment.' },
  EventBusNotConfigured: {
    meaning: 'No message bus is known for this cloud any more: ports are found by polling.',
    remedy: 'Nothing, or name one in Contrabass, in spec.secrets.rabbitmqSecretRef or for the operator.',
  },
  EventBusConfigError: {
    meaning:
      'The cloud’s message bus cannot be used as it is set: the password does not open or is refused, or a setting is wrong. Ports are found by polling, on the fast interval.',
    remedy:
      'Correct what the message names: rabbitMQPw in Contrabass, or the Secret of the object; syncs go on without events.',
  },
  FieldIgnored: {
    meaning: 'A field of the object is deprecated, or another field wins over it.',
    remedy: 'Remove or replace the field that the message names.',
  },
  Healthy: { meaning: 'The last sync had no error.', remedy: nothing },
  KeystoneError: {
    meaning: 'Keystone did not issue a token.',
    remedy: 'Check the admin account, its domain and projectID in Contrabass and Keystone.',
  },
  NodesOrphaned: {
    meaning:
      'k8sProviderID or violaEndpoint of the object was changed, and the nodes of the place before stay as they were delivered.',
    remedy:
      'Point the object back and delete it to have them taken away, or delete their MultiNicNodeConfigs there; then set the annotation multinic.io/release-removals to a new value.',
  },
  NeutronEndpointError: {
    meaning: 'The catalog has no Neutron for this region and interface.',
    remedy: 'Set openstackEndpointRegion, openstackEndpointInterface or openstackNeutronEndpoint.',
  },
  NeutronPortError: {
    meaning: 'Neutron did not list the ports.',
    remedy: 'Look at the answer in the message; it is tried again.',
  },
  NeutronSubnetError: {
    meaning: 'Neutron did not return the subnets or networks.',
    remedy: 'Look at the answer in the message; it is tried again.',
  },
  NoChange: { meaning: 'The last sync found everything delivered.', remedy: nothing },
  NodesFailed: {
    meaning: 'At least one node could not configure an interface.',
    remedy: 'Look at the node in the inventory or at its MultiNicNodeConfig.',
  },
  NodesPending: {
    meaning: 'Nodes are still being configured.',
    remedy: 'Wait; look at the MultiNicNodeConfigs when it takes long.',
  },
  NovaError: {
    meaning: 'Nova did not tell the names of the VMs.',
    remedy: 'Look at the answer in the message; known nodes keep their names.',
  },
  RemovalHeld: {
    meaning: 'Many ports vanished at once without an edit of this object, so nothing was removed.',
    remedy: 'Check the cloud. To let them go, set the annotation multinic.io/release-removals to a new value.',
  },
  RemovalPending: { meaning: 'Viola refused a removal.', remedy: 'Look at the message; it is tried again.' },
  SubnetNotFound: {
    meaning: 'No subnet of the project has this name or id.',
    remedy: 'Correct subnetName, subnetID or subnetIDs.',
  },
  SubnetNotUnique: { meaning: 'Several subnets have this name.', remedy: 'Name the subnet by id.' },
  SubnetRequired: { meaning: 'No subnet is chosen.', remedy: 'Set subnetIDs, subnetID or subnetName.' },
  Synced: { meaning: 'The last sync delivered changes.', remedy: nothing },
  ViolaPostError: {
    meaning: 'Viola did not take the node configs.',
    remedy: 'Check violaEndpoint, the provider id and the target cluster; the message has the answer of Viola.',
  },
} satisfies Record<string, ReasonText>

/** Verdicts on ports and VMs. */
export const verdictReasons = {
  Selected: { meaning: 'The port is an interface of its node.', remedy: nothing },
  BeforeBaseline: {
    meaning: 'The port is older than the baseline.',
    remedy: 'Set openstackPortBaseline to none or to an earlier time.',
  },
  DeviceOwnerNotAllowed: {
    meaning: 'The port’s device_owner is not one of openstackPortOwners.',
    remedy: 'Attach the port with Nova, or extend openstackPortOwners.',
  },
  LimitReached: {
    meaning: 'The node has ten interfaces already.',
    remedy: 'Detach a port; numbers 0 to 9 are all in use.',
  },
  NameChanged: {
    meaning: 'The server was renamed; its node keeps the name it was delivered under.',
    remedy: 'Nothing, or move the node on purpose by deleting its MultiNicNodeConfig.',
  },
  NameNotUnique: {
    meaning: 'Two VMs would be one node.',
    remedy: 'Give each VM its own name, or a metadata key with the node name.',
  },
  NameUnknown: { meaning: 'Nova has not told the name of this VM yet.', remedy: 'Wait; it is asked again.' },
  NoAddress: { meaning: 'The port has no address in a chosen subnet.', remedy: 'Give it one, or choose its subnet.' },
  PortNotBound: { meaning: 'The port is not bound to the VM yet.', remedy: 'Wait; it is looked at again soon.' },
  NetworkMismatch: {
    meaning: 'The address’s subnet belongs to another network than the port.',
    remedy: 'Check the port in Neutron.',
  },
  VmNotSelected: {
    meaning: 'The port belongs to a VM that this object does not name.',
    remedy: 'Add the VM to vmNames.',
  },
  StatusNotAllowed: {
    meaning: 'The port’s status is not one that is taken.',
    remedy: 'Wait, or extend openstackPortAllowedStatuses.',
  },
  VmNotFound: {
    meaning:
      'Nova knows no such VM. Its interfaces are taken away only when Nova remembers the deletion, or shows other VMs of the object: a token of a wrong project sees nothing either.',
    remedy: 'Remove it from vmNames; that also takes its interfaces away.',
  },
  VmNotUnique: { meaning: 'Several servers have this name.', remedy: 'Name the server by id in vmNames.' },
} satisfies Record<string, ReasonText>

/** Ready conditions of a MultiNicNodeConfig. */
export const nodeReasons = {
  ReportMissing: {
    meaning: 'The agent’s Job ended without a report.',
    remedy: 'Look at the Job’s Pod and its log; it is tried again.',
  },
  AllInterfacesConfigured: { meaning: 'All interfaces were read back from the kernel as asked for.', remedy: nothing },
  Applying: { meaning: 'The agent is at work on the node.', remedy: 'Wait.' },
  ApplyFailed: {
    meaning: 'At least one interface could not be configured; it was taken back, the others stay.',
    remedy: 'Look at interfaceStatuses; correct the cause or set the annotation multinic.io/retry.',
  },
  CleanupAbandoned: {
    meaning: 'The node did not take its interfaces away in time, so the object was let go.',
    remedy: 'When the node is back, look for multinic interfaces and files on it.',
  },
  CleanupFailed: {
    meaning: 'The interfaces could not be taken from the node.',
    remedy: 'Look at the message; it is tried again for ten minutes.',
  },
  DuplicateNode: { meaning: 'An older MultiNicNodeConfig names the same node.', remedy: 'Delete one of the two.' },
  ImagePullFailed: {
    meaning: 'The node cannot get the image of the agent.',
    remedy: 'Check the image’s name, its registry and the pull secrets.',
  },
  MountFailed: {
    meaning: 'A directory that the agent needs is not on the node.',
    remedy: 'Look at the Pod’s events; set the label multinic.io/backend on the Node.',
  },
  NicMissing: {
    meaning: 'The NIC is not in the guest yet.',
    remedy: 'Wait; when it lasts, check the attachment in Nova.',
  },
  PodNotStarting: { meaning: 'The agent’s Pod does not start on the node.', remedy: 'Check the kubelet of the node.' },
  NodeOutOfResources: { meaning: 'The node has no room for the agent’s Pod.', remedy: 'Free resources on the node.' },
  NodeNotFound: {
    meaning: 'The node is not in this cluster.',
    remedy: 'Wait until it joins, or correct nodeName and instanceId.',
  },
  NodeUnreachable: {
    meaning: 'Nobody hears from the node.',
    remedy: 'Check the machine; it is configured when it is back.',
  },
  OwnedByNodeConfig: {
    meaning: 'A MultiNicNodeConfig of its own names this node, and wins over the MultiNicBizConfig.',
    remedy: 'Nothing, or delete that MultiNicNodeConfig to give the node back.',
  },
  Paused: {
    meaning: 'The annotation multinic.io/paused is set on the config, or on its namespace for all of them.',
    remedy: 'Remove the annotation there to go on.',
  },
  PodForbidden: {
    meaning: 'Admission does not allow the agent’s Pod.',
    remedy: 'Allow privileged Pods in the controller’s namespace.',
  },
  Released: { meaning: 'The object was deleted and its interfaces were left on the node.', remedy: nothing },
  Removing: { meaning: 'The interfaces are being taken away from the node.', remedy: 'Wait.' },
  RolloutStopped: {
    meaning: 'Too many nodes failed with their new spec, so no further node is changed.',
    remedy: 'Correct the nodes that failed, or raise the failure budget.',
  },
  RolloutWaiting: { meaning: 'Enough other nodes are changing at the moment.', remedy: 'Wait.' },
  SpecInvalid: { meaning: 'The spec cannot be used.', remedy: 'Correct the fields that the message names.' },
  StepFailed: {
    meaning: 'The cluster refused a step of the controller.',
    remedy: 'Look at the message; it is tried again.',
  },
  Superseded: { meaning: 'The agent of an older generation must end first.', remedy: 'Wait.' },
  WrongMachine: {
    meaning: 'The node is another machine than the one the spec is for.',
    remedy: 'Correct instanceId, or the node’s name.',
  },
} satisfies Record<string, ReasonText>

/** Conditions of a MultiNicBizConfig, and of a node in it. */
export const bizReasons = {
  AllNodesConfigured: { meaning: 'All nodes of the document have what it asks for.', remedy: nothing },
  NoNodes: { meaning: 'The document names no node.', remedy: nothing },
  NodesDone: { meaning: 'Every node was worked on; none waits.', remedy: nothing },
  NodesFailed: {
    meaning: 'At least one node could not be configured. It alone is affected.',
    remedy: 'Look at its entry in nodeStatuses; correct the cause or set the annotation multinic.io/retry.',
  },
  NotOverridden: { meaning: 'No node of the document has a MultiNicNodeConfig of its own.', remedy: nothing },
  OwnedByNodeConfig: nodeReasons.OwnedByNodeConfig,
  ProcessingNodes: {
    meaning: 'Nodes are being configured, or wait for it.',
    remedy: 'Wait; nodeStatuses tells of each.',
  },
  ReadOnly: {
    meaning: 'The document is read-only since its migration: a change of it is refused, or ignored.',
    remedy: 'Change the MultiNicNodeConfigs instead, or roll the migration back.',
  },
  Writable: { meaning: 'Changes of the document are carried out.', remedy: nothing },
} satisfies Record<string, ReasonText>

/** What the agent says of one interface or of the whole run. */
export const interfaceReasons = {
  AddressConflict: {
    meaning: 'Another machine on the wire has the address.',
    remedy: 'Find it by the MAC in the message, or change the port’s address.',
  },
  AddressOutsideCidr: { meaning: 'The address is not in its network.', remedy: 'Correct address or cidr.' },
  ApiServerPath: {
    meaning: 'The NIC carries the way to the API server.',
    remedy: 'Leave this port out: it is not a secondary NIC.',
  },
  BackendUnknown: {
    meaning: 'Nobody that we know manages the network of this node.',
    remedy: 'Set the label multinic.io/backend on the Node.',
  },
  CommandFailed: { meaning: 'The kernel refused a change; it was taken back.', remedy: 'Look at the message.' },
  Configured: { meaning: 'Name, MAC, MTU, addresses, routes, rules and files are as asked for.', remedy: nothing },
  DefaultRoute: {
    meaning: 'The NIC carries a default route.',
    remedy: 'Leave this port out, or remove the default route that DHCP put there.',
  },
  Drifted: { meaning: 'The node differs from what was configured.', remedy: 'Look at the differences in the message.' },
  LinkHasMaster: {
    meaning: 'The NIC belongs to a bond or bridge.',
    remedy: 'Take it out of the bond or bridge, or leave the port out.',
  },
  ForeignAddresses: {
    meaning: 'The NIC is up and has addresses or routes that are not ours.',
    remedy: 'Remove them, or set PREFLIGHT_ALLOW_UP.',
  },
  ForeignFile: {
    meaning: 'A file that is not ours configures this MAC, or is where ours has its place.',
    remedy: 'Remove the entry, or the file, that the message names.',
  },
  HostPathNotMounted: {
    meaning: 'The agent was not given a path of the host that it needs.',
    remedy: 'Mount the path that the message names; the controller’s own Jobs have all of them.',
  },
  GatewayUnreachable: {
    meaning:
      'The gateway or peer of the NIC does not answer, and it did before or has to (NETWORK_PROBE); the NIC was taken back.',
    remedy: 'Check the port, its network and its router in Neutron, or set NETWORK_PROBE to reported.',
  },
  InputInvalid: { meaning: 'The agent cannot use its input.', remedy: 'Correct the fields that the message names.' },
  InSync: { meaning: 'The node is as configured.', remedy: nothing },
  LinkDown: { meaning: 'The link does not come up.', remedy: 'Check the port in Neutron and the host’s switch.' },
  MtuTooLarge: {
    meaning: 'The device does not allow this MTU.',
    remedy: 'Lower the network’s MTU, or raise the device’s.',
  },
  InterfaceNameInUse: { meaning: 'Another device, not ours, has this name.', remedy: 'Rename that device.' },
  NicAmbiguous: {
    meaning: 'Several NICs of the node have this MAC.',
    remedy: 'Give each port a MAC of its own.',
  },
  NicMissing: {
    meaning: 'No NIC with this MAC is in the guest yet.',
    remedy: 'Wait; when it lasts, check the attachment in Nova.',
  },
  NodeAddress: {
    meaning: 'The NIC has the address of the node.',
    remedy: 'Leave this port out: it is not a secondary NIC.',
  },
  PersistFailed: {
    meaning: 'The files that survive a reboot could not be written; the NIC was taken back.',
    remedy: 'Check the disk of the node.',
  },
  Planned: { meaning: 'A dry run: nothing was changed.', remedy: nothing },
  ProbeFailed: {
    meaning: 'The node lost its gateway, API server or address; the whole run was taken back.',
    remedy: 'Look at the message and at what else changed the network.',
  },
  Removed: { meaning: 'The interface is no longer wanted and was taken away.', remedy: nothing },
  RulePriorityInUse: {
    meaning: 'A routing rule of somebody else has our priority.',
    remedy: 'Change NETWORK_ROUTING_TABLE_BASE or that rule.',
  },
  RoutingTableInUse: {
    meaning: 'Somebody else’s routes are in the routing table of this interface.',
    remedy: 'Change NETWORK_ROUTING_TABLE_BASE or those routes.',
  },
  RolledBack: {
    meaning: 'An earlier run was cut short; its changes were taken back.',
    remedy: 'Nothing; it is tried again.',
  },
  VerifyFailed: {
    meaning: 'The kernel does not show what was asked for; the NIC was taken back.',
    remedy: 'Look at the differences in the message.',
  },
  WrongMachine: {
    meaning: 'This is another machine than the one the spec is for.',
    remedy: 'Correct instanceId, or the node’s name.',
  },
} satisfies Record<string, ReasonText>

export type SyncReason = keyof typeof syncReasons
export type VerdictReason = keyof typeof verdictReasons
export type NodeReason = keyof typeof nodeReasons
export type BizReason = keyof typeof bizReasons
export type InterfaceReason = keyof typeof interfaceReasons

export const reasonGroups = { syncReasons, verdictReasons, nodeReasons, bizReasons, interfaceReasons } as const

/** The text of a reason, whichever part said it. */
export function reasonText(reason: string): ReasonText | undefined {
  for (const group of Object.values(reasonGroups)) {
    if (Object.hasOwn(group, reason)) return (group as Record<string, ReasonText>)[reason]
  }
  return undefined
}
