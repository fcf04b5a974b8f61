/**
 * Responses of a real Keystone, Neutron and Nova (OpenStack Zed), captured and reduced to the fields that are read.
 */
export const projectId = 'a069f386f0f04764b9776dc5d27c669f'
export const vmId = 'a6b2a3c3-fd83-40be-b484-f0797433239c'

export const ports = [
  {
    id: '30d435ef-61d9-4235-b7f7-36654515d948',
    name: 'direct-renamed',
    network_id: '0a6f3dbc-4e01-45a7-9c56-42e066604425',
    tenant_id: projectId,
    mac_address: 'fa:16:3e:b5:d7:eb',
    admin_state_up: true,
    status: 'DOWN',
    device_id: vmId,
    device_owner: 'compute:nova',
    fixed_ips: [{ subnet_id: 'aa039e7b-914d-486b-86cd-d9851791a4a6', ip_address: '10.1.0.190' }],
    allowed_address_pairs: [],
    'binding:vnic_type': 'normal',
    'binding:host_id': 'fake-compute-1',
    created_at: '2026-11-15T00:55:41Z',
    updated_at: '2026-11-15T00:55:49Z',
    revision_number: 3,
    project_id: projectId,
  },
  {
    id: '50d78400-ec8b-4f17-af67-bb3713a4cd55',
    name: '',
    network_id: 'f6294de1-7e02-4f95-a3d0-05a5cf49aeff',
    tenant_id: projectId,
    mac_address: 'fa:16:3e:12:95:c3',
    admin_state_up: true,
    status: 'ACTIVE',
    device_id: vmId,
    device_owner: 'compute:nova',
    fixed_ips: [
      { subnet_id: 'ca40b3a9-6cd7-43e1-bf9e-bb4bd44ea3fd', ip_address: '10.0.0.109' },
      { subnet_id: 'b039cfac-f61e-4ae4-b79f-ca61c1e8a7fe', ip_address: 'fd00::1:f816:3eff:fe12:95c3' },
    ],
    created_at: '2026-11-15T00:55:26Z',
    updated_at: '2026-11-15T00:55:30Z',
    revision_number: 5,
    project_id: projectId,
  },
]

export const server = {
  id: 'e0f316c4-eab4-4b5d-8059-bbe476c9c943',
  name: 'vm0',
  status: 'ACTIVE',
  tenant_id: projectId,
  metadata: { new: 'meta' },
  flavor: { id: '1', links: [{ rel: 'bookmark', href: 'http://127.0.0.1:21774/flavors/1' }] },
  addresses: {
    net1: [
      { version: 4, addr: '10.1.0.58', 'OS-EXT-IPS:type': 'fixed', 'OS-EXT-IPS-MAC:mac_addr': 'fa:16:3e:ae:41:33' },
    ],
  },
  'OS-EXT-STS:vm_state': 'active',
}

export const interfaces = {
  interfaceAttachments: [
    {
      net_id: 'f6294de1-7e02-4f95-a3d0-05a5cf49aeff',
      port_id: 'cdb7cbcf-38a7-42fc-aa9a-3d088e82a9b0',
      mac_addr: 'fa:16:3e:f5:74:89',
      port_state: 'ACTIVE',
      fixed_ips: [{ subnet_id: 'ca40b3a9-6cd7-43e1-bf9e-bb4bd44ea3fd', ip_address: '10.0.0.65' }],
    },
  ],
}

export const unauthorized = {
  error: { code: 401, title: 'Unauthorized', message: 'The request you have made requires authentication.' },
}
export const novaNotFound = {
  itemNotFound: { code: 404, message: 'Instance 21bd2a2d-9b3f-487f-84ec-fc9078c753e2 could not be found.' },
}
export const badFilter = {
  NeutronError: { type: 'HTTPBadRequest', message: "['bogus'] is invalid attribute for filtering", detail: '' },
}
