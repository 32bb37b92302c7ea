package replica

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"slices"

	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/webhook"
	"github.com/fairlead-io/fairlead/webhook/objects"
)

// Standalone is a replica without a cluster.
type Standalone struct {
	Options
	// Objects is a folder of YAML and JSON files with SidecarSets, their revisions, Namespaces and ConfigMaps with users' policies, read again when they change.
	Objects string
	// CertOut is where to write the CA that signs the serving certificate, for clients; "" for nowhere.
	CertOut string
}

// Run serves until ctx ends. /readyz and /metrics are on the webhooks' port too.
func (s Standalone) Run(ctx context.Context) error {
	if s.Objects == "" {
		return errors.New("starting without a cluster: --objects must name a directory of YAML files")
	}
	l, err := s.listen()
	if err != nil {
		return err
	}
	defer l.close()
	known := newPolicies(s.Options, nil)
	registry := newRegistry(s.Version)
	policies := newUserPolicies(s.Options, registry, nil)
	directory := objects.NewDirectory(s.Objects, s.Log, append(known.kinds(), policies.files(ctx))...)
	policies.synced = directory.Synced
	source, err := certs.SelfSigned(localHosts(s.BindAddress), clock.RealClock{})
	if err != nil {
		return fmt.Errorf("making a certificate: %w", err)
	}
	rules, err := newRules(ctx, s.Options, registry, known.overlaps, nil, nil)
	if err != nil {
		return err
	}
	asking, err := newLive(ctx, s.Options, registry, nil)
	if err != nil {
		return err
	}
	defer asking.close()
	deps := known.deps(s.Gates, newInjection(registry, known.sidecarSets), rules, asking)
	entries := webhook.Entries(deps)
	service, err := newService(s.Options, registry, parts{
		entries: entries, retired: webhook.Retired(deps), rules: rules.Revision, synced: directory.Synced, source: source, policies: policies, alone: true,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(directory.Load(), s.writeCert(source.Bundle())); err != nil {
		return err
	}
	debug.FreeOSMemory() // what reading and compiling many objects left behind is more than what is kept
	return service.run(ctx, l, slices.Concat(s.ruling(rules), policies.tasks(), []task{directory.Watch}), nil)
}

func (s Standalone) writeCert(bundle []byte) error {
	if s.CertOut == "" {
		return nil
	}
	if err := os.WriteFile(s.CertOut, bundle, 0o644); err != nil {
		return fmt.Errorf("writing the CA of the serving certificate: %w; --tls-cert-out chooses another file", err)
	}
	return nil
}

// localHosts are the names that a client on this machine may use, and the address that is listened on.
func localHosts(bindAddress string) []string {
	host, _, err := net.SplitHostPort(bindAddress)
	if ip := net.ParseIP(host); err != nil || host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		host = ""
	}
	return certs.ServiceHosts("", nil, host)
}
