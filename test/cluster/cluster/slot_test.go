package cluster

import (
	"net/netip"
	"strings"
	"testing"
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range texts {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

func TestChooseSlot(t *testing.T) {
	everything := map[slot]bool{}
	for s := range slot(maxSlots) {
		everything[s] = true
	}
	tests := []struct {
		name  string
		taken map[slot]bool
		busy  []int
		inUse []netip.Prefix
		want  slot
		err   string
	}{
		{name: "the first, on an empty machine", want: 0},
		{name: "not another cluster's", taken: map[slot]bool{0: true, 1: true}, want: 2},
		{name: "a gap is filled", taken: map[slot]bool{1: true}, want: 0},
		{name: "not where the API server's port is taken", busy: []int{21000}, want: 1},
		{name: "not where the first kubelet's port is taken", busy: []int{21000, 21220}, want: 2},
		{name: "a port between the blocks' used ones does not matter", busy: []int{21010}, want: 0},
		{name: "not inside a network of the machine", inUse: prefixes("10.64.0.0/15"), want: 2},
		{name: "not around a network of the machine", inUse: prefixes("10.64.200.0/24", "192.0.2.0/24"), want: 1},
		{name: "none left", taken: everything, err: "all 40 places"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			free := func(port int) bool {
				for _, b := range tt.busy {
					if b == port {
						return false
					}
				}
				return true
			}
			got, err := chooseSlot(tt.taken, free, tt.inUse)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("slot %d, %v; want %d", got, err, tt.want)
			}
		})
	}
}

func TestSlotNumbers(t *testing.T) {
	const s = slot(3)
	first, last := s.podRange(2)
	for name, pair := range map[string][2]any{
		"API server port": {s.apiServerPort(), 21600},
		"kubelet port":    {s.kubeletPort(2), 21622},
		"healthz port":    {s.healthzPort(2), 21623},
		"Pod network":     {s.pods().String(), "10.67.0.0/17"},
		"service network": {s.services().String(), "10.67.128.0/20"},
		"gateway":         {s.gateway().String(), "10.67.0.1"},
		"node 2":          {s.node(2).String(), "10.67.0.3"},
		"fake node 251":   {s.fakeNode(251).String(), "10.67.193.1"},
		"first Pod":       {first.String(), "10.67.2.2"},
		"last Pod":        {last.String(), "10.67.2.254"},
		"kubernetes":      {s.kubernetesService().String(), "10.67.128.1"},
		"bridge":          {s.bridge(), "fairlead3"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
		}
	}
}

// No two clusters, and no two uses within one, may share a port or an address.
func TestSlotsDoNotOverlap(t *testing.T) {
	ports := map[int]string{}
	claim := func(s slot, what string, port int) {
		if other, ok := ports[port]; ok {
			t.Errorf("port %d is %s and slot %d's %s", port, other, s, what)
		}
		ports[port] = what
		if port >= 30000 {
			t.Errorf("port %d of slot %d is in the range of NodePorts", port, s)
		}
	}
	var networks []netip.Prefix
	for s := range slot(maxSlots) {
		for _, p := range s.controlPorts()[:7] {
			claim(s, "control plane", p)
		}
		for n := 1; n <= maxNodes; n++ {
			claim(s, nodeName(n), s.kubeletPort(n))
			claim(s, nodeName(n), s.healthzPort(n))
			if first, last := s.podRange(n); !s.pods().Contains(first) || !s.pods().Contains(last) {
				t.Errorf("the Pods of %s in slot %d leave the Pod network", nodeName(n), s)
			}
		}
		for _, n := range []int{1, maxFakeNodes} {
			if a := s.fakeNode(n); !s.network().Contains(a) || s.pods().Contains(a) || s.services().Contains(a) {
				t.Errorf("fake node %d of slot %d has the address %s of something else", n, s, a)
			}
		}
		if overlaps(s.network(), networks) {
			t.Errorf("the network of slot %d overlaps another's", s)
		}
		if s.pods().Overlaps(s.services()) {
			t.Errorf("Pods and services of slot %d overlap", s)
		}
		if len(s.bridge()) > 15 {
			t.Errorf("link name %s is longer than the kernel allows", s.bridge())
		}
		networks = append(networks, s.network())
	}
}
