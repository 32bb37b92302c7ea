package network

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plan has addresses that no slot of a cluster has, for documentation and benchmarks only (RFC 2544).
var plan = Plan{
	Bridge: "fairleadtest", Pods: netip.MustParsePrefix("198.18.0.0/17"), Gateway: netip.MustParseAddr("198.18.0.1"),
	Service: netip.MustParseAddr("198.18.128.1"), APIServer: netip.MustParseAddrPort("198.18.0.1:21000"),
}

func TestRules(t *testing.T) {
	var got []string
	for _, r := range plan.rules() {
		got = append(got, strings.Join(r.args("-I"), " "))
	}
	const comment = "-m comment --comment fairlead test cluster fairleadtest"
	want := []string{
		"-w 10 -t nat -I PREROUTING -i fairleadtest -d 198.18.128.1/32 -p tcp --dport 443 " + comment + " -j DNAT --to-destination 198.18.0.1:21000",
		"-w 10 -t nat -I OUTPUT -d 198.18.128.1/32 -p tcp --dport 443 " + comment + " -j DNAT --to-destination 198.18.0.1:21000",
		"-w 10 -t filter -I FORWARD -i fairleadtest " + comment + " -j ACCEPT",
		"-w 10 -t filter -I FORWARD -o fairleadtest " + comment + " -j ACCEPT",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUpAndDown(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("changing the network needs root")
	}
	for _, program := range []string{"ip", "iptables", "iptables-save"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	t.Cleanup(func() { _ = plan.Down() })
	for range 2 { // the second finds everything there
		if err := plan.Up(); err != nil {
			t.Fatal(err)
		}
	}
	if got := countRules(t); got != 4 {
		t.Errorf("%d rules, want 4", got)
	}
	keepsItsHardwareAddress(t)
	node := netip.MustParseAddr("198.18.0.2")
	if err := plan.AddAddress(netip.PrefixFrom(node, 32)); err != nil {
		t.Fatal(err)
	}
	if !hasAddress(t, "198.18.0.2/32") || !hasAddress(t, "198.18.0.1/17") || !hasAddress(t, "198.18.128.1/32") {
		t.Error("the bridge lacks an address")
	}
	for range 2 {
		if err := plan.RemoveAddress(node); err != nil {
			t.Fatal(err)
		}
	}
	if hasAddress(t, "198.18.0.2/32") {
		t.Error("the node's address is left")
	}
	for range 2 {
		if err := plan.Down(); err != nil {
			t.Fatal(err)
		}
	}
	if got := countRules(t); got != 0 {
		t.Errorf("%d rules left", got)
	}
	if linkExists(plan.Bridge) {
		t.Error("the bridge is left")
	}
}

func hasAddress(t *testing.T, want string) bool {
	t.Helper()
	link, err := net.InterfaceByName(plan.Bridge)
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := link.Addrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if a.String() == want {
			return true
		}
	}
	return false
}

func countRules(t *testing.T) int {
	t.Helper()
	out, err := exec.Command("iptables-save").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(out), "test cluster "+plan.Bridge)
}

// keepsItsHardwareAddress also when a port with a lower one comes.
func keepsItsHardwareAddress(t *testing.T) {
	t.Helper()
	defer func() { _ = run("ip", "link", "delete", "fairleadport") }() // where a step failed
	for _, command := range []string{
		"link add fairleadport address 02:00:00:00:00:01 type veth peer name fairleadpeer",
		"link set fairleadport master fairleadtest",
		"link delete fairleadport",
	} {
		if err := run("ip", strings.Fields(command)...); err != nil {
			t.Fatal(err)
		}
		link, err := net.InterfaceByName(plan.Bridge)
		if err != nil {
			t.Fatal(err)
		}
		if got := link.HardwareAddr.String(); got != "02:fa:c6:12:00:01" {
			t.Fatalf("after %q the bridge has the hardware address %s", command, got)
		}
	}
}
