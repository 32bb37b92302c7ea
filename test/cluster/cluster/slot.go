package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

const (
	// maxSlots is how many clusters fit side by side: 40 blocks of ports end below the NodePorts at 30000, and
	// with them below the ephemeral ports, which the kernel gives to anybody.
	maxSlots = 40
	// firstPort is above the ports that servers commonly have.
	firstPort = 21000
	// portsPerSlot leaves 20 to the control plane and two to each node.
	portsPerSlot  = 200
	firstNodePort = 20
	portsPerNode  = 2
	maxNodes      = 60
	// maxFakeNodes is what Kubernetes itself is tested with.
	maxFakeNodes = 5000
	firstSubnet  = 64 // slot 0 has 10.64.0.0/16, the last one 10.103.0.0/16
	podBits      = 17 // the lower half of the /16 is for Pods and nodes, the upper for services
	serviceBits  = 20
	serviceStart = 128
)

// slot is a share of the machine's ports and addresses: all that differs between clusters follows from its number.
type slot int

func (s slot) port(offset int) int { return firstPort + int(s)*portsPerSlot + offset }

func (s slot) apiServerPort() int  { return s.port(0) }
func (s slot) etcdPort() int       { return s.port(1) }
func (s slot) etcdPeerPort() int   { return s.port(2) }
func (s slot) controllerPort() int { return s.port(3) }
func (s slot) schedulerPort() int  { return s.port(4) }
func (s slot) registryPort() int   { return s.port(5) }
func (s slot) kwokPort() int       { return s.port(6) }

func (s slot) kubeletPort(node int) int { return s.port(firstNodePort + (node-1)*portsPerNode) }
func (s slot) healthzPort(node int) int { return s.kubeletPort(node) + 1 }

// controlPorts are the ports that must be free before a cluster takes the slot; those of nodes are in the same block.
func (s slot) controlPorts() []int {
	return []int{s.apiServerPort(), s.etcdPort(), s.etcdPeerPort(), s.controllerPort(), s.schedulerPort(), s.registryPort(), s.kwokPort(), s.kubeletPort(1)}
}

func (s slot) address(third, fourth byte) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(firstSubnet + int(s)), third, fourth})
}

func (s slot) network() netip.Prefix { return netip.PrefixFrom(s.address(0, 0), 16) }
func (s slot) pods() netip.Prefix    { return netip.PrefixFrom(s.address(0, 0), podBits) }
func (s slot) services() netip.Prefix {
	return netip.PrefixFrom(s.address(serviceStart, 0), serviceBits)
}

// gateway is this machine's own address on the Pods' bridge.
func (s slot) gateway() netip.Addr { return s.address(0, 1) }

// kubernetesService is the address of the Service default/kubernetes: always the first of the range.
func (s slot) kubernetesService() netip.Addr { return s.address(serviceStart, 1) }

// dns is the address that Pods get as their resolver; nothing answers there.
func (s slot) dns() netip.Addr { return s.address(serviceStart, 10) }

// node is the address of a node, from 1 on.
func (s slot) node(node int) netip.Addr { return s.address(0, byte(node+1)) }

// fakeNode is the address that a node says it has behind which there is no machine: in the part of the network that is
// neither Pods' nor services'.
func (s slot) fakeNode(node int) netip.Addr {
	const first, perBlock = 192, 250 // 10.x.192.1 to 10.x.211.250 for 5,000
	return s.address(byte(first+(node-1)/perBlock), byte(1+(node-1)%perBlock))
}

// podRange is the first and last Pod address of a node: 10.x.1.0/24 is node 1's, because 10.x.0.0/24 is for the
// gateway and the nodes themselves.
func (s slot) podRange(node int) (first, last netip.Addr) {
	return s.address(byte(node), 2), s.address(byte(node), 254)
}

func (s slot) bridge() string { return "fairlead" + strconv.Itoa(int(s)) }

// chooseSlot picks the first slot that no other cluster has and whose ports and addresses nobody else uses.
func chooseSlot(taken map[slot]bool, portFree func(int) bool, inUse []netip.Prefix) (slot, error) {
	for s := slot(0); s < maxSlots; s++ {
		if !taken[s] && !overlaps(s.network(), inUse) && allFree(s.controlPorts(), portFree) {
			return s, nil
		}
	}
	return 0, fmt.Errorf("all %d places for clusters are taken: stop some with `go run ./test/cluster down --all`", maxSlots)
}

func overlaps(p netip.Prefix, others []netip.Prefix) bool {
	for _, o := range others {
		if p.Overlaps(o) {
			return true
		}
	}
	return false
}

func allFree(ports []int, free func(int) bool) bool {
	for _, p := range ports {
		if !free(p) {
			return false
		}
	}
	return true
}

// listenable says whether a TCP port of this machine can be had.
func listenable(port int) bool {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// localNetworks lists the networks that this machine's links are in.
func localNetworks() ([]netip.Prefix, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("listing this machine's addresses: %w", err)
	}
	var networks []netip.Prefix
	var failed []error
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if p.Addr().Is4() {
			networks = append(networks, p.Masked())
		}
	}
	return networks, errors.Join(failed...)
}
