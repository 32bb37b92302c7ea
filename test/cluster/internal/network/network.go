// Package network makes and undoes what a cluster needs of the machine's network: a bridge for its Pods and the
// rules that lead them to the API server.
package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"github.com/fairlead-io/fairlead/test/cluster/internal/process"
)

// Plan is the network of one cluster. The same plan makes and undoes it.
type Plan struct {
	// Bridge is the name of the link that all Pods and nodes are on; at most 15 bytes.
	Bridge string
	// Pods is the network of Pods and nodes, whose first address (Gateway) is this machine.
	Pods    netip.Prefix
	Gateway netip.Addr
	// Service is the cluster address of the API server, which Pods dial at port 443.
	Service netip.Addr
	// APIServer is where the API server really listens.
	APIServer netip.AddrPort
}

// Up creates the bridge and the rules. It is not an error if they exist.
func (p Plan) Up() error {
	if !linkExists(p.Bridge) {
		if err := run("ip", "link", "add", p.Bridge, "address", p.hardwareAddress().String(), "type", "bridge"); err != nil {
			return err
		}
	}
	// the service address is on the bridge too, so that it has a route even on a machine without a default route
	for _, a := range []netip.Prefix{netip.PrefixFrom(p.Gateway, p.Pods.Bits()), netip.PrefixFrom(p.Service, 32)} {
		if err := p.AddAddress(a); err != nil {
			return err
		}
	}
	if err := run("ip", "link", "set", p.Bridge, "up"); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1\n"), 0o644); err != nil {
		return fmt.Errorf("allowing packets to be forwarded: %w", err)
	}
	for _, r := range p.rules() {
		if run("iptables", r.args("-C")...) == nil {
			continue
		}
		if err := run("iptables", r.args("-I")...); err != nil {
			return err
		}
	}
	return nil
}

// hardwareAddress is the bridge's: a locally administered one with its address of IPv4 in it. Without one of its own a bridge
// takes the lowest of its ports', another with every few Pods that come and go, and those which know the old one talk to nobody.
func (p Plan) hardwareAddress() net.HardwareAddr {
	return append(net.HardwareAddr{0x02, 0xfa}, p.Gateway.AsSlice()...)
}

// AddAddress gives the bridge one more address, such as 10.64.0.2/32 for a node.
func (p Plan) AddAddress(a netip.Prefix) error {
	return run("ip", "address", "replace", a.String(), "dev", p.Bridge)
}

// RemoveAddress takes from the bridge an address that AddAddress gave it as a /32. It is not an error if it is not there.
func (p Plan) RemoveAddress(a netip.Addr) error {
	if !linkExists(p.Bridge) {
		return nil
	}
	link, err := net.InterfaceByName(p.Bridge)
	if err != nil {
		return fmt.Errorf("finding the link %s: %w", p.Bridge, err)
	}
	addrs, err := link.Addrs()
	if err != nil {
		return fmt.Errorf("listing the addresses of %s: %w", p.Bridge, err)
	}
	want := netip.PrefixFrom(a, 32).String()
	for _, have := range addrs {
		if have.String() == want {
			return run("ip", "address", "delete", want, "dev", p.Bridge)
		}
	}
	return nil
}

// Down removes the rules and the bridge. It is not an error if they are not there.
func (p Plan) Down() error {
	var failed []error
	for _, r := range p.rules() {
		for run("iptables", r.args("-C")...) == nil {
			if err := run("iptables", r.args("-D")...); err != nil {
				failed = append(failed, err)
				break
			}
		}
	}
	if linkExists(p.Bridge) {
		failed = append(failed, run("ip", "link", "delete", p.Bridge))
	}
	return errors.Join(failed...)
}

type rule struct {
	table, chain string
	match        []string
}

// rules lists the iptables rules. There is no kube-proxy: one address translation for Pods, and one for
// programs in the host's network, leads the service address to the API server. The two FORWARD rules matter
// where another program (Docker) drops forwarded packets by default and bridged ones pass iptables too.
func (p Plan) rules() []rule {
	comment := []string{"-m", "comment", "--comment", "fairlead test cluster " + p.Bridge}
	dnat := append([]string{"-d", p.Service.String() + "/32", "-p", "tcp", "--dport", "443"}, comment...)
	dnat = append(dnat, "-j", "DNAT", "--to-destination", p.APIServer.String())
	return []rule{
		{"nat", "PREROUTING", append([]string{"-i", p.Bridge}, dnat...)},
		{"nat", "OUTPUT", dnat},
		{"filter", "FORWARD", append(append([]string{"-i", p.Bridge}, comment...), "-j", "ACCEPT")},
		{"filter", "FORWARD", append(append([]string{"-o", p.Bridge}, comment...), "-j", "ACCEPT")},
	}
}

// args renders the rule for iptables; op is -C (is it there), -I (insert) or -D (delete). It waits for the lock
// that another user of iptables may hold.
func (r rule) args(op string) []string {
	return append([]string{"-w", "10", "-t", r.table, op, r.chain}, r.match...)
}

func linkExists(name string) bool {
	_, err := os.Stat("/sys/class/net/" + name)
	return err == nil
}

func run(name string, args ...string) error {
	path, err := process.LookPath(name)
	if err != nil {
		return err
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
