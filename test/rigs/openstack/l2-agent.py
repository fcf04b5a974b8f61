"""A layer 2 agent without data plane. It uses the RPC of a real agent, so that Neutron itself sets bound ports to ACTIVE.

While the file HOLD exists, new ports do not become ACTIVE. With the text BUILD in it the agent requests the details of the
port, which sets it to BUILD; with any other text it does nothing. The agent creates the file READY when Neutron knows it.
"""
import eventlet
eventlet.monkey_patch()

import os
import sys

from neutron.agent import rpc as agent_rpc
from neutron.api.rpc.callbacks import resources
from neutron.api.rpc.callbacks.consumer import registry
from neutron.api.rpc.handlers import resources_rpc
from neutron.common import config as common_config
from neutron.conf.agent import common as agent_conf
from neutron_lib import constants, context
from neutron_lib import rpc as n_rpc
from neutron_lib.agent import topics
from oslo_config import cfg
from oslo_log import log as logging

agent_conf.register_agent_state_opts_helper(cfg.CONF)
common_config.register_common_config_options()
common_config.init(sys.argv[1:])
logging.setup(cfg.CONF, 'neutron')

LOG = logging.getLogger('neutron.rig_l2_agent')
HOST = cfg.CONF.host
AGENT = 'ovs-agent-' + HOST
HOLD = os.environ['HOLD']
READY = os.environ['READY']

admin = context.get_admin_context_without_session()
plugin = agent_rpc.PluginApi(topics.PLUGIN)
objects = resources_rpc.ResourcesPullRpcApi()
busy = set()


def hold_mode():
    try:
        with open(HOLD) as file:
            return file.read().strip()
    except FileNotFoundError:
        return None


def details_of(port_id):
    # A port that is created with a host is bound a moment after the event.
    for _ in range(10):
        details = plugin.get_device_details(admin, port_id, AGENT, HOST)
        if details.get('port_id'):
            return details
        eventlet.sleep(0.3)
    return None


def to_be_wired(port):
    hosts = [binding.host for binding in (port.bindings or [])]
    return HOST in hosts and port.admin_state_up == (port.status != 'ACTIVE')


def wire(port_id):
    # The event may be outdated, and requesting the details of a port sets it back to BUILD.
    if not any(map(to_be_wired, objects.bulk_pull(admin, resources.PORT, {'id': [port_id]}))):
        return
    requested = False
    while (mode := hold_mode()) is not None:
        if mode == 'BUILD' and not requested:
            requested = details_of(port_id) is not None
        eventlet.sleep(0.1)
    details = details_of(port_id)
    if details is None:
        return
    update = plugin.update_device_up if details['admin_state_up'] else plugin.update_device_down
    update(admin, port_id, AGENT, HOST)
    LOG.info('port %s is wired, admin_state_up=%s', port_id, details['admin_state_up'])


def wire_until_done(port_id):
    if port_id in busy:
        return
    busy.add(port_id)
    try:
        for _ in range(5):
            try:
                return wire(port_id)
            except Exception:
                LOG.exception('port %s', port_id)
                eventlet.sleep(1)
    finally:
        busy.discard(port_id)


def on_ports(_context, _type, ports, event):
    if event == 'deleted':
        return
    for port in ports:
        if to_be_wired(port):
            eventlet.spawn_n(wire_until_done, port.id)


registry.register(on_ports, resources.PORT)
connection = n_rpc.Connection()
connection.create_consumer(resources_rpc.resource_type_versioned_topic(resources.PORT),
                           [resources_rpc.ResourcesPushRpcCallback()], fanout=True)
connection.consume_in_threads()

# The interval is also the timeout of a report, and a report before Neutron listens is lost.
cfg.CONF.set_override('report_interval', 2, 'AGENT')
reports = agent_rpc.PluginReportStateAPI(topics.REPORTS)
state = {
    'binary': 'neutron-openvswitch-agent', 'host': HOST, 'topic': constants.L2_AGENT_TOPIC,
    'agent_type': constants.AGENT_TYPE_OVS, 'start_flag': True,
    'configurations': {
        'bridge_mappings': {'physnet1': 'br-ex'}, 'tunnel_types': ['vxlan'], 'tunneling_ip': '127.0.0.1',
        'l2_population': False, 'integration_bridge': 'br-int', 'datapath_type': 'system', 'ovs_hybrid_plug': False,
        'extensions': [], 'devices': 0, 'vhostuser_socket_dir': '/run',
        'ovs_capabilities': {'datapath_types': ['system'], 'iface_types': []}}}
while True:
    try:
        reports.report_state(admin, state, use_call=True)
        break
    except Exception as error:
        LOG.warning('report_state: %s', error)
state.pop('start_flag')
open(READY, 'w').close()

while True:
    eventlet.sleep(30)
    try:
        reports.report_state(admin, state)
    except Exception as error:
        LOG.warning('report_state: %s', error)
