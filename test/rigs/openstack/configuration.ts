/**
 * The configuration files of the OpenStack services, minimal for one test.
 */
import { join } from 'node:path'
import { brokerConf } from '../../../sandbox/cloud/rabbitmq.ts'
import { computeHost, type Directories, host, passwords, ports, rabbitLogin, region, urlOf } from './addresses.ts'
import { neutronOnBridges, novaOnLibvirt, type Sections } from './hypervisor.ts'
import type { Programs } from './programs.ts'

export interface CloudSettings {
  /** Lifetime of tokens. */
  tokenSeconds: number
  /** Maximum entries per page of Neutron and Nova; 0 keeps their defaults. */
  pageLimit: number
  /** Servers are virtual machines, and their ports are on bridges. */
  hypervisor: boolean
}

function ini(sections: Sections): string {
  return Object.entries(sections)
    .map(([name, values]) => [`[${name}]`, ...Object.entries(values).map(([key, value]) => `${key} = ${value}`)])
    .map(lines => `${lines.join('\n')}\n`)
    .join('\n')
}

function merge(sections: Sections, more: Sections): Sections {
  const added = Object.entries(more).map(([name, values]) => [name, { ...sections[name], ...values }])
  return { ...sections, ...Object.fromEntries(added) }
}

/** `utf8`: PyMySQL of Debian 12 does not know the name utf8mb3. */
function database(name: string): string {
  return `mysql+pymysql://openstack:${passwords.database}@${host}:${ports.mariadb}/${name}?charset=utf8`
}

const transport = `rabbit://${rabbitLogin.user}:${rabbitLogin.password}@${host}:${ports.rabbit}/`

function account(name: string): Record<string, string> {
  return {
    auth_url: urlOf('keystone'),
    auth_type: 'password',
    username: name,
    password: passwords.service,
    project_name: 'service',
    user_domain_name: 'Default',
    project_domain_name: 'Default',
    region_name: region,
  }
}

/** Most clouds cache the validity of a token for minutes; here services notice a revoked token within seconds. */
function authtoken(name: string): Record<string, string | number | boolean> {
  return {
    ...account(name),
    www_authenticate_uri: urlOf('keystone'),
    service_token_roles_required: true,
    token_cache_time: 2,
  }
}

