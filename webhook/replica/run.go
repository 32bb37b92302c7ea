package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/conversion"
	"github.com/fairlead-io/fairlead/webhook/server"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// service is a replica that is put together but does not listen yet.
type service struct {
	options  Options
	registry *prometheus.Registry
	server   *server.Server
	access   *logging.Queue
	health   http.Handler
	metrics  http.Handler
}

// parts are what a service is put together from.
type parts struct {
	entries, retired []table.Entry // what still comes to retired entries is let pass
	// rules names their revision.
	rules func() string
	// synced says what of the objects is not read yet.
	synced func() error
	source certs.Source
	// checks are those of readiness beside objects, certificate and serving.
	checks []server.Check
	// policies are users' policies; nil for none.
	policies *userPolicies
	// alone says that there is no cluster.
	alone bool
}

// newService puts a replica together.
func newService(o Options, registry *prometheus.Registry, p parts) (*service, error) {
	s := &service{options: o, registry: registry, access: newAccessLog(o.AccessLog, registry), metrics: server.Exposition(registry)}
	lines := slog.New(slog.NewJSONHandler(s.access, nil))
	served := routes(p.entries, p.retired)
	if p.policies != nil {
		p.policies.logDecisions(lines)
		served = append(served, p.policies.route())
		p.checks = append(p.checks, server.Check{Name: "policies", OK: p.policies.ready})
	}
	s.health = server.Health(append([]server.Check{
		{Name: "objects", OK: p.synced},
		{Name: "certificate", OK: p.source.Ready},
		{Name: "serving", OK: func() error { return s.server.Draining() }},
	}, p.checks...)...)
	options := server.Options{
		Routes: served, Ready: p.synced, GetCertificate: p.source.GetCertificate, MaxInFlight: o.MaxInFlight,
		Metrics: server.NewMetrics(registry), AccessLog: lines, Rules: p.rules, Log: o.Log,
	}
	converting, err := conversion.NewMetrics(registry)
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	options.Mount = map[string]http.Handler{conversion.Path: conversion.New(conversion.Options{Metrics: converting, Log: o.Log})}
	if p.alone { // without a cluster nobody expects further ports to be there, or free
		options.Mount["/readyz"], options.Mount["/metrics"] = s.health, s.metrics
	}
	s.server, err = server.New(options)
	return s, err
}

// routes are the table's entries by path: what shares a path shares its handler. Retired entries let everything pass, on
// paths that no other entry has.
func routes(entries, retired []table.Entry) []server.Route {
	var routes []server.Route
	at := make(map[string]int)
	for _, entry := range entries {
		i, known := at[entry.Path]
		if !known {
			i = len(routes)
			at[entry.Path] = i
			routes = append(routes, server.Route{Path: entry.Path, Handler: entry.Handler})
		}
		routes[i].Webhooks = append(routes[i].Webhooks, entry.Name)
	}
	for _, entry := range retired {
		if _, served := at[entry.Path]; !served {
			at[entry.Path] = len(routes)
			routes = append(routes, server.Route{Path: entry.Path, Webhooks: []string{entry.Name}, Handler: letPass, Retired: true})
		}
	}
	return routes
}

var letPass = admission.HandlerFunc(func(context.Context, *admission.Request) admission.Response { return admission.Allow() })

// listeners are the open ports of a replica; metrics and health may be nil.
type listeners struct{ webhooks, metrics, health net.Listener }

// listen opens all ports before anything else is done: a port that is taken is the first thing to be said, and who comes
// early waits until he is served instead of being refused.
func (o Options) listen() (l listeners, err error) {
	for _, port := range []struct {
		listener            *net.Listener
		what, flag, address string
	}{
		{&l.webhooks, "webhooks", "--bind-address", o.BindAddress},
		{&l.metrics, "metrics", "--metrics-addr", o.MetricsAddr},
		{&l.health, "health probes", "--health-probe-addr", o.HealthAddr},
	} {
		if port.address == "" || port.address == "0" {
			continue
		}
		if *port.listener, err = net.Listen("tcp", port.address); err != nil {
			l.close()
			return listeners{}, fmt.Errorf("listening for %s: %w; %s chooses another address", port.what, err, port.flag)
		}
	}
	return l, nil
}

func (l listeners) close() {
	for _, listener := range []net.Listener{l.webhooks, l.metrics, l.health} {
		if listener != nil {
			_ = listener.Close() // it may be closed already
		}
	}
}

// task is a part of a replica that runs until its context ends.
type task func(context.Context) error

// run serves until ctx ends and the last request is answered. The tasks in background live as long as requests are
// served; those in `until` end when draining begins. A task that fails ends the replica.
func (s *service) run(ctx context.Context, l listeners, background, until []task) error {
	stopping, stop := context.WithCancel(klog.NewContext(ctx, s.options.Log))
	defer stop()
	living, end := context.WithCancel(context.WithoutCancel(stopping))
	defer end()
	background = append(slices.Clip(background), s.access.Run)
	if l.metrics != nil {
		background = append(background, serving(l.metrics, s.metrics))
	}
	if l.health != nil {
		background = append(background, serving(l.health, s.health))
	}
	var group errgroup.Group
	start := func(ctx context.Context, tasks []task) {
		for _, t := range tasks {
			group.Go(func() error {
				err := t(ctx)
				if err != nil {
					stop()
				}
				return err
			})
		}
	}
	start(living, background)
	start(stopping, until)
	s.options.Log.Info("Serving webhooks", "address", l.webhooks.Addr().String())
	err := paced(os.Getenv("GOGC"), func() error {
		return s.server.Serve(stopping, l.webhooks, s.options.ShutdownDelay, s.options.ShutdownGrace)
	})
	stop()
	end()
	return errors.Join(err, group.Wait())
}

func serving(listener net.Listener, handler http.Handler) task {
	return func(ctx context.Context) error { return server.ServePlain(ctx, listener, handler) }
}