export function configFiles(
  directories: Directories,
  programs: Programs,
  settings: CloudSettings,
): Record<string, string> {
  const general = {
    log_dir: directories.log,
    state_path: directories.tmp,
    use_stderr: false,
    graceful_shutdown_timeout: 3,
    // A loaded machine answers slowly.
    rpc_response_timeout: 120,
  }
  const lock = { lock_path: join(directories.tmp, 'lock') }
  // Like newer releases: a role counts only if a rule names it. Rules of the system are not used.
  const policy = { enforce_new_defaults: true, policy_dirs: join(directories.etc, 'policy.d') }
  const rabbit = { heartbeat_in_pthread: false, rabbit_interval_max: 5 }
  const notifications = { driver: 'messagingv2', topics: 'notifications' }
  const noNotifications = { driver: 'noop' }
  const onHypervisor = (sections: Sections) => (settings.hypervisor ? sections : {})
  return {
    'keystone.conf': ini({
      DEFAULT: { ...general, log_file: 'keystone.log', public_endpoint: urlOf('keystone') },
      database: { connection: database('keystone') },
      token: { provider: 'fernet', expiration: settings.tokenSeconds, allow_expired_window: 0 },
      fernet_tokens: { key_repository: join(directories.state, 'fernet-keys') },
      credential: { key_repository: join(directories.state, 'credential-keys') },
      identity: { password_hash_rounds: 4 },
      // Without a cache each request costs two hundred queries. In-process, because there is only one process.
      cache: { enabled: true, backend: 'oslo_cache.dict' },
      oslo_messaging_notifications: noNotifications,
    }),
    'placement/placement.conf': ini({
      DEFAULT: { ...general, log_file: 'placement.log' },
      placement_database: { connection: database('placement') },
      api: { auth_strategy: 'keystone' },
      keystone_authtoken: authtoken('placement'),
    }),
    'glance.conf': ini({
      DEFAULT: {
        ...general,
        log_file: 'glance.log',
        bind_host: host,
        bind_port: ports.glance,
        workers: 0,
        node_staging_uri: `file://${join(directories.tmp, 'staging')}`,
        enabled_backends: '',
      },
      database: { connection: database('glance') },
      glance_store: {
        stores: 'file',
        default_store: 'file',
        filesystem_store_datadir: join(directories.state, 'images'),
      },
      paste_deploy: { flavor: 'keystone', config_file: programs.glancePaste },
      keystone_authtoken: authtoken('glance'),
      oslo_messaging_notifications: noNotifications,
      oslo_concurrency: lock,
    }),
    'neutron.conf': ini(
      merge(
        {
          DEFAULT: {
            ...general,
            log_file: 'neutron.log',
            bind_host: host,
            bind_port: ports.neutron,
            host: computeHost,
            transport_url: transport,
            core_plugin: 'ml2',
            service_plugins: 'router',
            api_paste_config: programs.neutronPaste,
            api_workers: 1,
            rpc_workers: 1,
            rpc_state_report_workers: 0,
            dhcp_agent_notification: false,
            agent_down_time: 3600,
            pagination_max_limit: settings.pageLimit || -1,
            // Default and maximum MTU of our networks are 50 bytes smaller.
            global_physnet_mtu: 9050,
          },
          database: { connection: database('neutron') },
          quotas: { default_quota: -1, quota_network: -1, quota_subnet: -1, quota_port: -1, quota_security_group: -1 },
          ml2: {
            type_drivers: 'flat,vlan,vxlan,local',
            tenant_network_types: 'vxlan',
            mechanism_drivers: 'openvswitch',
            extension_drivers: 'port_security',
          },
          ml2_type_vxlan: { vni_ranges: '1:1000' },
          ml2_type_flat: { flat_networks: '*' },
          ml2_type_vlan: { network_vlan_ranges: 'physnet1:100:199' },
          securitygroup: { enable_security_group: true, firewall_driver: 'noop' },
          keystone_authtoken: authtoken('neutron'),
          nova: account('nova'),
          oslo_messaging_rabbit: rabbit,
          oslo_messaging_notifications: notifications,
          oslo_concurrency: lock,
          oslo_policy: policy,
        },
        onHypervisor(neutronOnBridges),
      ),
    ),
    'nova.conf': ini(
      merge(
        {
          DEFAULT: {
            ...general,
            transport_url: transport,
            my_ip: host,
            host: computeHost,
            service_down_time: 600,
            compute_driver: 'fake.FakeDriver',
            osapi_compute_listen: host,
            osapi_compute_listen_port: ports.nova,
            osapi_compute_workers: 1,
            enabled_apis: 'osapi_compute',
            instances_path: join(directories.tmp, 'instances'),
          },
          wsgi: { api_paste_config: programs.novaPaste },
          api: { max_limit: settings.pageLimit || 1000 },
          api_database: { connection: database('nova_api') },
          database: { connection: database('nova_cell1') },
          conductor: { workers: 1 },
          scheduler: { workers: 1 },
          notifications: { notification_format: 'both', notify_on_state_change: 'vm_and_task_state' },
          vnc: { enabled: false },
          quota: { instances: -1, cores: -1, ram: -1 },
          cinder: { catalog_info: 'volumev3::publicURL' },
          keystone_authtoken: authtoken('nova'),
          placement: account('placement'),
          neutron: account('neutron'),
          glance: account('glance'),
          oslo_messaging_rabbit: rabbit,
          oslo_messaging_notifications: notifications,
          oslo_concurrency: lock,
          oslo_policy: policy,
        },
        onHypervisor(novaOnLibvirt(directories)),
      ),
    ),
    'nova-cell0.conf': ini({ database: { connection: database('nova_cell0') } }),
    'rabbitmq.conf': brokerConf({ ports: { amqp: ports.rabbit }, ...rabbitLogin }),
    'rabbitmq-env.conf': '',
    enabled_plugins: '[].\n',
  }
}

export const databases = ['keystone', 'neutron', 'nova_api', 'nova_cell0', 'nova_cell1', 'placement', 'glance'] as const
export const cell0 = database('nova_cell0')

/** RUNNING_UNDER_SYSTEMD: the start script then execs the server instead of forking it. */
export function rabbitmqEnvironment(directories: Directories): Record<string, string> {
  const base = join(directories.dir, 'rabbit')
  return {
    HOME: join(base, 'home'),
    ERL_EPMD_ADDRESS: host,
    ERL_EPMD_PORT: String(ports.epmd),
    RABBITMQ_NODENAME: 'rig@localhost',
    RABBITMQ_DIST_PORT: String(ports.rabbitNode),
    RABBITMQ_CONF_ENV_FILE: join(directories.etc, 'rabbitmq-env.conf'),
    RABBITMQ_CONFIG_FILE: join(directories.etc, 'rabbitmq.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(directories.etc, 'enabled_plugins'),
    RABBITMQ_MNESIA_BASE: join(base, 'mnesia'),
    RABBITMQ_LOG_BASE: join(base, 'log'),
    RABBITMQ_PID_FILE: join(base, 'pid'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
      '-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none',
    RUNNING_UNDER_SYSTEMD: '1',
  }
}
